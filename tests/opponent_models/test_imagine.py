"""Imagination: what branches come to, worked out by hand; when there is none; and what it never touches."""

from dataclasses import fields, replace
from functools import cache, partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.errors import ConfigError
from sparring.core.records import Action
from sparring.core.schedules import Schedule
from sparring.core.seeding import Seed
from sparring.core.spec import ActionSpec
from sparring.games.registry import make
from sparring.learn.config import PPOConfig
from sparring.learn.estimate import Estimate
from sparring.learn.imagined import Imagined, dreams_of
from sparring.learn.returns import gae
from sparring.nets.actor_critic import Actor
from sparring.nets.config import NetConfig
from sparring.nets.normalise import ValueScale
from sparring.opponent_models.config import MindConfig, branches
from sparring.opponent_models.imagine import Fork, dream
from sparring.opponent_models.mind import with_mind
from sparring.opponent_models.view import Moment, View, transitions
from sparring.opponent_models.worlds import Oracle, Pay, pay_of
from sparring.play.rollout import Others
from sparring.setup import program
from sparring.setup.beginning import first_state
from sparring.setup.build import Built, build
from sparring.setup.config import CheckpointConfig, EvalConfig, PlayConfig, RunConfig, SeatsConfig
from sparring.setup.program import compile_program
from sparring.store.checkpoints import load
from sparring.store.run_dir import RunDir
from sparring.training.runs import resume, start
from toy_games import Timetable, TimetableState, timetable
from toy_players import Reader, quick

MIND = MindConfig(mind="belief", mind_goals="none", mind_size=4, mind_buffer=64, mind_batch=16, mind_updates=1)
IMAGINES = {
    "learned": {"imagine": "learned", "imagine_size": 16, "imagine_members": 2, "imagine_updates": 60,
                "imagine_rate": 1e-2},
    "oracle": {"imagine": "oracle"},
    "plain": {},
}  # fmt: skip
GAME = timetable([[1, 2], [0, 1], [2, 0], [1, 1]], echo=0.5, action=ActionSpec(heads=(2,)))
ITERATIONS, PLAIN = 6, Pay()


def config(**mind: Any) -> RunConfig:
    own = {} if "imagine" not in mind else {"imagine_length": Schedule.parse("1 -> 3")}
    shared = Schedule.parse(1)
    ppo = PPOConfig(epochs=2, minibatches=2, reward_scale=True, value_norm="popart", shared_reward=shared, **own)
    return RunConfig(
        game="timetable", total_steps=ITERATIONS * 2 * 4 * 8, seats=SeatsConfig(share="seat"), ppo=ppo,
        play=PlayConfig(worlds=4, steps=8), net=NetConfig(hidden=(8,), normalise=True),
        evaluation=EvalConfig(eval_games=0), checkpoint=CheckpointConfig(checkpoint_every=3),
        mind=replace(MIND, **mind),
    )  # fmt: skip


class Ran(NamedTuple):
    learners: list[Any]
    """After each iteration, leaves [L, ...]."""
    reports: list[Any]

    def told(self, name: str) -> np.ndarray:
        """[iterations, L]."""
        return np.stack([report.stats[0].mind[f"imagined/{name}"] for report in self.reports])


@cache
def ran(name: str, *, broken: bool = False) -> Ran:
    built: Built = build(config(**IMAGINES[name]), game=GAME)
    state, go, found = first_state(built), compile_program(built.plan), Ran([], [])
    for i in range(ITERATIONS):
        if broken:
            state = state._replace(learners=tuple(map(scrambled, state.learners)))
        knobs, number = jax.tree.map(jnp.asarray, built.knobs(i)), jnp.asarray(i)
        state, report = go(built.game, state, {}, built.standing, knobs, jnp.asarray(built.seeds_R), number)
        of_seed = partial(jax.tree.map, lambda x: np.array(x)[0])
        found.learners.append(of_seed(state.learners[0]))
        found.reports.append(of_seed(report))
    return found


