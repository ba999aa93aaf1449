from itertools import product

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.records import Action
from sparring.core.spec import ActionSpec
from sparring.nets.distributions import Distribution
from sparring.nets.exploring import Exploring
from toy_players import quick

MAKE = jax.jit(Distribution.make, static_argnums=0)
LOG_PROB, TEMPERED, MIXED = quick(Distribution.log_prob), quick(Distribution.tempered), quick(Distribution.mixed)
NONE = np.zeros(0, np.float32)
FOUR = ActionSpec(heads=(4,))
MANY = ActionSpec(heads=(3, 2), low=(-1.0,), high=(1.0,))
LEGAL = np.array([True, True, False, True])


def four(*weights: float) -> Distribution:
    """One head of four entries of which the third is illegal."""
    return MAKE(FOUR, np.log(np.float32(weights)), LEGAL, NONE, NONE)


def p(distribution: Distribution) -> np.ndarray:
    return np.exp(np.asarray(distribution.log_p_A))


@pytest.mark.parametrize(
    ("temperature", "weights"),
    [(2.0, [2**0.5, 1, 0, 1]), (0.5, [4, 1, 0, 1]), (1.0, [2, 1, 0, 1]), (1e9, [1, 1, 0, 1]), (0.01, [1, 0, 0, 0])],
)
def test_a_temperature_raises_probabilities_to_its_inverse_power(temperature, weights):
    tempered = p(TEMPERED(four(2, 1, 7, 1), temperature))
    np.testing.assert_allclose(tempered, np.array(weights) / sum(weights), atol=1e-6)
    assert tempered[2] == 0.0


def test_a_temperature_raises_a_density_to_its_inverse_power():
    action = ActionSpec(low=(-1.0,), high=(1.0,))
    plain = MAKE(action, np.zeros((2, 0)), np.ones((2, 0), bool), np.full((2, 1), 0.4, np.float32), np.float32([-1.0]))
    tempered = TEMPERED(plain, 4.0)
    np.testing.assert_allclose(np.exp(tempered.log_std_C), 2 * np.exp(plain.log_std_C), rtol=1e-6)
    points = Action(np.zeros((2, 0), np.int32), np.float32([[0.1], [1.3]]))
    gap, gap_tempered = (np.diff(LOG_PROB(d, points)) for d in (plain, tempered))
    np.testing.assert_allclose(gap_tempered, gap / 4, rtol=1e-5)


def test_a_share_of_the_choices_becomes_uniform_over_what_is_legal():
    # 0.7 * (1/2, 1/4, 0, 1/4) + 0.3 * (1/3, 1/3, 0, 1/3)
    mixed = p(MIXED(four(2, 1, 7, 1), 0.3))
    np.testing.assert_allclose(mixed, [0.45, 0.275, 0.0, 0.275], atol=1e-6)
    assert mixed[2] == 0.0


def test_a_share_of_0_changes_no_possible_entry_by_a_bit():
    plain = four(2, 1e-30, 7, 1)
    np.testing.assert_array_equal(MIXED(plain, 0.0).log_p_A[LEGAL], plain.log_p_A[LEGAL])


def test_exploration_leaves_what_it_does_not_name_alone():
    plain = MAKE(MANY, np.zeros(5), np.ones(5, bool), np.float32([0.3]), np.float32([-1.0]))
    np.testing.assert_array_equal(MIXED(plain, 0.3).log_std_C, plain.log_std_C)
    np.testing.assert_array_equal(MIXED(plain, 0.3).mean_C, plain.mean_C)
    np.testing.assert_array_equal(TEMPERED(plain, 3.0).mean_C, plain.mean_C)


@pytest.mark.parametrize("legal", [(True,) * 5, (True, False, True, False, True), (False, False, False, True, True)])
def test_the_probabilities_of_all_joint_choices_still_sum_to_1(legal):
    action = ActionSpec(heads=(3, 2))
    choices = np.int32(list(product(range(3), range(2))))
    logits_A = np.float32([0.3, -2.0, 1.0, 0.0, 4.0])
    explored = MIXED(TEMPERED(MAKE(action, logits_A, np.array(legal), NONE, NONE), 1.7), 0.2)
    total = np.exp(LOG_PROB(explored, Action(choices, np.zeros((6, 0))))).sum()
    assert total == pytest.approx(1.0, abs=1e-5)


class Fixed(eqx.Module):
    """A policy that counts its moves and always holds the same distribution."""

    logits_A: jax.Array

    def initial(self, *batch: int) -> jax.Array:
        return jnp.zeros(batch)

    def __call__(self, features_NF, legal_NA, memory):
        logits_NA = jnp.broadcast_to(self.logits_A, legal_NA.shape)
        return Distribution.make(FOUR, logits_NA, legal_NA, features_NF[..., :0], jnp.zeros(0)), memory + 1


POLICY = Fixed(jnp.log(jnp.array([2.0, 1.0, 7.0, 1.0])))
SEEN = (jnp.zeros((2, 3)), jnp.broadcast_to(LEGAL, (2, 4)))


def test_an_explorer_tempers_first_and_mixes_then():
    # Squared (4, 1, 0, 1) / 6, then 0.4 * that + 0.6 / 3; the other way round the first would be far larger.
    explorer = Exploring(POLICY, jnp.float32(0.5), jnp.float32(0.6))
    distribution, memory = quick(Exploring.__call__)(explorer, *SEEN, explorer.initial(2))
    np.testing.assert_allclose(p(distribution), [np.array([4, 1, 0, 1]) / 6 * 0.4 + LEGAL * 0.2] * 2, atol=1e-6)
    np.testing.assert_array_equal(memory, [1.0, 1.0])


def test_an_explorer_without_settings_is_its_policy_to_the_letter_of_the_program():
    def program(policy) -> str:
        return jax.jit(lambda policy, memory: policy(*SEEN, memory)[0].log_p_A).lower(policy, jnp.zeros(2)).as_text()

    plain = jax.jit(lambda policy, memory: policy(*SEEN, memory)[0].log_p_A)
    assert program(Exploring(POLICY, None, None)) == plain.lower(POLICY, jnp.zeros(2)).as_text()
    assert program(Exploring(POLICY, jnp.float32(1.0), None)) != program(Exploring(POLICY, None, None))


def test_explorers_stack_like_other_policies():
    stacked = Exploring(POLICY, None, jnp.array([0.0, 0.3]))
    axes = Exploring(None, None, 0)
    distribution, _ = jax.vmap(lambda policy: policy(*SEEN, jnp.zeros(2)), in_axes=(axes,))(stacked)
    np.testing.assert_allclose(p(distribution)[:, 0], [[0.5, 0.25, 0, 0.25], [0.45, 0.275, 0, 0.275]], atol=1e-6)
