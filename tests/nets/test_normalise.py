import jax.numpy as jnp
import numpy as np
import pytest

from sparring.nets.normalise import Normaliser
from toy_players import quick

UPDATED = quick(Normaliser.updated)


def test_before_the_first_update_nothing_changes():
    x = jnp.array([[1e6, -0.25, 37.5]])
    np.testing.assert_array_equal(Normaliser.make(3)(x), x)


def test_one_batch_by_hand():
    # Rows 1 and 5 count, 100 does not: mean 3, variance 4.
    normaliser = UPDATED(Normaliser.make(1), jnp.array([[1.0], [5.0], [100.0]]), jnp.array([1.0, 1.0, 0.0]))
    assert (normaliser.mean_F.item(), normaliser.square_F.item(), normaliser.count.item()) == (3.0, 8.0, 2.0)
    np.testing.assert_allclose(normaliser(jnp.array([[3.0], [7.0]])), [[0.0], [2.0]], atol=1e-6)


def test_batches_one_after_another_give_the_statistics_of_all_rows_together():
    rng = np.random.default_rng(1)
    batches = [100 + rng.standard_normal((rows, 2)) * [1.0, 30.0] for rows in (5, 1, 40)]
    weights = [rng.integers(0, 4, len(batch)).astype(float) + (i == 1) for i, batch in enumerate(batches)]
    normaliser = Normaliser.make(2)
    for batch, weight in zip(batches, weights, strict=True):
        normaliser = UPDATED(normaliser, jnp.asarray(batch, jnp.float32), jnp.asarray(weight, jnp.float32))
    x, w = np.concatenate(batches), np.concatenate(weights)
    mean = np.average(x, axis=0, weights=w)
    variance = np.average((x - mean) ** 2, axis=0, weights=w)
    np.testing.assert_allclose(normaliser.mean_F, mean, rtol=1e-5)
    np.testing.assert_allclose(normaliser.square_F / normaliser.count, variance, rtol=1e-3)
    assert normaliser.count.item() == w.sum()


@pytest.mark.parametrize("before", [0, 1])
def test_a_batch_in_which_nobody_counts_changes_nothing(before):
    normaliser = Normaliser.make(1)
    for _ in range(before):
        normaliser = UPDATED(normaliser, jnp.array([[1.0], [5.0]]), jnp.ones(2))
    after = UPDATED(normaliser, jnp.array([[77.0], [99.0]]), jnp.zeros(2))
    assert (after.mean_F.item(), after.square_F.item(), after.count.item()) == (
        normaliser.mean_F.item(), normaliser.square_F.item(), normaliser.count.item()
    )  # fmt: skip


def test_a_feature_that_never_moved_stays_finite_when_it_does():
    normaliser = UPDATED(Normaliser.make(1), jnp.full((3, 1), 2.0), jnp.ones(3))
    np.testing.assert_allclose(normaliser(jnp.array([[2.0], [2.5], [-9.0]])), [[0.0], [10.0], [-10.0]])