def scrambled(learner: Any) -> Any:
    worlds: Any = learner.model.actor.mind.world
    rng = np.random.default_rng(0)
    noise = jax.tree.map(lambda x: jnp.asarray(5 * rng.normal(size=x.shape), x.dtype), worlds)
    return learner._replace(model=eqx.tree_at(lambda m: m.actor.mind.world, learner.model, noise))


def without_world(learner: Any) -> Any:
    mind = learner.model.actor.mind.with_world(None)
    model = eqx.tree_at(lambda m: m.actor.mind, learner.model, mind)
    return learner._replace(model=replaced_config(model), study=learner.study._replace(world=None))


def replaced_config(model: Any) -> Any:
    """Leaves alone: settings are part of the structure."""
    return jax.tree.leaves(model)


def equal(one: Any, two: Any) -> bool:
    leaves, others = jax.tree.leaves(one), jax.tree.leaves(two)
    return len(leaves) == len(others) and all(map(np.array_equal, leaves, others))


def alike(one: Any, two: Any) -> bool:
    """Equal as far as two programs can be: later compilers round what both compute differently."""
    if jax.__version_info__ < (0, 11):
        return equal(one, two)
    leaves, others = jax.tree.leaves(one), jax.tree.leaves(two)
    return len(leaves) == len(others) and all(map(partial(np.allclose, rtol=1e-4, atol=1e-5), leaves, others))


def test_a_broken_world_closes_the_gate_and_all_is_bit_for_bit_as_if_nothing_were_imagined():
    plain, broken = ran("plain"), ran("learned", broken=True)
    assert not broken.told("open").any() and not broken.told("rows").any() and not broken.told("share").any()
    assert (broken.told("shut")[:, 0] == np.arange(1, ITERATIONS + 1)).all()
    kept = broken.told("kept")
    assert kept.min() > 0 and (np.diff(kept, axis=0) > 0).any() and kept.max() <= MIND.mind_buffer
    for one, other in zip(plain.learners, broken.learners, strict=True):
        assert alike(without_world(one), without_world(other))
    for one, other in zip(plain.reports, broken.reports, strict=True):
        assert alike(one.tally, other.tally)
        assert alike(one.stats[0]._replace(mind=()), other.stats[0]._replace(mind=()))


def test_a_sound_world_opens_the_gate_and_then_weights_learn_what_no_scale_and_no_count_is_told():
    plain, honest = ran("plain"), ran("learned")
    opened = honest.told("open").any(1)
    assert opened.any() and not opened[0], "a model that has learned nothing is not believed"
    first = int(np.argmax(opened))
    before = [alike(without_world(a), without_world(b)) for a, b in zip(plain.learners, honest.learners, strict=True)]
    assert all(before[:first]) and not before[first]
    one, other = plain.learners[first], honest.learners[first]
    assert alike(one.reward, other.reward) and equal(one.updates, other.updates)
    assert alike(one.model.actor.trunk.normaliser, other.model.actor.trunk.normaliser)
    assert alike(one.model.critic.scale, other.model.critic.scale)
    assert alike(one.study.buffer, other.study.buffer), "minds learn from what was played"
    for a, b in zip(plain.reports, honest.reports, strict=True):
        assert alike((a.tally.games_B, a.tally.length_B), (b.tally.games_B, b.tally.length_B))
    assert alike(plain.reports[first].tally, honest.reports[first].tally)


@pytest.mark.parametrize("name", ["learned", "oracle"])
def test_imagined_rows_are_a_share_of_the_step_that_stays_below_its_cap(name):
    found = ran(name)
    share, rows, open_ = found.told("share"), found.told("rows"), found.told("open") > 0
    np.testing.assert_allclose(share, rows / (rows + 8 * 4), rtol=1e-6)
    assert (share <= MIND.imagine_share).all() and (share[open_] > 0).all() and not share[~open_].any()
    if name == "oracle":
        assert open_.all() and found.learners[0].study.world is None
        np.testing.assert_array_equal(found.told("length")[:, 0], np.round(1 + 2 * np.arange(ITERATIONS) / ITERATIONS))


