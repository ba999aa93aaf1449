"""What each step was worth, by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.schedules import Schedule
from sparring.learn.config import Knobs, PPOConfig, knobs_at
from sparring.learn.estimate import estimate, with_values
from sparring.play.rollout import Rollout

KEY = jax.random.key(0)


def steps_of(values, dtype=np.float32) -> np.ndarray:
    """[T, W] as [T, W, 1]."""
    return np.asarray(values, dtype)[..., None]


def rollout_of(reward, *, value=None, following=None, ended=None, over=None, acting=None, sides=None) -> Rollout:
    """One seat; values are 0, and all play on, unless said otherwise."""
    shape = np.shape(reward)
    zero, never = np.zeros(shape), np.zeros(shape, bool)
    return Rollout(
        features_TWNF=None, legal_TWNA=None, views_TWVG=None, action=None, log_prob_TWN=None, distribution=None,
        value_TWN=steps_of(zero if value is None else value),
        next_value_TWN=steps_of(zero if following is None else following), reward_TWN=steps_of(reward),
        over_TWN=steps_of(never if over is None else over, bool),
        ended_TWN=steps_of(never if ended is None else ended, bool),
        present_TWN=np.ones((*shape, 1), bool), acting_TWN=steps_of(~never if acting is None else acting, bool),
        start_TW=never, side_TWK=np.ones((*shape, 1), bool) if sides is None else np.asarray(sides, bool), memory=(),
    )  # type: ignore[arg-type]  # fmt: skip


def found(rollout: Rollout, ratio=None, **changes):
    config = PPOConfig(discount=Schedule.parse(0.5), decay=Schedule.parse(0.5), **changes)
    return estimate(rollout, KEY, Knobs(*knobs_at(config, 0.0)), config, ratio)


def numbers(array) -> list:
    return np.asarray(array)[..., 0].ravel().tolist()


def test_a_monte_carlo_target_is_the_discounted_return_whatever_the_decay():
    # Rewards 1, 2, 4, half counted a step: 4, 2 + 2, 1 + 1 + 1. The critic's 10 only bootstraps after the last step.
    rollout = rollout_of([[1.0], [2.0], [4.0]], value=[[10.0], [10.0], [10.0]], following=[[10.0], [10.0], [10.0]])
    plain = found(rollout, critic_target="monte_carlo")
    assert numbers(plain.target_TWN) == [1 + 1 + 1 + 10 / 8, 2 + 2 + 10 / 4, 4 + 10 / 2]
    leaning = found(rollout)
    assert numbers(leaning.target_TWN)[-1] == 9.0
    assert numbers(leaning.target_TWN) != numbers(plain.target_TWN)
    np.testing.assert_array_equal(plain.advantage_TWN, leaning.advantage_TWN)  # the actor's business is another


def test_what_follows_a_time_limit_is_a_value_or_nothing():
    # Cut after a reward of 1, with a final observation worth 10 that counts half.
    rollout = rollout_of([[1.0]], following=[[10.0]], ended=[[True]])
    assert numbers(found(rollout).target_TWN) == [6.0]
    assert numbers(found(rollout, time_limit="end").target_TWN) == [1.0]


def test_advantages_are_scaled_over_seats_that_act_and_the_numbers_used_are_told():
    # Games of one step: advantages are the rewards 1, 5 and, of a seat that does not act, 100.
    over = [[True, True, True]]
    rollout = rollout_of([[1.0, 5.0, 100.0]], over=over, ended=over, acting=[[True, True, False]])
    scaled = found(rollout)
    assert numbers(scaled.advantage_TWN)[:2] == [-1.0, 1.0]
    assert (scaled.mean, scaled.std, scaled.flat) == (3.0, 2.0, 0.0)
    plain = found(rollout, normalise_advantage="none")
    assert numbers(plain.advantage_TWN) == [1.0, 5.0, 100.0]
    assert (plain.mean, plain.std) == (3.0, 2.0)


def test_each_side_is_scaled_by_its_own_numbers():
    # Side 0 earns 1 and 3, side 1 earns 10 and 50: together the first would hardly count.
    over = [[True] * 4]
    sides = [[[1, 0], [1, 0], [0, 1], [0, 1]]]
    rollout = rollout_of([[1.0, 3.0, 10.0, 50.0]], over=over, ended=over, sides=sides)
    scaled = found(rollout, normalise_advantage="side")
    assert numbers(scaled.advantage_TWN) == [-1.0, 1.0, -1.0, 1.0]
    assert (scaled.mean, scaled.std, scaled.flat) == (16.0, 10.5, 0.0)
    still = found(rollout_of([[1.0, 3.0, 7.0, 7.0]], over=over, ended=over, sides=sides), normalise_advantage="side")
    assert numbers(still.advantage_TWN) == [-1.0, 1.0, 0.0, 0.0]
    assert still.flat == 0.5


def test_a_side_that_the_learner_never_drove_has_no_part_in_the_numbers():
    over = [[True, True]]
    scaled = found(
        rollout_of([[1.0, 3.0]], over=over, ended=over, sides=[[[0, 1], [0, 1]]]), normalise_advantage="side"
    )
    assert (scaled.mean, scaled.std, scaled.flat) == (2.0, 1.0, 0.0)


def test_equal_advantages_are_only_centred_and_counted():
    over = [[True, True]]
    scaled = found(rollout_of([[7.0, 7.0]], over=over, ended=over))
    assert numbers(scaled.advantage_TWN) == [0.0, 0.0]
    assert scaled.flat == 1.0


def test_noise_takes_its_share_of_the_scaled_advantages():
    over = np.ones((1, 4096), bool)
    rollout = rollout_of(np.tile([1.0, 5.0], 2048)[None], over=over, ended=over)
    clean = np.asarray(numbers(found(rollout).advantage_TWN))
    noisy = np.asarray(numbers(found(rollout, advantage_noise=Schedule.parse(0.25)).advantage_TWN))
    noise = (noisy - 0.75 * clean) / 0.25
    assert abs(noise.mean()) < 0.06
    assert noise.std() == pytest.approx(1.0, abs=0.05)
    assert abs(np.corrcoef(noise, clean)[0, 1]) < 0.06


def test_ratios_above_the_clip_count_as_the_clip():
    rollout = rollout_of([[1.0], [2.0]], value=[[0.5], [1.0]], following=[[1.0], [2.0]])
    high = found(rollout, jnp.asarray(steps_of([[1.0], [5.0]])), advantage="vtrace")
    capped = found(rollout, jnp.asarray(steps_of([[1.0], [1.0]])), advantage="vtrace")
    np.testing.assert_array_equal(high.target_TWN, capped.target_TWN)
    low = found(rollout, jnp.asarray(steps_of([[1.0], [0.5]])), advantage="vtrace")
    # The last step: 2 + 0.5 * 2 - 1 = 2 above the old value 1, of which half is believed.
    assert numbers(low.target_TWN)[1] == 2.0
    assert numbers(low.target_TWN)[0] == 0.5 + (1 + 0.5 * 1 - 0.5) + 0.25 * 0.5 * 2


def test_another_critic_is_asked_for_each_step_but_not_beyond_a_cut_or_the_last():
    # The game is cut after step 0, goes on after step 1 and the rollout ends after step 2.
    rollout = rollout_of(
        [[0.0], [0.0], [0.0]],
        value=[[1.0], [2.0], [3.0]],
        following=[[7.0], [3.0], [8.0]],
        ended=[[True], [False], [False]],
    )
    seen = with_values(rollout, jnp.asarray(steps_of([[10.0], [20.0], [30.0]])))
    assert numbers(seen.value_TWN) == [10.0, 20.0, 30.0]
    assert numbers(seen.next_value_TWN) == [7.0, 30.0, 8.0]
