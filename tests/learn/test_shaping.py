"""Shaping: what terms add to the reward, and what a potential never changes."""

import jax.numpy as jnp
import numpy as np
import pytest

from sparring.learn.shaping import shaped
from sparring.play.rollout import Rollout, Shaping

DISCOUNT = 0.9


def unpaid(steps: int) -> Rollout:
    """One world with one seat; nothing but the reward matters."""
    nothing = dict.fromkeys(name for name in Rollout._fields if name != "reward_TWN")
    return Rollout(reward_TWN=jnp.zeros((steps, 1, 1)), **nothing)  # type: ignore[arg-type]


def with_terms(reward, potential, next_potential):
    steps = len(reward)
    rollout = unpaid(steps)
    parts = (jnp.asarray(x, float).reshape(steps, 1, 1, -1) for x in (reward, potential, next_potential))
    return rollout._replace(shaping=Shaping(*parts))


def test_each_term_pays_by_its_weight_and_a_potential_by_its_growth():
    rollout = with_terms([[1.0], [2.0]], [[5.0], [6.0]], [[6.0], [0.0]])
    paid = shaped(rollout, jnp.asarray([10.0, 1.0]), jnp.asarray(DISCOUNT)).reward_TWN[:, 0, 0]
    np.testing.assert_allclose(paid, [10 + 0.9 * 6 - 5, 20 + 0.9 * 0 - 6], rtol=1e-6)


@pytest.mark.parametrize("path", [[3.0, -1.0, 4.0], [3.0, 100.0, -7.0], [3.0]])
def test_over_a_game_a_potential_sums_to_minus_its_first_value_whatever_happens(path):
    """Discounted sums: so it ranks all ways to play alike."""
    later = [*path[1:], 0.0]
    rollout = with_terms(np.zeros((len(path), 0)), np.asarray(path)[:, None], np.asarray(later)[:, None])
    paid = np.asarray(shaped(rollout, jnp.ones(1), jnp.asarray(DISCOUNT)).reward_TWN)[:, 0, 0]
    assert (paid * DISCOUNT ** np.arange(len(path))).sum() == pytest.approx(-3.0, abs=1e-4)


def test_without_weights_a_rollout_stays_as_it_is():
    rollout = unpaid(2)
    assert shaped(rollout, None, jnp.asarray(DISCOUNT)) is rollout


def test_where_a_time_limit_counts_as_an_end_nothing_follows_it():
    rollout = with_terms(np.zeros((1, 0)), [[3.0]], [[7.0]])._replace(ended_TWN=jnp.ones((1, 1, 1), bool))
    paid = [shaped(rollout, jnp.ones(1), jnp.asarray(DISCOUNT), cut_ends=ends).reward_TWN.item() for ends in (0, 1)]
    assert paid == pytest.approx([0.9 * 7 - 3, -3.0])