@pytest.mark.parametrize("share", [0.05, 0.3, 0.5])
def test_however_many_branches_there_is_room_for_they_are_at_most_their_share(share):
    for steps, rows, moments, parts in ((1, 32, 8, 2), (5, 5120, 1280, 4), (3, 100, 1000, 4), (5, 10, 2, 4)):
        count = branches(share, steps, rows, moments, parts)
        assert count % parts == 0 and count <= moments
        assert count * steps / (count * steps + rows) <= share + 1e-9


class KilledError(Exception):
    pass


def kill(moment: Any) -> None:
    if moment.iteration == 4:
        raise KilledError


def test_a_run_that_imagines_and_was_killed_and_resumed_equals_one_that_never_stopped(tmp_path):
    own = config(**IMAGINES["learned"])
    start(own, tmp_path / "whole", game=GAME)
    with pytest.raises(KilledError):
        start(own, tmp_path / "killed", game=GAME, on_iteration=kill)
    resume(tmp_path / "killed", game=GAME)
    runs = [RunDir.open(tmp_path / name) for name in ("whole", "killed")]
    arrays, others = (load(run.checkpoints_path).arrays for run in runs)
    assert arrays.keys() == others.keys() and any(".study.world" in name for name in arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, others[name], err_msg=name)
    assert runs[0].metrics_path.read_bytes() == runs[1].metrics_path.read_bytes()
    lines = [line for line in runs[0].metrics() if line["kind"] == "train"]
    assert lines[-1]["seat_0/mind/imagined/rows"] > 0 and lines[-1]["steps"] == own.total_steps


def forked(game: Timetable, clocks: list[int], seats: list[int]) -> Fork:
    """A branch of each of these seats at these times."""
    view = View(game.spec.action, game.spec.features, game.spec.seats - 1, 0, 0)
    sides = np.ones((len(seats), game.spec.sides), bool)

    @quick
    def made(clock_J: Any, seat_J: Any) -> Fork:
        state = TimetableState(clock_J, jnp.zeros(len(clocks)))
        moment = jax.tree.map(lambda x: x[:, None], Moment(*jax.vmap(Oracle(game, view).known)(state, seat_J)))
        mind: Any = own_actor(game).mind
        memory, present = mind.initial(len(seats), 1), jnp.ones((len(seats), 1), bool)
        return Fork(moment, memory, present, jnp.asarray(sides), seat_J[:, None], state)

    return made(np.array(clocks, np.int32), np.array(seats, np.int32))


def own_actor(game: Any) -> Any:
    return with_mind(Actor.make(Seed.of(1), game.spec, NetConfig(hidden=(4,))), Seed.of(1), game, MIND)


def dreamt(game: Timetable, fork: Fork, *, length: int = 3, pay: Pay = PLAIN) -> Any:
    """Three steps; the critic says what time it is."""
    world = Oracle(game, View(game.spec.action, game.spec.features, game.spec.seats - 1, 0, 0), pay)

    @quick
    def go(fork: Fork, key: Any, length: Any) -> Any:
        return dream(world, own_actor(game), Reader(jnp.zeros(()), "local"), fork, key, length=length, steps=3)[0]

    return go(fork, jax.random.key(0), np.int32(length))


TABLE = [[1, 2], [3, 4], [5, 6], [7, 8]]


@pytest.mark.parametrize("cut", [False, True])
def test_a_branch_ends_where_its_seat_leaves_or_the_game_is_over_and_nothing_follows_then(cut):
    """Seat 0, gone after step 1, from the start on; and seat 1 from step 2 on, where the game has two more steps."""
    game = timetable(TABLE, leaves={0: 1}, cut=cut, action=ActionSpec(heads=(2,)))
    found = dreamt(game, forked(game, [0, 2], [0, 1]))
    np.testing.assert_array_equal(found.present_TWN[..., 0], [[True, True], [True, True], [False, False]])
    np.testing.assert_array_equal(found.reward_TWN[:2, :, 0], [[1, 6], [3, 8]])
    np.testing.assert_array_equal(found.over_TWN[:2, :, 0], [[False, False], [True, not cut]])
    np.testing.assert_array_equal(found.ended_TWN[:2, :, 0], [[False, False], [True, True]])
    np.testing.assert_array_equal(found.value_TWN[:2, :, 0], [[0, 2], [1, 3]])
    plain = (found.reward_TWN, found.value_TWN, found.next_value_TWN, found.over_TWN, found.ended_TWN)
    advantage = np.asarray(gae(*plain, discount=1.0, decay=1.0))[..., 0]
    # Of seat 0: 1 + 3, and the values 0 and 1. Of seat 1: 6 + 8, after a cut 4 more, and the values 2 and 3.
    follows = 4 if cut else 0
    np.testing.assert_allclose(advantage[:2], [[4, 12 + follows], [2, 5 + follows]])


