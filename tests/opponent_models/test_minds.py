"""Learners with minds: what they are told starts without a part in what they do, and all of it is studied and kept."""

from dataclasses import fields, replace
from functools import cache
from typing import Any, get_args, get_type_hints

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.errors import ConfigError
from sparring.core.seeding import Seed
from sparring.games.registry import make
from sparring.learn.learner import trainable
from sparring.nets.actor_critic import Actor
from sparring.nets.config import NetConfig
from sparring.nets.minds import Fusion, Told, telling
from sparring.opponent_models.config import MindConfig
from sparring.opponent_models.fit import counted, drawn, kept
from sparring.opponent_models.mind import BeliefMind, watched_size, with_mind
from sparring.opponent_models.sample import Sample
from sparring.opponent_models.study import Study, fitted, new_study
from sparring.play.witness import Situation, Witnessed
from sparring.setup.build import build
from sparring.setup.config import CheckpointConfig, EvalConfig, PlayConfig, RunConfig, SeatsConfig
from sparring.store.checkpoints import load
from sparring.store.run_dir import RunDir
from sparring.training.runs import resume, start
from toy_players import quick

OPTIONS = ("size=4", "hunters=3", "hares=2", "walls=0", "steps=6")
MIND = MindConfig(mind="belief", mind_size=4, mind_buffer=40, mind_batch=8, mind_updates=2)
GAME = make("stag_hunt", size=4, hunters=3, hares=2, walls=0, steps=6)
SPEC, WORLDS = GAME.spec, 4
RNG = np.random.default_rng(3)


@cache
def actor(**settings: Any) -> Actor:
    return with_mind(plain(), Seed.of(1), GAME, replace(MIND, **settings))


@cache
def plain() -> Actor:
    return Actor.make(Seed.of(1), SPEC, NetConfig(hidden=(8,)))


def mind_of(**settings: Any) -> BeliefMind:
    """Its weights moved from where all that is legal is alike."""
    mind: Any = actor(**settings).mind
    rng = np.random.default_rng(5)
    return jax.tree.map(lambda x: np.asarray(x) + 0.5 * rng.normal(size=x.shape).astype(np.float32), mind)


def seen(worlds: int = WORLDS) -> tuple[Any, Any, jax.Array]:
    """Fresh games, as each seat sees them."""
    states = jax.vmap(GAME.start)(jax.random.split(jax.random.key(1), worlds))
    return jax.vmap(GAME.observe)(states), jax.vmap(GAME.goals)(states), states


OBSERVED, GOALS, _ = quick(seen)()


def situation(*, start: bool = True) -> Situation:
    """Of the first seat in some worlds, with two others."""
    others: Any = jax.tree.map(lambda x: np.asarray(x)[:, None, 1:], (OBSERVED, GOALS))
    observation, goals = others
    return Situation(
        np.asarray(OBSERVED.features_SF)[:, :1], np.full((WORLDS, 1), start), observation.acting_S,
        observation.legal_SA, goals.open_SG, goals.steps_SG, goals.about_SGZ, observation.features_SF,
    )  # fmt: skip


attend = quick(lambda mind, *given: mind.attend(*given))
witness = quick(lambda mind, *given: mind.witness(*given))


@pytest.mark.parametrize("form", ["film", "projection"])
def test_at_first_the_policy_is_the_plain_one_to_the_bit_and_a_gradient_reaches_what_it_is_told(form):
    minded = actor(mind_fusion=form)
    assert minded.fusion is not None and isinstance(minded.mind, BeliefMind)
    seat = np.asarray(OBSERVED.features_SF)[:, :1], np.asarray(OBSERVED.legal_SA)[:, :1]
    said = RNG.normal(size=(WORLDS, 1, minded.mind.said)).astype(np.float32)
    speak = quick(lambda own, memory: own(*seat, memory)[0].log_p_A)
    np.testing.assert_array_equal(speak(minded, Told((), said)), speak(plain(), ()))
    slope: Any = quick(jax.grad(lambda own: (own(*seat, Told((), said))[0].log_p_A * jnp.arange(7)).sum()))(minded)
    assert float(jnp.abs(slope.fusion.change.weight_IO).max()) > 0
    assert not any(np.any(leaf) for leaf in jax.tree.leaves(slope.mind))
    assert not jax.tree.leaves(trainable(minded)[0].mind), "a mind is fitted apart"


