"""Rows to train on, and the central promise: the policy evaluated for learning is the policy that played."""

from functools import cache
from itertools import product

import jax
import numpy as np
import pytest

from sparring.core.records import Action
from sparring.core.spec import ActionSpec
from sparring.learn.batch import Cut, to_rows, unroll
from sparring.nets.config import NetConfig
from sparring.nets.distributions import Distribution
from sparring.play.rollout import Rollout
from sparring.play.seating import seat
from toy_games import timetable
from toy_players import driver_of, learners_of, play, quick

ONE_CHOICE = ActionSpec(heads=(1,))


def numbered_rollout(memory: tuple) -> Rollout:
    """4 steps, 2 worlds, 1 seat; every number is 10 t + w."""
    number_TW = 10.0 * np.arange(4)[:, None] + np.arange(2)
    number_TWN = number_TW[..., None]
    flag_TWN = np.ones((4, 2, 1), bool)
    return Rollout(
        features_TWNF=number_TWN[..., None], legal_TWNA=flag_TWN[..., None], views_TWVG=None,
        action=Action(number_TWN[..., None].astype(int), np.zeros((4, 2, 1, 0))), log_prob_TWN=number_TWN,
        distribution=Distribution(ONE_CHOICE, number_TWN[..., None], np.zeros((4, 2, 1, 0)), np.zeros((4, 2, 1, 0))),
        value_TWN=number_TWN, next_value_TWN=number_TWN, reward_TWN=number_TWN, over_TWN=flag_TWN, ended_TWN=flag_TWN,
        present_TWN=flag_TWN, acting_TWN=flag_TWN, start_TW=number_TW > 15,
        side_TWK=np.ones((4, 2, 1), bool), memory=memory,
    )  # fmt: skip


def test_without_memory_every_step_of_every_world_is_a_row():
    rollout = numbered_rollout(((), ()))
    batch = quick(lambda rollout: to_rows(rollout, Cut(4, 1)))(rollout)
    assert batch.features.shape == (8, 1, 1, 1)
    np.testing.assert_array_equal(batch.features.ravel(), [0, 1, 10, 11, 20, 21, 30, 31])
    np.testing.assert_array_equal(batch.action.discrete_SD.ravel(), [0, 1, 10, 11, 20, 21, 30, 31])
    np.testing.assert_array_equal(batch.distribution.log_p_A.ravel(), [0, 1, 10, 11, 20, 21, 30, 31])


def test_with_memory_rows_are_stretches_of_one_world_and_begin_with_the_memory_kept_there():
    # Memory kept twice in 4 steps: stretches of 2. It holds the number of its stretch's first step.
    kept = np.array([[0.0, 1.0], [20.0, 21.0]])[..., None, None]
    rollout = numbered_rollout((kept, kept + 500))
    batch = quick(lambda rollout: to_rows(rollout, Cut(4, 2)))(rollout)
    np.testing.assert_array_equal(batch.features[..., 0, 0], [[0, 10], [1, 11], [20, 30], [21, 31]])
    np.testing.assert_array_equal(batch.log_prob[..., 0], [[0, 10], [1, 11], [20, 30], [21, 31]])
    np.testing.assert_array_equal(batch.start, [[0, 0], [0, 0], [1, 1], [1, 1]])
    np.testing.assert_array_equal(batch.memory[0][:, 0, 0], [0, 1, 20, 21])
    np.testing.assert_array_equal(batch.memory[1][:, 0, 0], [500, 501, 520, 521])


NETS = {
    f"{memory}-{critic}": NetConfig(hidden=(8,), memory=memory, memory_size=6, critic=critic)
    for memory, critic in product(("none", "gru", "lstm"), ("local", "central"))
}
BOX = {"low": (-1.0, -1.0), "high": (1.0, 1.0)}
KINDS = {
    "discrete": (ActionSpec(heads=(3, 2)), tuple(NETS)),
    "continuous": (ActionSpec(**BOX), tuple(NETS)),
    "both": (ActionSpec(heads=(3, 2), **BOX), ("gru-central",)),
}


@pytest.fixture(scope="module")
def played():
    """played(kind): for each net the rollout, and log-probabilities and values that training computes from it.

    Each net drives a side of 2 seats, as learner 0 in one block and as learner 1 in another. One seat is idle in a step
    and one leaves early; worlds stand at all clocks, so games end and are cut at different steps.
    """

    @cache
    def of_kind(kind: str):
        action, names = KINDS[kind]
        sides = len(names)
        game = timetable(
            [[0.0] * 2 * sides] * 3, side_of_seat=tuple(range(sides)) * 2, cut=True, action=action,
            leaves=dict.fromkeys(range(sides, 2 * sides), 1), idle=[(1, s) for s in range(sides)],
            masks=bool(action.heads),
        )  # fmt: skip
        seating = seat(
            game.spec, game.spec.seats_of_side, worlds=3, family_BK=[names] * 2, learner_BK=[[0] * sides, [1] * sides]
        )
        learners = [learners_of(game, NETS[name], [2 * i, 2 * i + 1]) for i, name in enumerate(names)]
        drivers = [driver_of(learner) for learner in learners]
        rollouts, _, _ = play(game, seating, drivers, steps=4, clock_V=[0, 1, 2] * 2, sequence=2)
        computed = jax.tree.map(np.asarray, again([learner.model for learner in learners], rollouts))
        return dict(zip(names, zip(rollouts, computed, strict=True), strict=True))

    return of_kind


@quick
def again(models, rollouts):
    def of_learner(model, rollout):
        cut = Cut(4, 2 if jax.tree.leaves(rollout.memory) else 1)
        found = unroll(model.actor, model.judge, to_rows(rollout, cut))
        return found.log_prob, found.value

    return [jax.vmap(of_learner, in_axes=(0, 1))(*pair) for pair in zip(models, rollouts, strict=True)]


def as_rows(array_TLWN: np.ndarray, sequence: int) -> np.ndarray:
    """[L, M, sequence, N]"""
    steps, players, worlds, seats = array_TLWN.shape
    parts = array_TLWN.reshape(steps // sequence, sequence, players, worlds, seats)
    return np.transpose(parts, (2, 0, 3, 1, 4)).reshape(players, -1, sequence, seats)


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, (_, names) in KINDS.items() for name in names])
def test_ratios_are_1_before_the_first_update_and_values_are_those_of_play(played, kind, name):
    rollout, (log_prob, value) = played(kind)[name]
    sequence = log_prob.shape[2]
    assert sequence == (1 if name.startswith("none") else 2)
    acting = as_rows(rollout.acting_TWN, sequence)
    old = as_rows(rollout.log_prob_TWN, sequence)
    assert np.ptp(old[acting]) > 0.5  # policies far from uniform, or ratios of 1 would say little
    assert 0.5 < acting.mean() < 1.0
    assert np.abs(np.exp(log_prob - old)[acting] - 1).max() < 1e-5
    np.testing.assert_allclose(value, as_rows(rollout.value_TWN, sequence), atol=1e-5)
