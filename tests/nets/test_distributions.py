import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from sparring.core.records import Action
from sparring.core.spec import ActionSpec
from sparring.nets.distributions import Distribution, inverse_cdf
from toy_players import quick

ALMOST_ONE = np.float32(1 - 2**-23)
"""The largest number `jax.random.uniform` gives."""
NONE = np.zeros(0)
MAKE = jax.jit(Distribution.make, static_argnums=0)
LOG_PROB, ENTROPY, SAMPLE = quick(Distribution.log_prob), quick(Distribution.entropy), quick(Distribution.sample)
HYBRID = ActionSpec(heads=(3, 2), low=(-1.0, -2.0), high=(1.0, 2.0))


def discrete(logits_A, legal_A) -> Distribution:
    """One head, no continuous dimension."""
    logits_A, legal_A = jnp.asarray(logits_A, jnp.float32), np.asarray(legal_A)
    return MAKE(ActionSpec(heads=legal_A.shape[-1:]), logits_A, legal_A, np.zeros((*legal_A.shape[:-1], 0)), NONE)


def chosen(*entries: int) -> Action:
    return Action(np.int32(entries)[:, None], np.zeros((len(entries), 0)))


def hybrid() -> Distribution:
    """Heads with probabilities (1/2, 1/4, 1/4) and (0, 1), normals around (0.3, -1) with deviations (0.5, 3)."""
    logits_A = np.log(np.float32([2.0, 1.0, 1.0, 5.0, 7.0]))
    legal_A = np.array([True, True, True, False, True])
    return MAKE(HYBRID, logits_A, legal_A, np.float32([0.3, -1.0]), np.log(np.float32([0.5, 3.0])))


def test_illegal_entries_have_probability_exactly_0_and_the_others_share_1():
    distribution = discrete([[5.0, 1.0, 1.0], [-80.0, 0.0, 80.0]], [[False, True, True], [True, True, False]])
    p = np.exp(np.asarray(distribution.log_p_A))
    assert p[0, 0] == 0.0
    assert p[1, 2] == 0.0
    np.testing.assert_allclose(p, [[0.0, 0.5, 0.5], [0.0, 1.0, 0.0]], atol=1e-6)


@pytest.mark.parametrize("logit", [-50.0, 0.0, 3.7, 80.0])
def test_a_single_legal_entry_is_certain_to_the_last_bit(logit):
    distribution = discrete([[logit, 9.0, -9.0]], [[True, False, False]])
    assert LOG_PROB(distribution, chosen(0)).item() == 0.0
    assert ENTROPY(distribution).item() == 0.0
    assert distribution.mode().discrete_SD.item() == 0
    assert SAMPLE(distribution, np.full((1, 1), ALMOST_ONE), np.zeros((1, 0))).discrete_SD.item() == 0


def test_samples_come_as_often_as_their_probabilities_say():
    # 1000 evenly spaced numbers hit an interval of length p 1000 p times, give or take one.
    p_A = np.array([0.2, 0.0, 0.5, 0.3])
    uniform = (np.arange(1000) + 0.5) / 1000
    rows = discrete(np.log(p_A + 1e-30), p_A > 0)
    drawn = SAMPLE(rows, np.float32(uniform)[:, None], np.zeros((1000, 0))).discrete_SD
    np.testing.assert_allclose(np.bincount(np.asarray(drawn).ravel(), minlength=4), 1000 * p_A, atol=1)


@pytest.mark.parametrize("uniform", [0.0, 0.5, ALMOST_ONE])
def test_no_random_number_chooses_an_illegal_entry(uniform):
    rng = np.random.default_rng(0)
    legal_RA = rng.random((4000, 7)) < 0.4
    legal_RA[np.arange(4000), rng.integers(0, 7, 4000)] = True
    distribution = discrete(3 * rng.standard_normal((4000, 7)), legal_RA)
    drawn_R = np.asarray(
        SAMPLE(distribution, np.full((4000, 1), uniform, np.float32), np.zeros((4000, 0))).discrete_SD
    )[:, 0]
    assert legal_RA[np.arange(4000), drawn_R].all()


def test_a_threshold_on_the_border_goes_to_the_next_possible_entry():
    # Cumulative (1/2, 1/2, 1): the number 1/2 belongs to the last entry, since the middle one has no room.
    p_RA, uniform_R = np.float32([[0.5, 0.0, 0.5]] * 4), np.float32([0.0, 0.49, 0.5, 0.99])
    np.testing.assert_array_equal(quick(inverse_cdf)(p_RA, uniform_R), [0, 0, 2, 2])


def test_probabilities_are_added_up_in_full_precision():
    # By default a GPU multiplies in TF32, which rounds 0.3333 to 0.3335.
    text = jax.jit(inverse_cdf).lower(np.float32([[0.25, 0.75]]), np.float32([0.5])).as_text()
    (product,) = (line for line in text.splitlines() if "dot_general" in line)
    assert product.count("HIGHEST") == 2


