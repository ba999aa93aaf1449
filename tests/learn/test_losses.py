import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.learn.losses import (
    approximate_kl,
    clipped_surrogate,
    clipped_value_error,
    explained_variance,
    masked_mean,
    or_none,
    spo_surrogate,
    standardise,
    value_error,
)
from toy_players import quick

CLIP = 0.2
SURROGATE = quick(jax.value_and_grad(clipped_surrogate))


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "slope"),
    [
        (1.1, 2.0, -2.2, -2.0),  # inside the clip: -ratio * advantage
        (1.5, 2.0, -2.4, 0.0),  # a good action already likelier: no more than 1.2 * 2
        (0.5, 2.0, -1.0, -2.0),  # a good action less likely: the full 0.5 * 2, to be pulled back
        (1.5, -2.0, 3.0, 2.0),  # a bad action likelier: the full 1.5 * -2, to be pushed back
        (0.5, -2.0, 1.6, 0.0),  # a bad action already less likely: no more than 0.8 * -2
    ],
)
def test_the_surrogate_is_the_worse_of_the_clipped_and_the_plain(ratio, advantage, loss, slope):
    value, gradient = SURROGATE(ratio, advantage, CLIP)
    assert value == pytest.approx(loss)
    assert gradient == pytest.approx(slope)


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "slope"),
    [
        (1.0, 2.0, -2.0, -2.0),  # where play was: the plain surrogate and its slope
        (1.2, 2.0, -2.2, 0.0),  # 1.2 * 2 - 2 / 0.4 * 0.04: the top of the parabola is at 1 + clip
        (1.4, 2.0, -2.0, 2.0),  # beyond it the ratio is pulled back, where the clip would let it go
        (0.8, -3.0, 2.7, 0.0),  # a bad action: the top is at 1 - clip
        (0.6, -3.0, 3.0, -3.0),  # -(0.6 * -3 - 3 / 0.4 * 0.16)
    ],
)
def test_spo_prefers_the_edge_of_the_clip_and_pulls_back_beyond_it(ratio, advantage, loss, slope):
    value, gradient = jax.value_and_grad(spo_surrogate)(ratio, advantage, CLIP)
    assert value == pytest.approx(loss, rel=1e-5)
    assert gradient == pytest.approx(slope, abs=1e-5)


@pytest.mark.parametrize(("value", "error", "slope"), [(1.5, 0.64, 0.0), (0.7, 1.69, -2.6), (1.1, 0.81, -1.8)])
def test_a_clipped_value_error_is_the_larger_of_the_two_and_flat_where_the_held_value_is_worse(value, error, slope):
    # Old value 1, clip 0.2, target 2. At 1.5 the held value 1.2 is worse: (1.2 - 2)^2. At 0.7 the value itself is.
    found, gradient = jax.value_and_grad(clipped_value_error)(value, 1.0, 2.0, 0.2)
    assert found == pytest.approx(error, rel=1e-5)
    assert gradient == pytest.approx(slope, abs=1e-5)


@pytest.mark.parametrize(("value", "error", "slope"), [(2.5, 0.25, 1.0), (5.0, 5.0, 2.0), (-4.0, 11.0, -2.0)])
def test_hubers_error_is_the_square_within_delta_and_linear_beyond(value, error, slope):
    # Target 2, delta 1: within, error^2; beyond, 2 |error| - 1.
    found, gradient = jax.value_and_grad(value_error)(value, 2.0, 1.0)
    assert found == pytest.approx(error)
    assert gradient == pytest.approx(slope)


def test_a_clip_of_0_holds_nothing_back():
    np.testing.assert_array_equal(or_none(jnp.array([0.0, CLIP])), np.array([np.inf, CLIP], np.float32))


def test_a_clipped_value_error_may_be_hubers():
    assert clipped_value_error(jnp.array(5.0), 1.0, 2.0, 0.2, 1.0) == pytest.approx(5.0)  # held: (1.2 - 2)^2 = 0.64


def test_the_approximate_kl_by_hand():
    # r - 1 - log r for r = 2, 1, 1/2.
    by_hand = [1 - np.log(2), 0.0, -0.5 + np.log(2)]
    np.testing.assert_allclose(approximate_kl(jnp.log(jnp.array([2.0, 1.0, 0.5]))), by_hand, atol=1e-6)


def test_the_approximate_kl_averages_to_the_kl_of_old_from_new():
    old, new = np.array([0.5, 0.5]), np.array([0.25, 0.75])
    kl = (old * np.log(old / new)).sum()
    assert (old * np.asarray(approximate_kl(jnp.log(new / old)))).sum() == pytest.approx(kl, abs=1e-6)


def test_the_approximate_kl_is_never_negative():
    size = np.logspace(-9, 1, 2000)
    log_ratio = np.float32(np.concatenate([-size, size]))
    assert (np.asarray(approximate_kl(log_ratio)) >= 0).all()
    assert (np.asarray(jax.jit(approximate_kl)(log_ratio)) >= 0).all()


def test_a_masked_mean_replaces_what_is_masked_even_if_it_is_not_a_number():
    x = jnp.array([1.0, jnp.nan, 5.0, jnp.inf])
    mask = jnp.array([True, False, True, False])
    assert masked_mean(x, mask) == 3.0
    np.testing.assert_array_equal(jax.grad(masked_mean)(x, mask), [0.5, 0.0, 0.5, 0.0])


def test_a_mean_over_nobody_is_0():
    assert masked_mean(jnp.array([3.0, 4.0]), jnp.zeros(2, bool)) == 0.0


def test_standardising_uses_the_mean_and_deviation_of_the_mask():
    # Among 1 and 5: mean 3, deviation 2.
    scaled = standardise(jnp.array([1.0, 5.0, 103.0]), jnp.array([True, True, False]))
    np.testing.assert_allclose(scaled.x, [-1.0, 1.0, 50.0], rtol=1e-6)
    assert (scaled.mean, scaled.std, scaled.flat) == (3.0, 2.0, 0.0)


def test_standardising_equal_numbers_only_centres_them():
    alike = standardise(jnp.full(4, 7.0), jnp.ones(4, bool))
    np.testing.assert_array_equal(alike.x, np.zeros(4))
    assert alike.flat == 1.0
    np.testing.assert_allclose(standardise(jnp.array([7.0, 7.0, 9.0]), jnp.array([1, 1, 0], bool)).x, [0.0, 0.0, 2.0])


@pytest.mark.parametrize(
    ("value", "explained"),
    [
        ([1.0, 2.0, 3.0], 1.0),  # perfect
        ([11.0, 12.0, 13.0], 1.0),  # a constant error is not variance
        ([2.0, 2.0, 2.0], 0.0),  # knows the mean
        ([3.0, 2.0, 1.0], -3.0),  # errors -2, 0, 2 vary four times as much as the targets -1, 0, 1
    ],
)
def test_explained_variance_by_hand(value, explained):
    mask = jnp.array([True, True, True, False])
    target, value = jnp.array([1.0, 2.0, 3.0, -50.0]), jnp.array([*value, 80.0])
    assert explained_variance(target, value, mask) == pytest.approx(explained, abs=1e-6)


def test_nothing_is_explained_where_nothing_varies():
    assert explained_variance(jnp.ones(3), jnp.array([1.0, 2.0, 3.0]), jnp.ones(3, bool)) == 0.0
