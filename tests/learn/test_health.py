"""Dead units and feature rank, on features whose answer is known."""

from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

from sparring.learn.health import dead_units, feature_rank, hidden_sample

ALL = jnp.ones(160, bool)


def features(seed: int, rank: int, width: int) -> np.ndarray:
    """160 rows of `width` units that span `rank` directions, all of exactly the same variance."""
    basis, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((width, rank)))
    corners = np.concatenate([np.eye(rank), -np.eye(rank)])  # centred, and the same along every axis
    rows = np.tile(corners, (160 // (2 * rank) + 1, 1))[: 160 // (2 * rank) * 2 * rank]
    return np.pad(rows, ((0, 160 - len(rows)), (0, 0))).astype(np.float32) @ basis.T.astype(np.float32)


def test_units_that_do_not_vary_are_dead_whether_silent_or_saturated():
    hidden = features(0, 8, 8)
    assert dead_units(jnp.asarray(hidden), ALL) == 0.0
    hidden[:, 0], hidden[:, 1] = 0.0, 1.0  # a silent ReLU, a saturated tanh
    assert dead_units(jnp.asarray(hidden), ALL) == 0.25
    hidden[:, 2] *= 0.01  # hardly alive beside the others
    assert dead_units(jnp.asarray(hidden), ALL) == 0.375


@pytest.mark.parametrize("rank", [1, 3, 8])
def test_the_rank_counts_directions_not_units(rank):
    assert feature_rank(jnp.asarray(features(1, rank, 8)), ALL) == pytest.approx(rank, rel=1e-4)


def test_a_direction_counts_by_its_share_of_the_variance():
    hidden = np.zeros((160, 2), np.float32)
    hidden[:, 0] = np.tile([1.0, -1.0], 80)
    hidden[:, 1] = 0.5 * np.repeat([1.0, -1.0], 80)
    # Variances 1 and 1/4: (5/4)^2 / (1 + 1/16) = 25/17.
    assert feature_rank(jnp.asarray(hidden), ALL) == pytest.approx(25 / 17, rel=1e-5)


def test_rows_that_do_not_count_change_nothing():
    hidden = features(2, 2, 6)
    some = jnp.arange(160) < 80
    spoiled = np.where(np.asarray(some)[:, None], hidden, 1e3 * features(3, 6, 6))
    assert feature_rank(jnp.asarray(spoiled), some) == pytest.approx(2.0, rel=1e-4)
    assert dead_units(jnp.asarray(spoiled), some) == dead_units(jnp.asarray(hidden[:80]), ALL[:80])


def test_a_network_that_gives_the_same_for_all_has_rank_0_and_is_dead():
    assert feature_rank(jnp.ones((160, 4)), ALL) == 0.0
    assert dead_units(jnp.ones((160, 4)), ALL) == 1.0


def test_the_sample_is_not_of_one_moment_of_the_rollout():
    # 40 steps x 128 worlds whose only feature is the clock: a sample of one step would see a single number.
    clock = np.broadcast_to(np.arange(40.0, dtype=np.float32)[:, None, None, None], (40, 128, 1, 1))
    flags = np.ones((40, 128, 1), bool)
    rollout = SimpleNamespace(
        start_TW=np.zeros((40, 128), bool), memory=((), ()), features_TWNF=clock, acting_TWN=flags, thought=None
    )
    actor = SimpleNamespace(scores=lambda x, memory: (None, x, memory))
    hidden, seen = hidden_sample(actor, rollout)  # type: ignore[arg-type]
    assert len(np.unique(hidden)) > 10
    assert 100 <= len(seen) <= 300