@pytest.mark.parametrize("time_limit", ["bootstrap", "end"])
def test_where_a_time_limit_is_an_end_a_branch_that_merely_stops_still_goes_on(time_limit):
    """Two steps of a branch that begins at the first step, and the last step of a game that a limit cuts."""
    game, ppo = timetable(TABLE, cut=True, action=ActionSpec(heads=(2,))), PPOConfig(time_limit=time_limit)
    plain = replace(ppo, normalise_advantage="none", epochs=1, minibatches=1)
    knobs: Any = SimpleNamespace(discount=1.0, decay=1.0, shared_reward=0.0)
    found = dreamt(game, forked(game, [0, 3], [0, 0]), length=2, pay=pay_of(game, plain, knobs, None))
    learner: Any = SimpleNamespace(reward=None, model=SimpleNamespace(critic=SimpleNamespace(scale=None)))
    worth = Estimate(found.value_TWN, found.value_TWN, *jnp.zeros(3))

    @quick
    def rows(found: Any) -> Any:
        dreams = Imagined(found, jnp.asarray(True), 0.5)
        return dreams_of(learner, (found, worth), dreams, jax.random.key(0), knobs, plain)[0].batch.target

    target_TW = np.asarray(rows(found)).reshape(3, 2)
    # 1 + 3 and the value of the third moment; 7, and after a limit that is none the value of the moment after it.
    np.testing.assert_allclose(target_TW[0], [1 + 3 + 2, 7 if time_limit == "end" else 7 + 4])
    assert np.asarray(found.over_TWN)[0, :, 0].tolist() == [False, time_limit == "end"]


@pytest.mark.parametrize(("norm", "told"), [("running", 0.5), ("popart", 0.25)])
def test_what_the_critic_said_of_a_branch_is_told_in_the_unit_in_which_its_layer_now_says_it(norm, told):
    """Values clipped to what was said: a deviation of 2, and after the rollout one of 4. It said 1 of the second."""
    plain = PPOConfig(value_norm=norm, normalise_advantage="none", epochs=1, minibatches=1)
    knobs: Any = SimpleNamespace(discount=1.0, decay=1.0)
    game = timetable(TABLE, action=ActionSpec(heads=(2,)))
    found = dreamt(game, forked(game, [0], [0]))
    before, after = (ValueScale(jnp.zeros(()), jnp.asarray(s**2), jnp.ones(())) for s in (2.0, 4.0))
    learner: Any = SimpleNamespace(reward=None, model=SimpleNamespace(critic=SimpleNamespace(scale=after)))
    worth = Estimate(found.value_TWN, found.value_TWN, *jnp.zeros(3))
    dreams = Imagined(found, jnp.asarray(True), 0.5)
    rows = quick(lambda: dreams_of(learner, (found, worth), dreams, jax.random.key(0), knobs, plain, before)[0].batch)()
    np.testing.assert_allclose(rows.value[:, 0, 0], [0.0, told, 2 * told], rtol=1e-5)
    np.testing.assert_allclose(rows.target[2, 0, 0] * 4.0, 5 + 3, rtol=1e-5)


