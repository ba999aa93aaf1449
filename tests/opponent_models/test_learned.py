"""Goals that no game lists, in a mind: what is told follows from what was done, and all of it is studied and kept."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.seeding import Seed
from sparring.core.spec import ActionSpec
from sparring.nets.config import NetConfig
from sparring.opponent_models import learned
from sparring.opponent_models.config import MindConfig
from sparring.opponent_models.learned import Coded, Guessed
from sparring.opponent_models.sample import hindsight, rows_of
from sparring.play.rollout import Others
from sparring.play.witness import Situation, Witnessed
from sparring.setup.config import CheckpointConfig, EvalConfig, PlayConfig, RunConfig, SeatsConfig
from sparring.store.checkpoints import load
from sparring.store.run_dir import RunDir
from sparring.training.runs import resume, start
from toy_players import quick

CONFIG = MindConfig(
    mind="belief", mind_size=8, mind_codes=3, mind_recall=2, mind_ahead=2, mind_buffer=40, mind_batch=8, mind_updates=2
)
KINDS = ("ending", "segment", "combined")
SEED, STEPS, FEATURES = Seed.of(2), 9, 3
RNG = np.random.default_rng(1)
SEEN = RNG.normal(size=(STEPS, 1, 1, 2, FEATURES)).astype(np.float32)
START = np.array([1, 0, 0, 0, 0, 1, 0, 0, 0], bool)[:, None]
PAID = np.zeros((STEPS, 1, 1, 2), np.float32)
PAID[[2, 4, 7], 0, 0, 0] = [1.0, 5.0, 2.0]
"""The first of two others is paid in three steps, the second never; a game begins with the sixth."""
NONE: Any = None


def coded(kind: Any) -> Coded:
    found = learned.finder_of(SEED, FEATURES, replace(CONFIG, mind_goals=kind))
    assert isinstance(found, Coded)
    return found


def others() -> Others:
    acting = np.ones((STEPS, 1, 1, 2), bool)
    nothing = np.zeros((*acting.shape, 0), np.float32)
    return Others(nothing, nothing, acting, acting[..., None], nothing, nothing, nothing, nothing, SEEN, PAID)  # type: ignore[arg-type]


class Lived:
    """As much of a rollout as goals are learned from."""

    def __init__(self, **parts: Any) -> None:
        self.__dict__.update(parts)

    def _replace(self, **changed: Any) -> "Lived":
        return Lived(**{**self.__dict__, **changed})


def rollout() -> Any:
    features = np.cumsum(np.ones((STEPS, 1, 1, FEATURES), np.float32), axis=0)
    reward = np.arange(STEPS, dtype=np.float32)[:, None, None]
    return Lived(
        others=others(),
        start_TW=jnp.asarray(START),
        features_TWNF=jnp.asarray(features),
        reward_TWN=jnp.asarray(reward),
        present_TWN=np.ones_like(reward, bool),
        finished_TW=np.zeros(START.shape, bool),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_found_in_play_is_what_a_rollout_shows_afterwards(kind):
    own = coded(kind)
    nobody: Any = ()

    @quick
    def steps(own: Coded) -> Any:
        held, found, kept = own.blank((1, 1), 2, FEATURES), [], []
        for t in range(STEPS):
            situation = Situation(NONE, START[t][:, None], NONE, NONE, NONE, NONE, NONE, SEEN[t])
            held = own.noticed(situation, held)
            reached, held = own.reached(Witnessed(NONE, NONE, NONE, nobody, NONE, PAID[t]), situation, held)
            found.append(reached)
            kept.append(held)
        played, more = own.lived(rollout())
        return jnp.stack(found), jnp.stack(kept), played.others.reached, more["ending_OX"]

    played, kept, lived, ending = (np.asarray(x) for x in steps(own))
    np.testing.assert_array_equal(played, lived[..., :-1])
    np.testing.assert_array_equal(played.any(-1), PAID != 0)
    assert not kept[PAID != 0].any(), "a piece that was paid is over"
    if kind == "ending":
        np.testing.assert_array_equal(ending[:3, 0, 0, 0], SEEN[[2, 2, 2], 0, 0, 0])
        np.testing.assert_array_equal(ending[5:8, 0, 0, 0], SEEN[[7, 7, 7], 0, 0, 0])
    if kind == "segment":
        np.testing.assert_allclose(ending[3, 0, 0, 0], SEEN[3:5, 0, 0, 0].mean(0), rtol=1e-5)
    if kind == "combined":
        np.testing.assert_allclose(ending[4, 0, 0, 0, -2:], [0.2, 5.0], rtol=1e-5)


def test_the_codes_that_were_reached_are_the_labels_and_those_paid_nothing_are_after_none_of_them():
    own = coded("combined")
    lived = quick(lambda own: own.lived(rollout())[0].others)(own)
    label = np.asarray(quick(hindsight)(lived.reached, lived.open, START))[:, 0, 0]
    code = np.asarray(lived.reached)[[2, 4, 7], 0, 0, 0].argmax(-1)
    assert label[:5, 0].tolist() == [code[0]] * 3 + [code[1]] * 2 and label[5:8, 0].tolist() == [code[2]] * 3
    assert label[:5, 1].tolist() == [3] * 5, "the first game ended, and it was never paid"
    assert label[5:, 1].tolist() == [-1] * 4 and label[8, 0] == -1, "what comes after the rollout is not known"
    np.testing.assert_array_equal(lived.about[0, 0, 0, 0, :3, :-1], own.codes.codes_CZ)
    np.testing.assert_array_equal(lived.about[0, 0, 0, 0, 3], [*[0.0] * learned.GOAL, 1.0])


def test_rows_are_read_by_the_codes_as_they_are_now():
    own = coded("ending")
    action = ActionSpec(heads=(1,))

    def rows(own: Coded, later: Coded) -> Any:
        played, more = own.lived(rollout())
        thought = Lived(leaning_NOK=jnp.zeros((STEPS, 1, 1, 2, 4)))
        played = played._replace(
            thought=thought, others=played.others._replace(discrete=jnp.zeros((STEPS, 1, 1, 2, 1)))
        )
        sample = rows_of(played, action, 0, **more)
        taught, losses = later.taught(sample, jax.random.key(0), jnp.zeros((), jnp.int32))
        return sample.label_O, taught, losses

    swapped = Coded(replace(own.codes, codes_CZ=own.codes.codes_CZ[jnp.array([1, 2, 0])]), "ending")
    before, taught, losses = quick(rows)(own, swapped)
    before, now = np.asarray(before), np.asarray(taught.label_O)
    known = (before >= 0) & (before < 3)
    assert known.sum() == 8 and (now[known] == (before[known] - 1) % 3).all() and (now[~known] == before[~known]).all()
    np.testing.assert_array_equal(taught.about_OGZ[0, 0, :3, :-1], swapped.codes.codes_CZ)
    assert float(losses["codes"]) > 0


def test_a_guess_is_made_of_the_last_states_of_the_game_and_told_of_all_the_others():
    own = learned.finder_of(SEED, FEATURES, replace(CONFIG, mind_goals="subgoal"))
    assert isinstance(own, Guessed)
    acting = np.ones((1, 1, 2), bool)

    @quick
    def step(own: Guessed, features: Any, start: Any, held: Any) -> Any:
        situation = Situation(features, start, acting, NONE, jnp.zeros((1, 1, 2, 0)), jnp.zeros((1, 1, 2, 0)), NONE)
        held = own.noticed(situation, held)
        return held, own.aims(situation, held), own.subgoals.guessed(held).mean_Z

    one, two = np.ones((1, 1, FEATURES), np.float32), np.full((1, 1, FEATURES), 2, np.float32)
    first, yes = np.ones((1, 1), bool), np.zeros((1, 1), bool)
    held, _, _ = step(own, one, first, own.blank((1, 1), 2, FEATURES))
    assert np.asarray(held)[0, 0, :, 0].tolist() == [1, 1]
    held, seen, guess = step(own, two, yes, held)
    assert np.asarray(held)[0, 0, :, 0].tolist() == [1, 2]
    np.testing.assert_array_equal(seen.about[0, 0, :, 0, :-1], np.broadcast_to(guess[0, 0], (2, learned.GOAL)))
    assert (seen.about[..., -1] == 1).all() and seen.open.shape == (1, 1, 2, 1)
    unpaid: Any = Witnessed(NONE, NONE, NONE, NONE, NONE)  # what others earn is shown to nobody who does not ask for it
    assert own.reached(unpaid, seen, held)[0].shape == (1, 1, 2, 0)
    held, _, _ = step(own, two, first, held)
    assert np.asarray(held)[0, 0, :, 0].tolist() == [2, 2], "nothing of an earlier game"


def test_models_learn_from_hindsight_first_and_from_the_guess_at_last():
    config = replace(CONFIG, mind_goals="subgoal", mind_anneal=10)
    own = learned.finder_of(SEED, FEATURES, config)
    assert isinstance(own, Guessed)

    def rows(own: Guessed, updates: Any) -> Any:
        _, more = own.lived(rollout())
        passage = jax.tree.map(lambda x: x.reshape(-1, *x.shape[3:]), more["passage"])
        sample = Lived(passage=passage, acting_O=jnp.ones((STEPS, 2), bool))
        taught, _ = own.taught(sample, jax.random.key(0), updates)  # type: ignore[arg-type]
        chosen, place = own.subgoals.chosen(passage, optimistic=True)
        return (
            taught.about_OGZ[:, 0, 0, :-1],
            own.subgoals.guessed(passage.history_KF).mean_Z,
            chosen.mean_Z,
            place,
            passage,
        )

    about, guess, chosen, place, passage = (jax.tree.map(np.asarray, x) for x in quick(rows)(own, 0))
    guessed, hindsight = (np.isclose(about, x, atol=1e-6).all(-1) for x in (guess, chosen))
    assert (guessed | hindsight).all() and 0 < hindsight.sum() < STEPS
    late = np.asarray(quick(rows)(own, 10)[0])
    np.testing.assert_allclose(late, guess, atol=1e-6)
    np.testing.assert_array_equal(passage.return_, [10, 10, 9, 7, 4, 26, 21, 15, 8])
    assert (place[passage.there_H.any(-1)] < 2).all()


def config() -> RunConfig:
    mind = replace(CONFIG, mind_goals="subgoal", mind_codes=MindConfig.mind_codes)
    options = ("size=4", "hunters=3", "hares=2", "walls=0", "steps=6")
    return RunConfig(
        game="stag_hunt", options=options, total_steps=4 * 3 * 4 * 8, seats=SeatsConfig(share="seat"),
        play=PlayConfig(worlds=4, steps=8), net=NetConfig(hidden=(8,)), evaluation=EvalConfig(eval_games=0),
        checkpoint=CheckpointConfig(checkpoint_every=2), mind=mind,
        learner=("hunter_0.mind_goals=combined", "hunter_0.mind_codes=3"),
    )  # fmt: skip


class KilledError(Exception):
    pass


def kill(moment: Any) -> None:
    if moment.iteration == 2:
        raise KilledError


def test_learners_with_learned_goals_that_were_killed_and_resumed_equal_those_that_never_stopped(tmp_path):
    """Codes of pieces beside guesses of subgoals, at one table."""
    start(config(), tmp_path / "whole")
    with pytest.raises(KilledError):
        start(config(), tmp_path / "killed", on_iteration=kill)
    resume(tmp_path / "killed")
    runs = [RunDir.open(tmp_path / name) for name in ("whole", "killed")]
    arrays, again = (load(run.checkpoints_path).arrays for run in runs)
    assert arrays.keys() == again.keys() and any("codes_CZ" in name for name in arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(array, again[name], err_msg=name)
    assert runs[0].metrics_path.read_bytes() == runs[1].metrics_path.read_bytes()
    last = [line for line in runs[0].metrics() if line["kind"] == "train"][-1]
    assert {"hunter_0/mind/goal_top1", "hunter_0/mind/codes", "hunter_0/mind/loss/codes"} <= set(last)
    assert "hunter_1/mind/loss/subgoal" in last and last["hunter_1/mind/updates"] > 0
    assert last["hunter_0/mind/goal_commonest"] is not None and "hunter_0/mind/goal_nearest" not in last
