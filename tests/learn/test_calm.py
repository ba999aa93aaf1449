"""The rule that lowers the critic's step size, on traces made by hand. The deviation of targets is 1 unless said."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.learn.calm import REST, Calm, factor, observed, start
from toy_players import quick

OBSERVED = quick(observed)
NAN, INF = float("nan"), float("inf")
USUAL = [0.5] * 10
"""Losses of the warm-up; then 5 is the limit."""
SWING = [0.3, -0.3, 0.3, -0.3]


def levels(losses, biases=None, *, std: float = 1.0) -> list[int]:
    """The level after each iteration."""
    calm, found = start(), []
    for loss, bias in zip(losses, biases or [0.0] * len(losses), strict=True):
        calm = OBSERVED(calm, jnp.float32(loss), jnp.float32(0.0), jnp.float32(bias), jnp.float32(std))
        found.append(calm.level.item())
    return found


def after(losses) -> Calm:
    calm = start()
    for loss in losses:
        calm = OBSERVED(calm, jnp.float32(loss), jnp.float32(0.0), jnp.float32(0.0), jnp.float32(1.0))
    return calm


@pytest.mark.parametrize(
    ("losses", "biases"),
    [
        ([0.5, 0.7, 0.4] * 10, [0.1, -0.2, 0.0] * 10),  # as it should be
        ([9.0] * 3 + [0.5] * 27, [3.0] * 3 + [0.2] * 27),  # an untrained critic
        ([0.5 * 1.1**i for i in range(60)], [0.2] * 60),  # slow growth, to 138
        ([0.5 * 1.5**i for i in range(30)], [0.2] * 30),  # not so slow: always 6 of the mean before, at most
        ([*USUAL, 4.9], [0.0] * 11),  # below the limit
        ([0.01, 5.0, 0.01], [0.0] * 3),  # before the mean is trusted
        (USUAL * 2, [0.3, 0.3, -0.3, -0.3] * 5),  # large, but the signs do not alternate
        (USUAL * 2, [0.2, -0.2] * 10),  # alternate, but small
        (USUAL * 2, [0.3, -0.3, 0.3, 0.0] * 5),  # alternate, but only three in a row
        (USUAL * 2, [0.3, -0.3, NAN, -0.3, 0.3] * 4),  # and what is no number ends a row
        (USUAL * 2, [0.3, -0.3, INF, -INF, 0.3] * 4),
    ],
)
def test_a_calm_critic_is_let_alone(losses, biases):
    assert set(levels(losses, biases)) == {0}


def test_a_loss_of_ten_times_its_mean_lowers_the_step_size_once():
    assert levels([*USUAL, 5.1, *USUAL]) == [0] * 10 + [1] * 11


@pytest.mark.parametrize("loss", [NAN, INF, -INF])
@pytest.mark.parametrize("before", [0, 3, 12])
def test_a_loss_that_is_no_number_is_an_explosion_at_any_time(loss, before):
    assert levels([0.5] * before + [loss]) == [0] * before + [1]


def test_four_large_biases_of_alternating_sign_lower_the_step_size():
    assert levels([0.5] * 8, [0.0, 0.3, *SWING, 0.0, 0.0]) == [0, 0, 0, 0, 0, 1, 1, 1]


def test_a_bias_counts_in_deviations_of_the_targets():
    large = [0.6, -0.6] * 2
    assert levels([1.0] * 4, large, std=2.0)[-1] == 1
    assert levels([1.0] * 4, large, std=3.0)[-1] == 0


def test_after_it_has_acted_the_rule_rests():
    # It acts at the first NaN, then not for REST iterations, then at once.
    assert levels([NAN] * (REST + 2)) == [1] * (REST + 1) + [2]


def test_an_oscillation_that_outlasts_the_rest_is_answered_again():
    trace = levels([0.5] * (REST + 6), [0.3, -0.3] * (REST // 2 + 3))
    assert trace == [0] * 3 + [1] * (REST + 1) + [2] * 2


def test_the_third_explosion_changes_nothing():
    trace = levels([NAN] * (3 * REST + 5))
    assert trace[REST + 1 :] == [2] * (2 * REST + 4)


def test_the_step_size_goes_from_1_to_a_half_to_three_tenths_and_never_back():
    values = [factor(start()._replace(level=jnp.int32(level))).item() for level in range(3)]
    np.testing.assert_allclose(values, [1.0, 0.5, 0.3], rtol=1e-6)
    assert levels([*USUAL, 50.0, *[0.01] * 100])[-1] == 1


def test_the_mean_is_plain_at_first_and_then_forgets_a_tenth():
    assert after([1.0, 2.0, 6.0]).mean_loss.item() == pytest.approx(3.0)
    # Ten losses of 1, then one of 3: 0.9 + 0.3. The eleventh weighs a tenth, not an eleventh.
    assert after([1.0] * 10 + [3.0]).mean_loss.item() == pytest.approx(1.2)


def test_an_explosion_counts_in_the_mean_as_the_limit_and_what_is_no_number_not_at_all():
    assert after([1.0] * 10 + [1e30]).mean_loss.item() == pytest.approx(0.9 + 0.1 * 10)
    calm = after([1.0, NAN, 3.0, INF])
    assert (calm.mean_loss.item(), calm.losses.item()) == (pytest.approx(2.0), 2)


def test_a_second_explosion_is_seen_behind_the_first():
    # The first counts as 5: the mean falls back from 0.95 towards 0.5 while the rule rests.
    assert levels([*USUAL, 500.0, *[0.5] * REST, 500.0])[-1] == 2


def test_a_new_level_of_loss_becomes_the_usual_one_while_the_rule_rests():
    assert levels([*USUAL, *[50.0] * 100])[-1] == 1


def test_the_first_reward_of_a_game_is_no_explosion():
    # From almost nothing to the loss of a critic that guesses the mean, half the variance; but not to more than twice.
    assert levels([1e-8] * 12 + [0.6], std=1.0)[-1] == 0
    assert levels([1e-8] * 12 + [1.1], std=1.0)[-1] == 1


def test_a_critic_that_was_exactly_right_may_be_wrong_once():
    assert levels([0.0] * 12 + [3.0])[-1] == 0


@pytest.mark.parametrize("std", [0.0, 1e-9])
def test_where_targets_do_not_differ_rounding_is_no_oscillation(std):
    assert set(levels([1e-9] * 12, [1e-8, -1e-8] * 6, std=std)) == {0}


def test_the_state_keeps_its_types_and_can_be_stacked():
    stacked = jax.tree.map(lambda x: jnp.stack([x, x]), start())
    one = jnp.ones(2)
    moved = jax.eval_shape(jax.vmap(observed), stacked, one, one, one, one)
    assert [(x.shape, x.dtype) for x in moved] == [(x.shape, x.dtype) for x in stacked]
    assert all(isinstance(x, jax.Array) for x in start())
