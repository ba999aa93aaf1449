"""Dead units and feature rank, on features whose answer is known."""

import jax.numpy as jnp
import numpy as np

from sparring.learn.health import dead_units, feature_rank

ALL = jnp.ones(200, bool)


def features(seed: int, rank: int, width: int) -> np.ndarray:
    """200 rows of `width` units that span `rank` directions, all of them of the same weight."""
    generator = np.random.default_rng(seed)
    basis, _ = np.linalg.qr(generator.standard_normal((width, rank)))
    return (generator.standard_normal((200, rank)) @ basis.T).astype(np.float32)


def test_units_that_do_not_vary_are_dead_whether_silent_or_saturated():
    hidden = features(0, 8, 8)
    assert dead_units(jnp.asarray(hidden), ALL) == 0.0
    hidden[:, 0], hidden[:, 1] = 0.0, 1.0  # a silent ReLU, a saturated tanh
    assert dead_units(jnp.asarray(hidden), ALL) == 0.25


def test_the_rank_counts_directions_not_units():
    for rank in (1, 3, 8):
        assert feature_rank(jnp.asarray(features(1, rank, 8)), ALL) == rank


def test_a_direction_with_less_than_a_hundredth_of_the_variance_does_not_count():
    hidden = np.zeros((200, 2), np.float32)
    hidden[:, 0] = np.tile([1.0, -1.0], 100)
    hidden[:, 1] = 0.05 * np.repeat([1.0, -1.0], 100)  # variance 0.0025 against 1
    assert feature_rank(jnp.asarray(hidden), ALL) == 1
    hidden[:, 1] *= 4
    assert feature_rank(jnp.asarray(hidden), ALL) == 2


def test_rows_that_do_not_count_change_nothing():
    hidden = features(2, 2, 6)
    some = jnp.arange(200) < 100
    spoiled = np.where(np.asarray(some)[:, None], hidden, 1e3 * features(3, 6, 6))
    assert feature_rank(jnp.asarray(spoiled), some) == 2
    assert dead_units(jnp.asarray(spoiled), some) == dead_units(jnp.asarray(hidden[:100]), ALL[:100])


def test_a_network_that_gives_the_same_for_all_has_rank_0_and_is_dead():
    assert feature_rank(jnp.ones((200, 4)), ALL) == 0.0
    assert dead_units(jnp.ones((200, 4)), ALL) == 1.0
