import jax.numpy as jnp
import numpy as np
import pytest

from sparring.learn.returns import gae
from toy_players import quick

JITTED = quick(gae)
HALF = {"discount": 0.5, "decay": 0.5}
REWARD = [1.0, 2.0, 3.0]
VALUE = [0.5, 1.0, 2.0]
NEXT = [1.0, 2.0, 4.0]


def column(values, dtype=np.float32) -> np.ndarray:
    """One world's steps, [T, 1]."""
    return np.asarray(values, dtype)[:, None]


def advantages(run, *, next_value=NEXT, over=(0, 0, 0), ended=(0, 0, 0)) -> list[float]:
    inputs = (column(REWARD), column(VALUE), column(next_value), column(over, bool), column(ended, bool))
    return np.asarray(run(*inputs, **HALF))[:, 0].tolist()


@pytest.fixture(params=[gae, JITTED], ids=["plain", "jitted"])
def run(request):
    return request.param


def test_credit_flows_back_through_a_game_that_goes_on(run):
    # delta = reward + 0.5 next - value = 1, 2, 3; each step passes on a quarter: 3, 2 + 3/4, 1 + 2.75/4.
    assert advantages(run) == [1.6875, 2.75, 3.0]


def test_nothing_is_added_after_the_end_and_no_credit_crosses_it(run):
    # delta of the middle step is 2 + 0 - 1 = 1, and the 3 of the next game stays there: 3, 1, 1 + 1/4.
    assert advantages(run, over=(0, 1, 0), ended=(0, 1, 0)) == [1.25, 1.0, 3.0]


def test_a_cut_adds_the_value_of_the_final_observation_and_stops_credit(run):
    # The final observation is worth 10: delta = 2 + 0.5 * 10 - 1 = 6; 3, 6, 1 + 6/4.
    assert advantages(run, next_value=[1.0, 10.0, 4.0], ended=(0, 1, 0)) == [2.5, 6.0, 3.0]


def test_the_credit_of_a_seat_that_leaves_stops_while_another_goes_on(run):
    def both(values) -> np.ndarray:
        return np.stack([column(values)] * 2, axis=-1)

    over_TWN = np.zeros((3, 1, 2), bool)
    over_TWN[1, 0, 0] = True
    advantage_TWN = run(both(REWARD), both(VALUE), both(NEXT), over_TWN, over_TWN, **HALF)
    np.testing.assert_array_equal(advantage_TWN[:, 0, 0], [1.25, 1.0, 3.0])
    np.testing.assert_array_equal(advantage_TWN[:, 0, 1], [1.6875, 2.75, 3.0])


def by_definition(reward, value, next_value, over, ended, discount, decay) -> np.ndarray:
    """Equation 16 of arXiv:1506.02438, term by term: the sum of (discount decay)^k delta_{t+k} until the end."""
    delta = reward + discount * np.where(over, 0.0, next_value) - value
    advantage = np.zeros_like(delta)
    for t, w in np.ndindex(*delta.shape):
        for k in range(len(delta) - t):
            advantage[t, w] += (discount * decay) ** k * delta[t + k, w]
            if ended[t + k, w]:
                break
    return advantage


@pytest.mark.parametrize(("discount", "decay"), [(0.99, 0.95), (0.9, 0.0), (1.0, 1.0)])
def test_the_backward_pass_is_the_sum_of_the_definition(run, discount, decay):
    rng = np.random.default_rng(3)
    reward, value, next_value = rng.standard_normal((3, 21, 6))
    over = rng.random((21, 6)) < 0.1
    ended = over | (rng.random((21, 6)) < 0.1)
    inputs = (jnp.asarray(x) for x in (reward, value, next_value, over, ended))
    expected = by_definition(reward, value, next_value, over, ended, discount, decay)
    np.testing.assert_allclose(run(*inputs, discount=discount, decay=decay), expected, atol=1e-5)


def test_with_decay_1_advantage_and_value_add_up_to_the_discounted_rewards():
    # 1 + 0.5 * 2 + 0.25 * 3 + 0.125 * 4, and so on: rewards, then the value of what follows the last step. Values of
    # the steps between, 1 and 2, are added and taken away again.
    inputs = (column(REWARD), column(VALUE), column(NEXT), column([0] * 3, bool), column([0] * 3, bool))
    total = JITTED(*inputs, discount=0.5, decay=1.0)[:, 0] + np.asarray(VALUE)
    np.testing.assert_allclose(total, [3.25, 4.5, 5.0])


def test_weights_of_1_change_nothing_and_a_weight_holds_back_what_follows_its_step(run):
    # Weights 1, 1/2, 2: the middle step passes on half of its 2 + 3/4 * ... and the last twice its 3, but each step's
    # own advantage is not weighted: 3; 2 + 2 * 3 / 4 = 3.5; 1 + 0.5 * 3.5 / 4 = 1.4375.
    inputs = (column(REWARD), column(VALUE), column(NEXT), column((0, 0, 0), bool), column((0, 0, 0), bool))

    def weighted(*weights: float) -> list[float]:
        return np.asarray(run(*inputs, **HALF, weight_TW=column(weights)))[:, 0].tolist()

    assert weighted(1.0, 1.0, 1.0) == advantages(run)
    assert weighted(1.0, 0.5, 2.0) == [1.4375, 3.5, 3.0]


def test_v_trace_targets_are_the_expected_returns_of_the_new_policy():
    # One state, two actions that pay 0 and 1 and end the game. Play chose both half the time; the new policy takes the
    # second with 0.8, so ratios are 0.4 and 1.6, clipped at 1 to 0.4 and 1. The critic says 0.5. V-trace's target is
    # the mean of 0.5 + weight * (reward - 0.5): 0.5 + (0.4 * -0.5 + 1 * 0.5) / 2 = 0.65; unclipped it is the true 0.8.
    reward, over = np.array([[0.0, 1.0]], np.float32), np.ones((1, 2), bool)
    value = np.full((1, 2), 0.5, np.float32)
    for weight, expected in (((0.4, 1.0), 0.65), ((0.4, 1.6), 0.8)):
        weight = np.array([weight], np.float32)
        advantage = gae(reward, value, value, over, over, discount=0.9, decay=1.0, weight_TW=weight)
        np.testing.assert_allclose((value + weight * advantage).mean(), expected, rtol=1e-6)
