import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.learn.losses import approximate_kl, clipped_surrogate, explained_variance, masked_mean, standardise
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