def test_film_and_projection_worked_out_by_hand():
    """Told 1, encoded as tanh 1 = 0.7616. FiLM: 2 (1 + 0.7616) + 3 x 0.7616; projection: 2 + 2 + 5 x 0.7616."""
    film, projection = (Fusion.make(Seed.of(0), 1, 1, form, 1) for form in ("film", "projection"))
    one = type(film.encoder)(jnp.ones((1, 1)), jnp.zeros(1))
    film = Fusion(one, type(one)(jnp.array([[1.0, 3.0]]), jnp.zeros(2)), "film")
    projection = Fusion(one, type(one)(jnp.array([[1.0], [5.0]]), jnp.zeros(1)), "projection")
    hidden, said = jnp.array([[2.0]]), jnp.array([[1.0]])
    np.testing.assert_allclose(film(hidden, said), [[2 * 1.76159 + 3 * 0.76159]], rtol=1e-4)
    np.testing.assert_allclose(projection(hidden, said), [[4 + 5 * 0.76159]], rtol=1e-4)


def test_who_has_a_mind_acts_only_where_somebody_tells_it_of_the_others():
    own = actor()
    with pytest.raises(ConfigError, match="nobody shows it here"):
        own(np.asarray(OBSERVED.features_SF), np.asarray(OBSERVED.legal_SA), ())
    silent = actor(mind_tells="nothing")
    assert silent.fusion is None
    memory = telling((), np.zeros((WORLDS, 3, 0), np.float32))
    silent(np.asarray(OBSERVED.features_SF), np.asarray(OBSERVED.legal_SA), memory)


def test_a_step_of_a_mind_from_what_it_expects_to_what_it_then_believes():
    mind, seen = mind_of(), situation()
    thought, pending = attend(mind, seen, mind.initial(WORLDS, 1))
    b = np.exp(thought.log_b_NOG)
    np.testing.assert_allclose(b.sum(-1), 1.0, rtol=1e-5)
    expected = (b[..., None] * np.exp(pending.log_p_NOGA)).sum(-2)
    np.testing.assert_allclose(np.exp(thought.log_p_NOA), expected, rtol=1e-5, atol=1e-20)
    done = np.full((WORLDS, 1, 2, 1), 4, np.int32)
    reached = np.zeros((WORLDS, 1, 2, 3), bool)
    reached[0, 0, 1, 2] = True
    own: Any = ()
    after = witness(
        mind, Witnessed(done, np.zeros((*done.shape[:-1], 0)), reached, own, np.zeros((WORLDS, 1))), pending
    )
    weighed = np.exp(thought.held_NOG) * np.exp(pending.log_p_NOGA)[..., 4]
    np.testing.assert_allclose(np.exp(after.log_b_NOG), weighed / weighed.sum(-1, keepdims=True), rtol=1e-4)
    assert not after.known_NO[0, 0, 1] and after.known_NO.sum() == 2 * WORLDS - 1
    np.testing.assert_allclose(after.count_NOK[0, 0], [[0, 0, 0], [0, 0.02, 0]], rtol=1e-5)