def test_a_branch_of_two_steps_leads_to_what_the_critic_says_of_the_third():
    game = timetable(TABLE, action=ActionSpec(heads=(2,)))
    found = dreamt(game, forked(game, [0], [1]), length=2)
    np.testing.assert_array_equal(found.present_TWN[:, 0, 0], [True, True, False])
    assert not found.over_TWN[:2].any() and found.ended_TWN[1].all()
    np.testing.assert_array_equal(found.next_value_TWN[:2, 0, 0], [1, 2])
    said = found.distribution.log_prob(found.action)
    np.testing.assert_array_equal(found.log_prob_TWN, said)


def test_through_the_oracle_play_goes_on_as_in_the_game_itself():
    game = make("stag_hunt", size=4, hunters=3, hares=2, walls=0, steps=6)
    spec = game.spec
    goals = game.goals(game.start(jax.random.key(0)))
    view = View(spec.action, spec.features, 2, len(spec.goals), goals.about_SGZ.shape[-1])

    @quick
    def both(key: Any) -> Any:
        start, chance = game.start(key), game.chance(jax.random.fold_in(key, 1))
        discrete_SD = jax.random.randint(key, (3, 1), 0, 5)
        action = Action(discrete_SD, jnp.zeros((3, 0)))
        after, step = game.step(start, action, chance)
        others = jnp.array([0, 2])
        found = Oracle(game, view).of_one(start, jnp.asarray(1), discrete_SD[1], discrete_SD[others], chance)
        reached = game.reached(start, action, after)[others]
        seen, goals = game.observe(after), game.goals(after)
        wanted = (seen.features_SF[1], seen.legal_SA[1], seen.legal_SA[others], goals.about_SGZ[others])
        return found, (after, wanted, step.reward_S[1], step.over | step.left_S[1], reached)

    for seed in range(4):
        ((state, known), came), (after, wanted, reward, over, reached) = both(jax.random.key(seed))
        situation, legal, _ = known
        assert equal(state, after)
        assert equal((situation.features, legal, situation.legal, situation.about), wanted)
        assert equal((came.reward, came.over, came.reached), (reward, over, reached))


def test_the_oracle_pays_what_a_learner_is_paid_for_a_step_that_is_played():
    """A fifth of what both seats earn on average, seat 1 gone after its first step, and the way to a hare."""
    game = timetable(TABLE, leaves={1: 0}, action=ActionSpec(heads=(2,)))
    pay = Pay(np.full((2, 2), 0.5), 0.2, None, 0.9)
    found = dreamt(game, forked(game, [0], [1]), pay=pay)
    np.testing.assert_allclose(
        found.reward_TWN[:, 0, 0], [0.8 * 2 + 0.2 * 1.5, 0.8 * 4 + 0.2 * 3.5, 0.8 * 6 + 0.2 * 5.5]
    )
    assert not found.over_TWN[:, 0, 0].any() and found.present_TWN[:, 0, 0].all(), "who shares goes on sharing"
    hunt = make("stag_hunt", size=4, hunters=3, hares=2, walls=0, steps=6)

    @quick
    def paid(key: Any) -> Any:
        state, done = hunt.start(key), Action(jnp.zeros((3, 1), jnp.int32), jnp.zeros((3, 0)))
        after, step = hunt.step(state, done, hunt.chance(jax.random.fold_in(key, 1)))
        found = Pay(None, 0.0, jnp.asarray([0.0, 2.0]), 0.9).of(hunt, state, step, after, jnp.asarray(2))
        return found, step.reward_S[2], 0.9 * hunt.potential(after)[2, 1] - hunt.potential(state)[2, 1]

    of_hare, reward, grown = paid(jax.random.key(3))
    np.testing.assert_allclose(of_hare, reward + 2 * grown, rtol=1e-6)
    assert abs(grown) > 0.01


def test_the_model_of_the_world_learns_what_a_learner_is_paid():
    """All of the mean of both seats: what the table says, and half of what each did."""
    study = jax.tree.map(lambda x: x[0], ran("learned").learners[0].study.world)
    rows = jax.tree.map(lambda x: x[study.buffer.useful], study.buffer.transition)
    assert len(rows.reward) == 16, "a quarter of the room"
    table_T = np.asarray(GAME.rules.reward_TS).mean(1)
    did = (rows.own_D[:, 0] + rows.discrete_OD[:, 0, 0]) / 2
    np.testing.assert_allclose(rows.reward, table_T[rows.features_F[:, 0].astype(int)] + 0.5 * did, rtol=1e-6)


