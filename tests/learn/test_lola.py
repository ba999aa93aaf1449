"""LOLA in matrix games: what policies earn and which way they climb, by hand, and where two learners end."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.learn.lola import Rates, earned_S, far_slope_SQA, learned, slope_SQA
from toy_players import quick

OWN = np.array([[-1.0, -3.0], [0.0, -2.0]])
DILEMMA = np.stack([OWN, OWN.T]).astype(np.float32)
PENNIES = np.array([[[1.0, -1.0], [-1.0, 1.0]], [[-1.0, 1.0], [1.0, -1.0]]], np.float32)
COOPERATES, DEFECTS = [40.0, 0.0], [0.0, 40.0]
"""Logits that leave no doubt."""
BOTH_DEFECT, FIRST_COPIES, SECOND_COPIES = (
    [DEFECTS] * 5,
    [COOPERATES, COOPERATES, DEFECTS, COOPERATES, DEFECTS],
    [COOPERATES, COOPERATES, COOPERATES, DEFECTS, DEFECTS],
)
"""By what was seen last: nothing, then who did what, seat 0 first."""


@pytest.mark.parametrize(
    ("policies", "expected"),
    [
        ((BOTH_DEFECT, BOTH_DEFECT), [-2.0, -2.0]),
        ((FIRST_COPIES, SECOND_COPIES), [-1.0, -1.0]),
        ((FIRST_COPIES, BOTH_DEFECT), [0.04 * -3 + 0.96 * -2, 0.96 * -2]),
        ((BOTH_DEFECT, SECOND_COPIES), [0.96 * -2, 0.04 * -3 + 0.96 * -2]),
    ],
)
def test_what_defectors_and_tit_for_tat_earn_a_step(policies, expected):
    found = quick(earned_S)(np.array(policies, np.float32), DILEMMA, 0.96)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_the_gradient_goes_through_the_step_of_the_other():
    """Matching pennies, once. Heads with p = 3/4 and q = 1/2, told by x = log 3 and y = 0. Seat 0 earns
    (2p - 1)(2q - 1), which is flat in x here; seat 1 falls in y by (2p - 1) 2q (1 - q) = 1/4. A step of 1 in both its
    logits takes y to -1/2 and q to 0.3775, and dy/dx is -2 x 2p (1 - p) 2q (1 - q) = -3/8. So seat 0 rises in x by
    2p (1 - p)(2q' - 1) + (2p - 1) 2q' (1 - q') dy/dx = -0.0918 - 0.0881."""
    logits = np.zeros((2, 5, 2), np.float32)
    logits[0, 0] = [np.log(3), 0]
    plain = quick(slope_SQA)(logits, PENNIES, 0.0)
    np.testing.assert_allclose(plain[:, 0], [[0, 0], [-0.25, 0.25]], atol=1e-6)
    far = quick(far_slope_SQA)(logits, PENNIES, 0.0, 1.0)
    np.testing.assert_allclose(far[0, 0], [-0.17997, 0.17997], atol=1e-4)
    assert not np.any(far[:, 1:]), "what is never seen again moves nothing"
    np.testing.assert_allclose(quick(far_slope_SQA)(logits, PENNIES, 0.0, 0.0), plain, atol=1e-6)


def begun(count: int) -> jax.Array:
    return jax.random.normal(jax.random.key(0), (count, 2, 5, 2)) / np.sqrt(2)


def test_in_the_iterated_dilemma_plain_learners_defect_and_those_who_foresee_answer_in_kind():
    """Foerster et al. 2018, table 3: -1.98 a step for plain learners, -1.06 for LOLA."""
    earned = quick(jax.vmap(lambda one: earned_S(one, jnp.asarray(DILEMMA), 0.96)))
    plain, lola = (learned(begun(20), DILEMMA, 0.96, Rates(5.0, foreseen), steps=1000) for foreseen in (0.0, 5.0))
    assert float(earned(plain).max()) < -1.95
    assert float(earned(lola).mean()) > -1.35
    p_Q = np.median(jax.nn.softmax(lola)[:, 0, :, 0], axis=0)
    assert p_Q[0] > 0.9 and p_Q[1] > 0.9 and p_Q[2] < 0.2 and p_Q[3] > 0.8


def test_in_matching_pennies_plain_learners_part_from_the_middle_and_those_who_foresee_come_to_it():
    ends = (learned(begun(20), PENNIES, 0.0, Rates(1.0, foreseen), steps=1000) for foreseen in (0.0, 1.0))
    apart = [float(np.abs(jax.nn.softmax(end)[:, :, 0, 0] - 0.5).mean()) for end in ends]
    assert apart[0] > 0.4 and apart[1] < 0.01