def test_a_policy_is_told_of_those_who_are_there_alone_and_controls_tell_something_else():
    seen, mind = situation(), mind_of()
    gone = seen._replace(acting=seen.acting & np.array([True, False]))
    told, _ = attend(mind, gone, mind.initial(WORLDS, 1))
    whole, _ = attend(mind, seen, mind.initial(WORLDS, 1))
    halves = np.asarray(told.said_NM).reshape(WORLDS, 2, -1)
    assert not halves[:, 1].any()
    np.testing.assert_array_equal(halves[:, 0], np.asarray(whole.said_NM).reshape(WORLDS, 2, -1)[:, 0])
    shuffled, zero = (mind_of(mind_control=control) for control in ("shuffled", "zero"))
    np.testing.assert_array_equal(
        attend(shuffled, seen, mind.initial(WORLDS, 1))[0].said_NM, np.roll(whole.said_NM, 1, axis=0)
    )
    assert not np.any(attend(zero, seen, mind.initial(WORLDS, 1))[0].said_NM)
    parts = {tells: mind_of(mind_tells=tells).said for tells in ("goals", "actions", "both", "nothing")}
    assert parts["both"] == parts["goals"] + parts["actions"] == whole.said_NM.shape[-1] and not parts["nothing"]


def test_who_only_waits_for_its_turn_is_told_of_and_stays_after_what_it_was_after():
    """The first of two others moves, then waits while the second moves; then a new game begins."""
    mind, turns = replace(mind_of(), in_turn=True), (np.array([True, False]), np.array([False, True]))
    first, later = situation(), situation(start=False)

    def step(seen: Situation, acting: Any, held: Any) -> Any:
        thought, pending = attend(mind, seen._replace(acting=seen.acting & acting), held)
        done, own = np.full((WORLDS, 1, 2, 1), 4, np.int32), ()
        nothing = np.zeros((*done.shape[:-1], 0)), np.zeros((WORLDS, 1, 2, 3), bool), own, np.zeros((WORLDS, 1))
        return thought, witness(mind, Witnessed(done, *nothing), pending)

    _, moved = step(first, turns[0], mind.initial(WORLDS, 1))
    told, waited = step(later, turns[1], moved)
    assert np.asarray(told.said_NM).reshape(WORLDS, 2, -1).any(-1).all()
    assert np.asarray(moved.known_NO)[0, 0].tolist() == [True, False] and np.asarray(waited.known_NO).all()
    again, _ = step(later, turns[0], waited)
    held = np.exp(np.asarray(waited.log_b_NOG)[:, 0, 0])
    switched = np.exp(np.asarray(again.held_NOG)[:, 0, 0])
    assert np.abs(switched - held).max() <= MIND.mind_switch, "what it did two steps ago still counts"
    _, anew = step(first, turns[0], waited)
    assert np.asarray(anew.known_NO)[0, 0].tolist() == [True, False]


@pytest.mark.parametrize(
    "settings",
    [
        {"mind_goals": "none"},
        {"mind_models": "apart"},
        {"mind_gate": 2.0},
        {"mind": "spatial"},
        {"mind_goals": "subgoal"},
    ],
    ids=str,
)
def test_other_forms_think_as_well(settings):
    mind = mind_of(**settings)
    thought, _ = attend(mind, situation(), mind.initial(WORLDS, 1))
    np.testing.assert_allclose(np.exp(thought.log_p_NOA).sum(-1), 1.0, rtol=1e-5)
    assert thought.said_NM.shape == (WORLDS, 1, mind.said)
    if "mind_gate" in settings:
        near = np.asarray(situation().steps) <= 2.0
        asked = np.asarray(thought.evaluated_NOG | thought.passed_NOG)[..., :-1]
        np.testing.assert_array_equal(asked, near & np.asarray(situation().open))
    else:
        assert thought.evaluated_NOG.all()


def test_a_network_that_infers_goals_sees_the_last_steps_and_none_of_an_earlier_game():
    mind, seen = mind_of(mind="spatial", mind_recall=3), situation(start=False)
    track = np.arange(3, dtype=np.float32)[:, None, None, None]
    held = mind.initial(WORLDS, 1)
    held = held._replace(track_NKOGZ=np.broadcast_to(track, held.track_NKOGZ.shape))
    _, pending = attend(mind, seen, held)
    found = np.asarray(pending.beliefs.track_NKOGZ)[0, 0]
    assert (found[:2] == track[1:]).all() and (found[2, :, :-1, :-1] == seen.about[0, 0]).all()
    _, begun = attend(mind, situation(), held)
    first = np.asarray(begun.beliefs.track_NKOGZ)[0, 0]
    assert (first[0] == first[2]).all() and (first[2] == found[2]).all()