def test_what_a_seat_knows_comes_back_from_its_numbers():
    """Two others, two goals of three numbers, two heads of two entries."""
    rng, view = np.random.default_rng(0), View(ActionSpec(heads=(2, 2)), 3, 2, 2, 3)
    open_ = rng.random((5, 1, 2, 2)) < 0.5
    acting = rng.random((5, 1, 2)) < 0.5
    legal = np.concatenate([np.ones((5, 1, 2, 1), bool), rng.random((5, 1, 2, 1)) < 0.5] * 2, axis=-1)
    legal = np.where(acting[..., None], legal, [True, False, True, False])
    from sparring.play.witness import Situation

    seen = Situation(
        rng.normal(size=(5, 1, 3)), np.zeros((5, 1), bool), acting, legal, open_,
        open_ * rng.integers(0, 9, (5, 1, 2, 2)), open_[..., None] * rng.normal(size=(5, 1, 2, 2, 3)),
    )  # fmt: skip
    own, here, reached = np.array([[[True, False, False, True]]] * 5), np.ones((5, 1), bool), ~open_
    moment, found = view.moment(view.numbers_of(seen), 1.0 * view.flags_of(seen, own, here, reached))
    for one, other in zip(moment.situation, seen, strict=True):
        if other is not None:
            np.testing.assert_allclose(one, other, rtol=1e-5)
    assert equal((moment.legal, moment.acting, found), (own, here, reached))


class Fake(NamedTuple):
    """What a rollout has that rows are made of."""

    features_TWNF: Any
    legal_TWNA: Any
    action: Any
    reward_TWN: Any
    over_TWN: Any
    ended_TWN: Any
    present_TWN: Any
    acting_TWN: Any
    start_TW: Any
    others: Any


def test_a_row_is_a_step_and_what_was_seen_after_it_where_that_is_known():
    """Five steps of one seat: it is over after the first, gone in the second, cut after the third; the last leads
    nowhere that was seen."""
    steps = 5
    flags = {name: np.zeros((steps, 1, 1), bool) for name in ("over", "ended", "present")}
    flags["over"][0] = flags["ended"][[0, 2]] = True
    flags["present"][[0, 2, 3, 4]] = True
    number = np.arange(steps, dtype=np.float32).reshape(steps, 1, 1)
    none = np.zeros((steps, 1, 1, 1, 0))
    others = Others(
        np.zeros((steps, 1, 1, 1, 1), np.int32), none, np.ones((steps, 1, 1, 1), bool),
        np.ones((steps, 1, 1, 1, 2), bool), none > 0, none, none[..., None], none > 0,
    )  # fmt: skip
    choice = Action(np.ones((steps, 1, 1, 1), np.int32), none[..., 0, :])
    rollout: Any = Fake(
        number[..., None], np.ones((steps, 1, 1, 2), bool), choice, 10 * number, flags["over"], flags["ended"],
        flags["present"], flags["present"], np.zeros((steps, 1), bool), others,
    )  # fmt: skip
    view = View(ActionSpec(heads=(2,)), 1, 1, 0, 0)
    ends = transitions(rollout, view, cut_ends=True)
    assert np.asarray(ends.useful & ends.transition.ended).tolist() == [True, False, True, False, False]
    rows = transitions(rollout, view)
    assert np.asarray(rows.useful).tolist() == [True, False, False, True, False]
    assert np.asarray(rows.transition.ended).tolist() == [True, False, False, False, False]
    assert float(rows.transition.next_features_F[3, 0]) == 4 and float(rows.transition.reward[3]) == 30


