"""Hybrid and multi-discrete actions against the joint distribution written out, action by action."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from sparring.core.records import Action
from sparring.core.spec import ActionSpec
from sparring.nets.distributions import Distribution
from toy_players import quick

MAKE = jax.jit(Distribution.make, static_argnums=0)
LOG_PROB, ENTROPY, KL = quick(Distribution.log_prob), quick(Distribution.entropy), quick(Distribution.kl)
NONE = np.zeros(0, np.float32)

ORDERS = ActionSpec(heads=(3, 2, 4), counts=((False, False), (True, False), (True, True)))
"""Wait; turn with a direction; shoot with a direction and a target."""
THROW = ActionSpec(heads=(2,), low=(-1.0,), high=(1.0,), counts=((False,), (True,)))
"""Wait; throw with a force."""


def orders(logits_A, legal_A=(True,) * 9) -> Distribution:
    return MAKE(ORDERS, np.float32(logits_A), np.asarray(legal_A), NONE, NONE)


def throw(p_throw: float, mean: float, std: float) -> Distribution:
    logits_A = np.log(np.float32([1 - p_throw, p_throw]))
    return MAKE(THROW, logits_A, np.ones(2, bool), np.float32([mean]), np.log(np.float32([std])))


def effective(action: ActionSpec) -> np.ndarray:
    """Every action that differs from the others: arguments that do not count are 0."""
    rows = set()
    for choice in product(*(range(size) for size in action.heads)):
        counts = (True, *action.counts[choice[0]])
        rows.add(tuple(c if used else 0 for c, used in zip(choice, counts, strict=True)))
    return np.int32(sorted(rows))


def joint(distribution: Distribution) -> np.ndarray:
    """Probability of every effective action."""
    discrete = effective(distribution.action)
    return np.exp(np.asarray(LOG_PROB(distribution, Action(discrete, np.zeros((len(discrete), 0))))), dtype=float)


SOME = np.random.default_rng(0).standard_normal((2, 9))
NO_SHOT = (True, True, False, True, True, False, False, False, False)
NO_LEFT = (True, True, True, False, True, True, False, True, False)


def test_there_are_eleven_effective_orders():
    assert len(effective(ORDERS)) == 1 + 2 + 2 * 4


def test_an_order_has_the_probability_of_its_kind_and_of_the_arguments_that_count():
    logits_A = np.log([0.5, 0.3, 0.2, 0.9, 0.1, 0.25, 0.25, 0.4, 0.1])
    actions = Action(np.int32([[0, 1, 2], [1, 1, 2], [2, 1, 2]]), np.zeros((3, 0)))
    np.testing.assert_allclose(
        np.exp(LOG_PROB(orders(logits_A), actions)), [0.5, 0.3 * 0.1, 0.2 * 0.1 * 0.4], rtol=1e-5
    )


@pytest.mark.parametrize("legal", [(True,) * 9, NO_SHOT, NO_LEFT])
def test_the_probabilities_of_all_orders_sum_to_1_and_give_the_entropy(legal):
    distribution = orders(SOME[0], legal)
    p = joint(distribution)
    assert p.sum() == pytest.approx(1.0, abs=1e-5)
    assert ENTROPY(distribution).item() == pytest.approx(stats.entropy(p), abs=1e-5)


@pytest.mark.parametrize("legal", [(True,) * 9, NO_SHOT, NO_LEFT])
def test_the_kl_of_two_ways_to_order_is_that_of_their_joint_distributions(legal):
    old, new = orders(SOME[0], legal), orders(SOME[1], legal)
    p, q = joint(old), joint(new)
    assert KL(old, new).item() == pytest.approx(stats.entropy(p[p > 0], q[p > 0]), abs=1e-5)


def test_a_force_counts_only_in_a_throw():
    thrown = Action(np.int32([[0], [1]]), np.float32([[9.0], [0.8]]))
    by_hand = [np.log(0.75), np.log(0.25) + stats.norm.logpdf(0.8, 0.3, 0.5)]
    np.testing.assert_allclose(LOG_PROB(throw(0.25, 0.3, 0.5), thrown), by_hand, atol=1e-6)


def test_the_entropy_of_the_force_counts_as_often_as_it_is_thrown():
    by_hand = stats.entropy([0.75, 0.25]) + 0.25 * stats.norm.entropy(0.3, 0.5)
    assert ENTROPY(throw(0.25, 0.3, 0.5)).item() == pytest.approx(by_hand, abs=1e-6)


def test_the_kl_of_two_throwers_is_the_integral_over_what_they_do():
    old, new = stats.norm(0.3, 0.5), stats.norm(-0.2, 0.9)

    def integrand(x: float) -> float:
        return 0.25 * old.pdf(x) * (np.log(0.25 / 0.6) + old.logpdf(x) - new.logpdf(x))

    by_hand = 0.75 * np.log(0.75 / 0.4) + quad(integrand, -6, 6)[0]
    assert KL(throw(0.25, 0.3, 0.5), throw(0.6, -0.2, 0.9)).item() == pytest.approx(by_hand, abs=1e-5)


def test_no_gradient_reaches_an_argument_that_did_not_count():
    def slope(kind: int):
        action = Action(np.int32([kind, 1, 3]), NONE)
        return np.asarray(quick(jax.grad(lambda x: orders_of(x).log_prob(action)))(np.float32(SOME[0])))

    def orders_of(logits_A):
        return Distribution.make(ORDERS, logits_A, np.ones(9, bool), NONE, NONE)

    np.testing.assert_array_equal(slope(0)[3:], np.zeros(6))
    assert (slope(1)[3:5] != 0).all() and not slope(1)[5:].any()
    assert (slope(2) != 0).all()


def test_switches_are_independent_coins():
    # MultiBinary: heads of 2, whose logits 0 and x give 1 with probability sigmoid(x).
    action = ActionSpec(heads=(2, 2, 2))
    x, y = np.array([-1.0, 0.5, 2.0]), np.array([0.3, 0.0, -1.5])
    old, new = (MAKE(action, np.float32([0, z[0], 0, z[1], 0, z[2]]), np.ones(6, bool), NONE, NONE) for z in (x, y))
    p, q, on = 1 / (1 + np.exp(-x)), 1 / (1 + np.exp(-y)), np.array([1, 0, 1])
    log_prob = (on * np.log(p) + (1 - on) * np.log(1 - p)).sum()
    entropy = -(p * np.log(p) + (1 - p) * np.log(1 - p)).sum()
    kl = (p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))).sum()
    assert LOG_PROB(old, Action(np.int32(on), NONE)).item() == pytest.approx(log_prob, abs=1e-6)
    assert ENTROPY(old).item() == pytest.approx(entropy, abs=1e-6)
    assert KL(old, new).item() == pytest.approx(kl, abs=1e-6)


def test_every_head_of_several_keeps_to_its_own_mask():
    action = ActionSpec(heads=(3, 2))
    legal_A = np.array([True, False, True, False, True])
    old, new = (MAKE(action, np.log(np.float32(w)), legal_A, NONE, NONE) for w in ([1, 9, 3, 9, 2], [1, 5, 1, 7, 4]))
    np.testing.assert_allclose(np.exp(old.log_p_A), [0.25, 0, 0.75, 0, 1], atol=1e-6)
    assert ENTROPY(old).item() == pytest.approx(stats.entropy([0.25, 0.75]), abs=1e-6)
    assert KL(old, new).item() == pytest.approx(stats.entropy([0.25, 0.75], [0.5, 0.5]), abs=1e-6)


PLAIN = ActionSpec(heads=(3, 2), low=(-1.0, -1.0), high=(1.0, 1.0))


def test_the_kl_of_equal_distributions_is_0_to_the_bit_and_of_others_above():
    rng = np.random.default_rng(3)
    legal_RA = rng.random((200, 5)) < 0.7
    old, new = (
        MAKE(
            PLAIN,
            np.float32(3 * rng.standard_normal((200, 5))),
            legal_RA,
            *np.float32(rng.standard_normal((2, 200, 2))),
        )
        for _ in range(2)
    )
    np.testing.assert_array_equal(KL(old, old), np.zeros(200))
    assert (np.asarray(KL(old, new)) > 0).all()


def test_a_kl_of_normals_by_hand():
    # log(2/1) + (1 + 3**2) / (2 * 4) - 1/2 for N(0, 1) and N(3, 2).
    action = ActionSpec(low=(-1.0,), high=(1.0,))
    old, new = (
        MAKE(action, NONE, NONE.astype(bool), np.float32([mean]), np.log(np.float32([std])))
        for mean, std in ((0, 1), (3, 2))
    )
    assert KL(old, new).item() == pytest.approx(np.log(2) + 10 / 8 - 0.5, abs=1e-6)


@pytest.mark.parametrize("counts", [(), ((False, True, False), (True, True, True), (True, False, False))])
def test_no_mask_makes_a_value_or_a_gradient_infinite(counts):
    action = ActionSpec(heads=PLAIN.heads, low=PLAIN.low, high=PLAIN.high, counts=counts)
    masks_RA = np.array(list(product([False, True], repeat=5)))  # all 32, those without a legal entry too
    chosen = Action(np.zeros((32, 2), np.int32), np.zeros((32, 2), np.float32))

    def everything(logits_RA, mean_RC, log_std_RC):
        old = Distribution.make(action, logits_RA, masks_RA, mean_RC, log_std_RC)
        new = Distribution.make(action, -2 * logits_RA, masks_RA, -mean_RC, log_std_RC - 1)
        explored = old.tempered(jnp.float32(0.5)).mixed(jnp.float32(0.0))
        parts_R = old.entropy() + old.kl(new) + new.kl(old) + explored.entropy() + explored.kl(old)
        return (parts_R + old.from_uniform() + old.log_prob(chosen) + explored.log_prob(chosen)).sum()

    slope = quick(jax.value_and_grad(everything, argnums=(0, 1, 2)))
    for size in (1.0, 300.0):
        logits = np.float32(size * np.random.default_rng(0).standard_normal((32, 5)))
        for leaf in jax.tree.leaves(
            slope(logits, np.float32(logits[:, :2] / size), np.full((32, 2), -1.0, np.float32))
        ):
            assert np.isfinite(leaf).all()


def test_the_distance_from_uniform_kinds_and_arguments_is_that_of_the_joint_distributions():
    even, found = orders(np.zeros(9), NO_LEFT), orders(SOME[0], NO_LEFT)
    p, q = joint(even), joint(found)
    wanted = stats.entropy(p[p > 0], q[p > 0])
    assert quick(Distribution.from_uniform)(found).item() == pytest.approx(wanted, abs=1e-5)


def test_no_mean_and_no_deviation_is_far_from_uniform_choices():
    def distance(mean_C, log_std_C):
        return Distribution.make(THROW, jnp.zeros(2), jnp.ones(2, bool), mean_C, log_std_C).from_uniform()

    distance, slopes = quick(jax.value_and_grad(distance, argnums=(0, 1)))(np.float32([0.3]), np.float32([0.7]))
    assert distance.item() == pytest.approx(0.0, abs=1e-6)
    assert not any(slope.any() for slope in slopes)