def test_the_log_probability_of_an_action_is_the_sum_over_heads_and_dimensions():
    action = Action(np.array([1, 1]), np.float32([0.8, -3.0]))
    by_hand = np.log(0.25) + np.log(1.0) + stats.norm.logpdf([0.8, -3.0], [0.3, -1.0], [0.5, 3.0]).sum()
    assert LOG_PROB(hybrid(), action).item() == pytest.approx(by_hand, abs=1e-6)


def test_the_entropy_is_the_sum_over_heads_and_dimensions():
    # (1/2, 1/4, 1/4): log(2)/2 + 2 log(4)/4 = 1.5 log 2; the certain head adds nothing.
    by_hand = 1.5 * np.log(2) + stats.norm.entropy([0.3, -1.0], [0.5, 3.0]).sum()
    assert ENTROPY(hybrid()).item() == pytest.approx(by_hand, abs=1e-6)


def test_the_kl_is_the_sum_over_heads_and_dimensions_and_weighs_by_the_first():
    old = hybrid()
    new = MAKE(HYBRID, np.zeros(5), np.array([True, True, True, False, True]), np.float32([0.8, -1.0]), np.zeros(2))
    # (1/2, 1/4, 1/4) from thirds: log 3 - 1.5 log 2. Normals: log of the ratio of deviations + (s^2 + shift^2 - 1) / 2.
    by_hand = np.log(3) - 1.5 * np.log(2) - np.log(0.5) - np.log(3) + 0.5 * (0.25 + 0.25 - 1 + 9 - 1)
    assert quick(Distribution.kl)(old, new).item() == pytest.approx(by_hand, abs=1e-6)
    assert quick(Distribution.kl)(old, old).item() == 0.0


def test_continuous_samples_are_the_mean_plus_deviations():
    sample = SAMPLE(hybrid(), np.float32([0.0, 0.0]), np.float32([2.0, -1.0]))
    np.testing.assert_allclose(sample.continuous_SC, [0.3 + 0.5 * 2.0, -1.0 - 3.0], rtol=1e-6)
    np.testing.assert_array_equal(sample.discrete_SD, [0, 1])


def test_the_mode_is_the_likeliest_legal_choice_and_the_mean():
    mode = hybrid().mode()
    np.testing.assert_array_equal(mode.discrete_SD, [0, 1])
    np.testing.assert_allclose(mode.continuous_SC, [0.3, -1.0], rtol=1e-6)
    masked = discrete([[9.0, 1.0, 2.0]], [[False, True, True]])
    assert masked.mode().discrete_SD.item() == 2


def test_an_action_without_heads_is_only_continuous():
    action = ActionSpec(low=(-1.0,), high=(1.0,))
    distribution = MAKE(action, np.zeros((4, 0)), np.ones((4, 0), bool), np.zeros((4, 1)), np.zeros(1))
    sample = SAMPLE(distribution, np.zeros((4, 0)), np.ones((4, 1)))
    assert sample.discrete_SD.shape == (4, 0)
    np.testing.assert_allclose(LOG_PROB(distribution, sample), np.full(4, stats.norm.logpdf(1.0)), rtol=1e-6)
    np.testing.assert_allclose(ENTROPY(distribution), np.full(4, stats.norm.entropy()), rtol=1e-6)


def test_gradients_pass_legal_logits_only_and_are_those_of_a_softmax():
    legal_A = [[True, False, True, True]]
    logits_A = np.log(np.float32([[1.0, 7.0, 2.0, 1.0]]))
    grad = quick(jax.grad(lambda x: discrete(x, legal_A).log_prob(chosen(2)).sum()))(logits_A)
    # One-hot of the choice minus the probabilities (1/4, 0, 1/2, 1/4).
    np.testing.assert_allclose(grad, [[-0.25, 0.0, 0.5, -0.25]], atol=1e-6)
    assert grad[0, 1] == 0.0


@pytest.mark.parametrize("legal", [[True, False, False], [True, True, False], [True, True, True]])
def test_gradients_of_log_probability_and_entropy_are_finite_under_every_mask(legal):
    def total(logits_A):
        distribution = discrete(logits_A, [legal])
        return (distribution.log_prob(chosen(0)) + distribution.entropy()).sum()

    slope = quick(jax.grad(total))
    for logits in ([[0.0, 0.0, 0.0]], [[300.0, -300.0, 0.0]]):
        assert np.isfinite(slope(np.float32(logits))).all()


def test_the_distance_from_uniform_choices_is_by_hand_and_its_slope_does_not_fade():
    # (1/2, 1/4, 1/4) from thirds: log of 1/3 less the mean logarithm; an illegal entry and a single one add nothing.
    by_hand = -np.log(3) - (np.log(1 / 2) + 2 * np.log(1 / 4)) / 3
    assert quick(Distribution.from_uniform)(hybrid()).item() == pytest.approx(by_hand, abs=1e-6)
    legal_A, dying_A = [[True, True, True, False]], np.float32([[0.0, 0.0, -60.0, 9.0]])
    slope = quick(jax.grad(lambda x: discrete(x, legal_A).from_uniform().sum()))
    np.testing.assert_allclose(slope(dying_A), [[1 / 2 - 1 / 3, 1 / 2 - 1 / 3, -1 / 3, 0.0]], atol=1e-6)
