import jax.numpy as jnp
import numpy as np
import pytest

from sparring.learn.reward_scale import RewardScale, scaled, start
from toy_players import quick

SCALED = quick(scaled)


def column(*values: float) -> np.ndarray:
    """One world with one seat, [T, 1, 1]."""
    return np.asarray(values, np.float32)[:, None, None]


def run(reward_TWN, ended_TWN=None, present_TWN=None, *, discount=0.5, scale=None) -> tuple[np.ndarray, RewardScale]:
    shape = reward_TWN.shape
    ended_TWN = np.zeros(shape, bool) if ended_TWN is None else np.asarray(ended_TWN, bool)
    present_TWN = np.ones(shape, bool) if present_TWN is None else np.asarray(present_TWN, bool)
    scale = start(*shape[1:]) if scale is None else scale
    divided, scale = SCALED(scale, reward_TWN, ended_TWN, present_TWN, discount)
    return np.asarray(divided), scale


def summary(scale: RewardScale) -> tuple[float, float, float]:
    """Mean and variance of the returns, and how many there were."""
    counts = scale.statistics
    return counts.mean_F.item(), counts.square_F.item() / counts.count.item(), counts.count.item()


def test_rewards_are_divided_by_the_deviation_of_discounted_returns():
    # Returns so far: 2, 0.5 * 2 + 3 = 4, 0.5 * 4 + 4 = 6. Mean 4, variance 8 / 3.
    divided, scale = run(column(2.0, 3.0, 4.0))
    assert summary(scale) == pytest.approx((4.0, 8 / 3, 3.0))
    np.testing.assert_allclose(divided[:, 0, 0], np.array([2.0, 3.0, 4.0]) / (8 / 3) ** 0.5, rtol=1e-6)
    assert scale.return_WN.item() == 6.0


def test_the_return_of_a_game_ends_with_it_and_counts_its_last_reward():
    # 2, 4 and the end; then 4 alone, where it would be 6.
    divided, scale = run(column(2.0, 3.0, 4.0), column(0, 1, 0))
    assert summary(scale) == pytest.approx((10 / 3, 8 / 9, 3.0))
    np.testing.assert_allclose(divided[:, 0, 0], np.array([2.0, 3.0, 4.0]) / (8 / 9) ** 0.5, rtol=1e-6)
    _, ended = run(column(2.0, 3.0, 4.0), column(0, 0, 1))
    assert ended.return_WN.item() == 0.0


def test_seats_of_several_worlds_count_together_but_have_returns_of_their_own():
    reward_TWN = np.array([[[1.0, 3.0], [5.0, 7.0]]], np.float32)
    _, scale = run(reward_TWN)
    assert summary(scale) == pytest.approx((4.0, 5.0, 4.0))
    np.testing.assert_array_equal(scale.return_WN, reward_TWN[0])


def test_seats_that_are_absent_do_not_count():
    # Of 1, 100 and 5 the second is absent: mean 3, variance 4. Its reward is divided like any other.
    reward_TWN = np.array([[[1.0, 100.0, 5.0]]], np.float32)
    divided, scale = run(reward_TWN, present_TWN=np.array([[[1, 0, 1]]]))
    assert summary(scale) == pytest.approx((3.0, 4.0, 2.0))
    np.testing.assert_allclose(divided, reward_TWN / 2)


def test_two_rollouts_leave_the_statistics_of_one_twice_as_long():
    rng = np.random.default_rng(4)
    reward_TWN = rng.standard_normal((8, 3, 2)).astype(np.float32) + 1
    ended_TWN, present_TWN = rng.random((2, 8, 3, 2)) < [[[[0.2]]], [[[0.7]]]]
    _, whole = run(reward_TWN, ended_TWN, present_TWN, discount=0.9)
    _, half = run(reward_TWN[:4], ended_TWN[:4], present_TWN[:4], discount=0.9)
    divided, both = run(reward_TWN[4:], ended_TWN[4:], present_TWN[4:], discount=0.9, scale=half)
    assert summary(both) == pytest.approx(summary(whole), rel=1e-5)
    np.testing.assert_allclose(both.return_WN, whole.return_WN, rtol=1e-6)
    # One scale for a whole rollout: that of everything seen by its end.
    np.testing.assert_allclose(divided, reward_TWN[4:] / summary(whole)[1] ** 0.5, rtol=1e-5)


@pytest.mark.parametrize(
    "reward",
    [
        [0.0, 0.0, 0.0],  # nothing found yet
        [7.0, 7.0, 7.0],  # games of one step that all pay the same
        [1000.1, 1000.1, 1000.1],
        [-1000.1, -1000.1, -1000.1],
        [1e-8, -1e-8, 1e-8],  # shaping that adds up to nothing but rounding
    ],
)
def test_returns_that_do_not_differ_leave_rewards_as_they_are(reward):
    divided, _ = run(column(*reward), column(1, 1, 1))
    np.testing.assert_array_equal(divided[:, 0, 0], np.float32(reward))


def test_equal_returns_in_large_numbers_differ_by_rounding_alone():
    reward_TWN = np.full((64, 128, 2), 0.1, np.float32)
    scale = None
    for _ in range(3):
        divided, scale = run(reward_TWN, np.ones_like(reward_TWN), scale=scale)
        np.testing.assert_array_equal(divided, reward_TWN)


def test_a_rollout_in_which_nobody_is_present_changes_no_statistics():
    _, before = run(column(2.0, 3.0, 4.0))
    divided, after = run(column(5.0, 5.0, 5.0), present_TWN=column(0, 0, 0), scale=before)
    assert summary(after) == summary(before)
    np.testing.assert_allclose(divided[:, 0, 0], 5.0 / (8 / 3) ** 0.5, rtol=1e-6)
    divided, _ = run(column(5.0), present_TWN=column(0))
    assert divided.item() == 5.0


def test_rewards_of_another_unit_come_out_the_same():
    reward_TWN = np.random.default_rng(2).standard_normal((16, 2, 1)).astype(np.float32)
    small, _ = run(reward_TWN)
    large, _ = run(reward_TWN * 1000)
    np.testing.assert_allclose(large, small, rtol=1e-5)
    assert jnp.isfinite(large).all()


def test_one_freak_reward_does_not_silence_those_after_it():
    # Returns 2, 4, 6: deviation sqrt(8 / 3) = 1.633, so 3e19 counts as 1633, as returns of 1636 and then of 818 + 1.
    _, before = run(column(2.0, 3.0, 4.0))
    bound = 1e3 * (8 / 3) ** 0.5
    for freak in (3e19, -3e19):
        divided, after = run(column(freak, 1.0), scale=before)
        returns = [2.0, 4.0, 6.0, 3.0 + np.sign(freak) * bound, 0.5 * (3.0 + np.sign(freak) * bound) + 1.0]
        assert summary(after) == pytest.approx((np.mean(returns), np.var(returns), 5.0), rel=1e-5)
        assert divided[1, 0, 0] == pytest.approx(1.0 / np.std(returns), rel=1e-5)


def test_a_game_that_pays_far_more_than_before_is_followed():
    reward_TWN, ended = column(1e6, -1e6), column(1, 1)
    _, scale = run(column(1.0, -1.0), ended)
    for _ in range(3):
        divided, scale = run(reward_TWN, ended, scale=scale)
    # Returns of 1, of 1e3, and from then on of 1e6, all of either sign: four of eight at full size.
    assert summary(scale)[1] == pytest.approx((1 + 1e6 + 2 * 1e12) / 4, rel=0.5)
    assert np.abs(divided).max() == pytest.approx(2**0.5, rel=0.25)
