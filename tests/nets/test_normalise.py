import jax.numpy as jnp
import numpy as np
import pytest

from sparring.nets.normalise import Normaliser, ValueScale
from toy_players import quick

UPDATED = quick(Normaliser.updated)
RESCALED = quick(ValueScale.updated)


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


def test_values_are_as_they_are_before_the_first_target():
    scale = ValueScale.make()
    assert (scale.mean.item(), scale.std.item()) == (0.0, 1.0)
    np.testing.assert_array_equal(scale.real(jnp.array([-2.5, 40.0])), [-2.5, 40.0])
    np.testing.assert_array_equal(scale.normalised(jnp.array([-2.5, 40.0])), [-2.5, 40.0])


@pytest.mark.parametrize("rate", [0.05, 1.0])
def test_the_first_targets_count_in_full_whatever_their_share(rate):
    # 1 and 5 count, 100 does not: mean 3, mean square 13, variance 4.
    scale = RESCALED(ValueScale.make(), jnp.array([1.0, 5.0, 100.0]), jnp.array([True, True, False]), rate)
    assert scale.mean.item() == pytest.approx(3.0, rel=1e-6)
    assert scale.std.item() == pytest.approx(2.0, rel=1e-6)
    assert scale.weight.item() == pytest.approx(rate)


def test_later_targets_enter_with_their_share_and_older_ones_fade():
    # Shares 1/4: the older batch weighs 3/4 * 1/4 = 3/16, the newer 4/16.
    scale = RESCALED(ValueScale.make(), jnp.array([2.0, 4.0]), jnp.ones(2, bool), 0.25)
    scale = RESCALED(scale, jnp.array([10.0, 10.0]), jnp.ones(2, bool), 0.25)
    mean = (3 * 3.0 + 4 * 10.0) / 7
    square = (3 * 10.0 + 4 * 100.0) / 7
    assert scale.weight.item() == pytest.approx(7 / 16)
    assert scale.mean.item() == pytest.approx(mean, rel=1e-6)
    assert scale.std.item() == pytest.approx((square - mean**2) ** 0.5, rel=1e-6)


def test_scaling_and_scaling_back_gives_the_value():
    scale = RESCALED(ValueScale.make(), jnp.array([1.0, 5.0]), jnp.ones(2, bool), 0.1)
    np.testing.assert_allclose(scale.normalised(jnp.array([1.0, 3.0, 7.0])), [-1.0, 0.0, 2.0], atol=1e-5)
    np.testing.assert_allclose(scale.real(scale.normalised(jnp.array([-8.0, 0.1]))), [-8.0, 0.1], atol=1e-5)


@pytest.mark.parametrize("before", [0, 1])
def test_targets_of_which_none_counts_change_no_scale(before):
    scale = ValueScale.make()
    for _ in range(before):
        scale = RESCALED(scale, jnp.array([1.0, 5.0]), jnp.ones(2, bool), 0.3)
    after = RESCALED(scale, jnp.array([77.0, jnp.nan]), jnp.zeros(2, bool), 0.3)
    assert (after.mean_sum.item(), after.square_sum.item(), after.weight.item()) == (
        scale.mean_sum.item(), scale.square_sum.item(), scale.weight.item()
    )  # fmt: skip


@pytest.mark.parametrize(("target", "floor"), [(0.5, 0.01), (1000.0, 1.0)])
def test_targets_that_never_differ_keep_a_deviation(target, floor):
    # 0.01, or a thousandth of the mean where float32 cannot tell the squares apart any better.
    scale = RESCALED(ValueScale.make(), jnp.full(3, target), jnp.ones(3, bool), 0.3)
    assert scale.std.item() == pytest.approx(floor, rel=1e-3)