def rows(count: int, useful: int) -> Sample:
    study = blank()
    sample = jax.tree.map(lambda x: np.zeros((count, *x.shape[1:]), x.dtype), study.buffer)
    number = np.arange(count, dtype=np.float32)
    features = np.broadcast_to(number[:, None], sample.features_F.shape)
    return sample._replace(features_F=features, useful=number < useful)


def blank() -> Study:
    return new_study(mind_of(), SPEC.features, MIND)


def test_a_buffer_keeps_the_newest_useful_rows_and_never_grows():
    study, put = blank(), quick(lambda study, sample, key: kept(study, drawn(study, sample, key)))
    for turn in range(9):
        study = put(study, rows(24, 7), jax.random.key(turn))
        assert study.buffer.useful.shape == (40,) and int(study.buffer.useful.sum()) == min(40, 7 * (turn + 1))
        assert float(study.buffer.features_F.max()) < 7, "only useful rows are kept"
    assert int(study.rows) < 80 and int(study.rows) % 40 == 63 % 40
    study = put(study, rows(24, 24), jax.random.key(0))
    assert (np.asarray(study.buffer.features_F)[:, 0] >= 7).sum() > 0 and int(counted(study.rows, 40)) == 73


def test_with_nothing_to_learn_from_nothing_moves():
    mind, study = mind_of(), blank()
    same, later, _ = quick(fitted, static_argnums=3)(mind, study, jax.random.key(0), MIND)
    for old, new in zip(jax.tree.leaves(mind), jax.tree.leaves(same), strict=True):
        np.testing.assert_array_equal(old, new)
    assert int(later.updates) == 0


def config(**mind: Any) -> RunConfig:
    return RunConfig(
        game="stag_hunt", options=OPTIONS, total_steps=4 * 3 * 4 * 8, seats=SeatsConfig(share="seat"),
        play=PlayConfig(worlds=4, steps=8), net=NetConfig(hidden=(8,)), evaluation=EvalConfig(eval_games=0),
        checkpoint=CheckpointConfig(checkpoint_every=2), mind=replace(MIND, **mind),
    )  # fmt: skip


class KilledError(Exception):
    pass


def kill(moment: Any) -> None:
    if moment.iteration == 2:
        raise KilledError


def test_a_run_with_minds_that_was_killed_and_resumed_equals_one_that_never_stopped(tmp_path):
    start(config(), tmp_path / "whole")
    with pytest.raises(KilledError):
        start(config(), tmp_path / "killed", on_iteration=kill)
    resume(tmp_path / "killed")
    runs = [RunDir.open(tmp_path / name) for name in ("whole", "killed")]
    arrays, others = (load(run.checkpoints_path).arrays for run in runs)
    assert arrays.keys() == others.keys() and any(".study." in name for name in arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, others[name], err_msg=name)
    assert runs[0].metrics_path.read_bytes() == runs[1].metrics_path.read_bytes()
    last = [line for line in runs[0].metrics() if line["kind"] == "train"][-1]
    for learner in ("hunter_0", "hunter_1", "hunter_2"):
        found = {name for name in last if name.startswith(f"{learner}/mind/")}
        assert {f"{learner}/mind/{name}" for name in ("skill", "goal_top1", "goal_nearest", "rows", "updates")} <= found
        assert last[f"{learner}/mind/updates"] > 0


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"game": "kuhn", "options": ()}, "kuhn lists none"),
        ({"mind": replace(MIND, mind="spatial", mind_goals="combined")}, "goals that lie somewhere"),
        ({"mind": replace(MIND, mind_goals="subgoal", mind_prior="uniform")}, "mind_prior=uniform would do nothing"),
        ({"mind": replace(MIND, mind_codes=4)}, "mind_codes=4 would do nothing"),
        ({"mind": replace(MIND, mind_goals="none", mind_tells="goals")}, "knows no goals that mind_tells=goals"),
        ({"mind": replace(MIND, mind_gate=3.0, mind_models="apart")}, "asks one model about what is near"),
        ({"game": "dogfight", "options": ()}, "among discrete actions"),
        ({"mind": MindConfig(mind_gate=3.0)}, "mind_gate=3.0 would do nothing"),
    ],
    ids=str,
)
def test_what_a_mind_cannot_be_combined_with_is_refused(changes, words):
    with pytest.raises(ConfigError, match=words):
        build(replace(config(), **changes))