def test_who_imagines_nothing_runs_a_program_without_a_trace_of_it(monkeypatch):
    def forbidden(*_: Any, **__: Any) -> Any:
        raise AssertionError

    for place in ("setup.program.imagined", "play.collect.branched", "learn.ppo.dreams_of", "learn.epochs.with_dreams"):
        monkeypatch.setattr(f"sparring.{place}", forbidden)
    built = build(replace(config(), play=PlayConfig(worlds=6, steps=8)), game=GAME)
    state = jax.eval_shape(lambda: first_state(built))
    given = (built.standing, jax.tree.map(jnp.asarray, built.knobs(0)), jnp.asarray(built.seeds_R), jnp.asarray(0))
    compile_program(built.plan).trace(built.game, state, {}, *given)
    assert not [name for name in map(str, jax.tree.leaves_with_path(state)) if "world" in name]


OTHERS = {"imagine_gate": 0.25, "imagine_share": 0.2, "imagine_members": 4, "imagine_rate": 0.1}


@cache
def lived(imagine: str) -> Any:
    """The shapes of what one learner lived; no other setting of imagination has a part in it."""
    built = build(config(**IMAGINES[imagine]), game=GAME)
    state = jax.tree.map(
        lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), jax.eval_shape(lambda: first_state(built))
    )
    orders, play = jax.tree.map(lambda x: x[0], built.standing), partial(program.play, built.plan)
    _, (rollout,), *_ = jax.eval_shape(play, GAME, state, {}, orders, built.knobs(0), jax.random.key(0))
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct((x.shape[0], *x.shape[2:]), x.dtype), rollout)


@cache
def text_of(name: str = "", value: Any = None) -> str:
    """What one learner imagines and how it learns from that, as it is traced."""
    own = dict(IMAGINES["learned"]) | ({} if name in ("", "imagine_length") else {name: value})
    whole = config(**{key: x for key, x in own.items() if own["imagine"] == "learned" or key == "imagine"})
    if name == "imagine_length":
        whole = replace(whole, ppo=replace(whole.ppo, imagine_length=Schedule.parse(value)))
    built = build(whole, game=GAME)
    (learners,) = jax.eval_shape(lambda: first_state(built)).learners
    learner = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[2:], x.dtype), learners)
    teach = partial(program.teach, built.plan, game=GAME)
    return str(jax.make_jaxpr(teach)(learner, lived(own["imagine"]), [*built.knobs(0)[0][0]], jax.random.key(0)))


@pytest.mark.parametrize(
    "name", [f.name for f in fields(MindConfig) if f.name.startswith("imagine")] + ["imagine_length"]
)
def test_every_setting_of_imagination_changes_the_program(name):
    value = {"imagine": "oracle", "imagine_length": "2 -> 4", **OTHERS}.get(name)
    if value is None:
        value = getattr(MIND, name) + 1
    assert text_of(name, value) != text_of()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"net": NetConfig(memory="gru")}, "does not go with a policy that remembers"),
        ({"net": NetConfig(critic="central")}, "does not go with critic=central"),
        (
            {"net": NetConfig(critic="central", memory="gru")},
            "what the others did. Nor with critic=central: a branch knows .* Use --critic local. Or use --imagine none",
        ),
        (
            {
                "ppo": PPOConfig(influence=Schedule.parse(0.5)),
                "mind": replace(MIND, imagine="oracle", mind_replies=True),
            },
            "influence is none of that",
        ),
        ({"mind": replace(MIND, imagine="oracle", mind_goals="segment")}, "what the others see and earn"),
        ({"ppo": PPOConfig(advantage="expected")}, "does not go with advantage=expected"),
        ({"play": PlayConfig(worlds=1, steps=4), "ppo": PPOConfig(minibatches=4)}, "leaves no room for branches"),
        ({"mind": MindConfig(imagine="oracle"), "ppo": PPOConfig()}, "it needs a mind"),
        ({"mind": replace(MIND, imagine="oracle", imagine_size=8)}, "needs imagine=learned"),
        ({"mind": replace(MIND, imagine_share=0.4)}, "needs imagine=learned or imagine=oracle"),
        ({"mind": replace(MIND, imagine="learned", imagine_share=0.6)}, "imagine_share must be"),
    ],
    ids=str,
)
def test_what_cannot_be_imagined_is_refused(changes, words):
    with pytest.raises(ConfigError, match=words):
        build(replace(config(imagine="oracle"), **changes), game=GAME)
