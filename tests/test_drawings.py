"""The pictures of the concept pages: their numbers by hand, and that pages and scripts agree."""

import re
from importlib.util import module_from_spec, spec_from_file_location
from math import exp
from pathlib import Path
from types import ModuleType

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.learn.returns import gae

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs/concepts/ppo.md").read_text()


@pytest.fixture(scope="module")
def ppo() -> ModuleType:
    spec = spec_from_file_location("ppo_drawings", ROOT / "docs/drawings/ppo.py")
    assert spec and spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_variance_of_an_importance_weighted_mean_by_hand(ppo):
    # exp(d²)(1 + 4d²) - d²: for d = 0, 1, 2 that is 1, 5e - 1 and 17e⁴ - 4.
    by_hand = [1.0, 5 * exp(1) - 1, 17 * exp(4) - 4]
    np.testing.assert_allclose(ppo.importance_variance(np.array([0.0, 1.0, 2.0])), by_hand)


def test_samples_show_the_same_variance_while_the_policies_are_near(ppo):
    # For d = 1/2 the variance is 2 exp(1/4) - 1/4 = 2.318.
    found = ppo.sampled_variance(0.5, np.random.default_rng(5))
    assert found.shape == (ppo.REPEATS,)
    assert found.mean() == pytest.approx(2.318, rel=0.03)


@pytest.mark.parametrize(
    ("value", "loss", "slope"),
    [
        (1.5, 0.64, 0.0),  # better than the held 1.2, whose error of 0.8² counts and does not move
        (0.7, 1.69, -2.6),  # worse than the held 0.8: the plain 1.3² counts
        (1.1, 0.81, -1.8),  # within the range both are the same
        (3.0, 1.0, 2.0),  # as far beyond the target as the old value is below: worse than 1.2 again
    ],
)
def test_the_value_loss_is_the_larger_branch(ppo, value, loss, slope):
    height, gradient = jax.value_and_grad(ppo.value_loss)(value)
    assert float(height) == pytest.approx(loss)
    assert float(gradient) == pytest.approx(slope, abs=1e-6)


@pytest.mark.parametrize(
    ("decay", "bias", "variance"),
    [
        (0.0, 1.0 - 3.0, 1.0),  # only the first surprise, 1 of 1 + 2
        (0.5, 1.0 + 0.5 * 2.0 - 3.0, 1.25),
        (1.0, 0.0, 2.0),  # both surprises and the noise of both rewards
    ],
)
def test_bias_and_variance_of_an_advantage_by_hand(ppo, decay, bias, variance):
    assert ppo.advantage_error(decay, np.array([1.0, 2.0]), 1.0) == pytest.approx((bias**2, variance))
    assert ppo.advantage_error(decay, np.array([1.0, 2.0]), 3.0) == pytest.approx((bias**2, 9 * variance))


@pytest.mark.parametrize("critic", ["foreseen", "unforeseen"])
def test_the_bias_is_that_of_the_advantage_which_learning_computes(ppo, critic):
    surprise_T = getattr(ppo, critic)()
    assert surprise_T.sum() == pytest.approx(ppo.ADVANTAGE)
    # The reward is paid in the last step; until then the critic's values rise by each surprise.
    knows_T = np.concatenate([[0.0], np.cumsum(surprise_T)[:-1]])
    reward_T = np.eye(ppo.STEPS)[-1] * ppo.ADVANTAGE
    last_T = np.arange(ppo.STEPS) == ppo.STEPS - 1
    inputs = (jnp.asarray(x)[:, None] for x in (reward_T, knows_T, np.append(knows_T[1:], 0.0), last_T, last_T))
    advantage = float(gae(*inputs, discount=1.0, decay=0.9)[0, 0])
    assert (advantage - ppo.ADVANTAGE) ** 2 == pytest.approx(ppo.advantage_error(0.9, surprise_T, 1.0)[0], rel=1e-5)


def test_late_reward_raises_the_best_decay_and_noise_lowers_it(ppo):
    assert np.flatnonzero(ppo.unforeseen()).tolist() == [19]  # the twentieth step, as the page says
    seen, unseen = (ppo.best_decay(critic, 1.0) for critic in (ppo.foreseen(), ppo.unforeseen()))
    assert ppo.best_decay(ppo.foreseen(), 2.0) < seen < unseen
    assert ppo.best_decay(ppo.foreseen(), 0.5) > seen


def test_a_density_and_what_lies_beyond_a_bound_by_hand(ppo):
    assert ppo.log_density(0.0, 0.0, 1.0) == pytest.approx(-0.918939)  # -log(2 pi) / 2
    assert ppo.log_density(1.0, 3.0, 0.1) == pytest.approx(-200 + 2.302585 - 0.918939)
    assert [ppo.outside(sigma) for sigma in (0.1, 0.5, 1.0)] == ["0 %", "4.6 %", "31.7 %"]


def test_three_digits_are_shown_of_every_number(ppo):
    assert [ppo.short(number) for number in (1.0, 12.59, 924.2, 299_821.0)] == ["1", "12.6", "924", "300,000"]


def test_the_tables_of_the_page_hold_the_numbers_of_the_script(ppo):
    assert [row for row in ppo.rows() if row not in PAGE.splitlines()] == []


def test_the_script_draws_what_the_page_shows_and_nothing_else(ppo, tmp_path):
    written = ppo.draw(tmp_path / "new")
    assert sorted(written) == sorted((tmp_path / "new").iterdir())
    assert all(2_000 < path.stat().st_size < 120_000 for path in written)
    shown = re.findall(r"!\[[^]]+\]\(\.\./images/([^)]+)\)", PAGE)
    assert sorted(shown) == sorted(path.name for path in written)
    assert all((ROOT / "docs/images" / name).exists() for name in shown)