def test_what_a_rollout_keeps_for_minds_is_counted():
    """Two others with four aims of so many numbers each."""
    about = GOALS.about_SGZ.shape[-1] + 1
    assert watched_size(GAME, MIND) > 2 * 4 * about


ANOTHER: dict[str, Any] = {"mind_room": 0.3, "mind_gate": 2.0, "mind_batch": 4, "mind_buffer": 44}
"""Other values of settings where a type does not tell one."""


def text_of(**settings: Any) -> str:
    """All that a mind does in a step and after a rollout, and the policy that it tells of it, as it is traced."""
    own, config = actor(**settings), replace(MIND, **settings)
    mind: Any = own.mind
    study = jax.eval_shape(lambda: new_study(mind, SPEC.features, config))
    legal = np.asarray(OBSERVED.legal_SA)[:, :1]

    def step(own: Any, seen: Situation, sample: Sample, study: Study, beliefs: Any) -> Any:
        thought, pending = own.mind.attend(seen, beliefs)
        done = jnp.zeros((WORLDS, 1, 2, 1), jnp.int32)
        reached, paid = jnp.zeros((WORLDS, 1, 2, len(SPEC.goals)), bool), jnp.zeros((WORLDS, 1, 2))
        nothing: Any = ()
        later = own.mind.witness(Witnessed(done, done[..., :0], reached, nothing, nothing, paid), pending)
        said = own(seen.features, legal, telling((), thought.said_NM))[0].log_p_A
        return (
            later,
            said,
            fitted(own.mind, kept(study, drawn(study, sample, jax.random.key(0))), jax.random.key(1), config),
        )

    sample = jax.tree.map(lambda x: jax.ShapeDtypeStruct((20, *x.shape[1:]), x.dtype), study.buffer)
    beliefs = jax.eval_shape(lambda: mind.initial(WORLDS, 1))
    return str(jax.make_jaxpr(step)(own, situation(), sample, study, beliefs))


@cache
def plain_text(**settings: Any) -> str:
    return text_of(**settings)


BASE: dict[str, dict[str, Any]] = {
    "mind_room": {"mind_gate": 3.0}, "mind_recall": {"mind": "spatial"}, "mind_codes": {"mind_goals": "ending"},
    **{name: {"mind_goals": "subgoal"} for name in ("mind_ahead", "mind_chooses", "mind_anneal")},
}  # fmt: skip
"""What some settings need to act."""


OF_MINDS = [field.name for field in fields(MindConfig) if field.name != "mind" and "imagine" not in field.name]
"""What is imagined has a test of its own: test_imagine."""


@pytest.mark.parametrize("name", OF_MINDS)
def test_every_setting_changes_what_a_mind_does(name):
    base = BASE.get(name, {})
    default = getattr(MIND, name)
    value = ANOTHER.get(name)
    if value is None:
        choices = [choice for choice in get_args(get_type_hints(MindConfig)[name]) if choice != default]
        value = choices[0] if choices else not default if isinstance(default, bool) else type(default)(default / 2)
    assert text_of(**base, **{name: value}) != plain_text(**base)


def test_every_kind_of_goals_makes_another_mind():
    kinds = get_args(get_type_hints(MindConfig)["mind_goals"])
    assert len({plain_text(mind_goals=kind) for kind in kinds}) == len(kinds) == 6
