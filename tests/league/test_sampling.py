from typing import get_args

import numpy as np
import pytest

from sparring.league.config import OpponentsConfig, Sampler
from sparring.league.sampling import RULES, Field, cleaned, pick, probabilities

CONFIG = OpponentsConfig()


def field(rates=(), *, ratings=None, own=0.0, quality=None, payoff=None, who=None) -> Field:
    count = len(rates)
    return Field(
        who=np.ones(count, bool) if who is None else np.array(who),
        rate=np.array(rates, np.float64),
        rating=np.zeros(count) if ratings is None else np.array(ratings, np.float64),
        own_rating=np.array([own]),
        quality=np.zeros(count) if quality is None else np.array(quality, np.float64),
        payoff_of=lambda places: np.zeros((len(places),) * 2) if payoff is None else payoff[np.ix_(places, places)],
    )


def weights(rule: str, known: Field, config: OpponentsConfig) -> np.ndarray:
    return RULES[rule](known, config)


def chances(rule: str, known: Field, config: OpponentsConfig = CONFIG) -> np.ndarray:
    return probabilities(weights(rule, known, config), known.who)


EDGES = {
    "pfsp_hard": (1, 0.49, 0.25, 0.01, 0),
    "pfsp_var": (0, 0.21, 0.25, 0.09, 0),
    "pfsp_linear": (1, 0.7, 0.5, 0.1, 0),
    "pfsp_capped": (0.5, 0.5, 0.5, 0.1, 0),
}


@pytest.mark.parametrize("rule", EDGES)
def test_a_rule_of_rates_has_the_published_weight_from_one_edge_to_the_other(rule):
    found_M = weights(rule, field((0.0, 0.3, 0.5, 0.9, 1.0)), CONFIG)
    np.testing.assert_allclose(found_M, EDGES[rule], atol=1e-12)


def test_elo_gaussian_has_the_published_weights():
    expected = np.array([1e-12, 0.3, 0.5, 0.9, 1 - 1e-12])
    ratings = 1500 - 400 * np.log10(expected / (1 - expected))  # of those whom a player of 1500 beats this often
    found_M = weights("elo_gaussian", field((0.5,) * 5, ratings=ratings, own=1500.0), CONFIG)
    np.testing.assert_allclose(found_M, (0.0111, 0.487, 1, 0.0561, 0.0111), atol=5e-4)


def test_elo_gaussian_looks_at_ratings_and_not_at_rates():
    """The name must match the formula: a rule of ratings is not prioritised fictitious self-play."""
    one = weights("elo_gaussian", field((0.1, 0.9), ratings=(0, 200)), CONFIG)
    np.testing.assert_array_equal(one, weights("elo_gaussian", field((0.9, 0.1), ratings=(0, 200)), CONFIG))
    assert one[0] > one[1]


@pytest.mark.parametrize(
    ("rule", "config", "expected"),
    [
        ("latest", {}, (0, 0, 0, 1)),
        ("uniform", {}, (1, 1, 1, 1)),
        ("delta_uniform", {"delta": 0.0}, (1, 1, 1, 1)),
        ("delta_uniform", {"delta": 0.5}, (0, 0, 1, 1)),  # half of four
        ("delta_uniform", {"delta": 0.7}, (0, 0, 1, 1)),  # 2.8 are two
        ("delta_uniform", {"delta": 1.0}, (0, 0, 0, 1)),
        ("window", {"window": 2}, (0, 0, 1, 1)),
        ("window", {"window": 10}, (1, 1, 1, 1)),
        ("recency_power", {"recency_skip": 1}, (1, 2**0.5, 3**0.5, 0)),
        ("recency_power", {"recency_skip": 0, "recency_power": 2.0}, (1, 4, 9, 16)),
        ("geometric", {}, (1 / 8, 1 / 4, 1 / 2, 1)),  # half-life of a quarter of four
        ("geometric", {"recency_half_life": 2.0}, (2**-1.5, 0.5, 2**-0.5, 1)),
    ],
)
def test_a_rule_of_age_goes_by_rank_among_those_who_can_be_drawn(rule, config, expected):
    np.testing.assert_allclose(weights(rule, field((0.5,) * 4), OpponentsConfig(**config)), expected)
    apart = field((0.5,) * 6, who=[True, False, True, True, False, True])
    found = chances(rule, apart, OpponentsConfig(**config))
    np.testing.assert_allclose(found[apart.who], np.array(expected) / sum(expected))
    assert found[1] == found[4] == 0


@pytest.mark.parametrize("rule", RULES)
def test_rows_are_drawn_from_as_if_each_were_alone(rule):
    """Two learners, the second of whom can draw two of the three; a third has nobody."""
    generator = np.random.default_rng(0)
    rate_NM, quality_NM, who_NM = generator.random((3, 3)), generator.random((3, 3)), np.ones((3, 3), bool)
    who_NM[1, 0], who_NM[2], payoff = False, False, np.array([[0, 0.2, -0.5], [-0.2, 0, 0.3], [0.5, -0.3, 0]])
    ratings, own_N1 = np.array([0.0, 100.0, 300.0]), np.array([[0.0], [150.0], [9.0]])
    together = field((), payoff=payoff)._replace(
        who=who_NM, rate=rate_NM, rating=ratings, own_rating=own_N1, quality=quality_NM
    )
    found_NM = chances(rule, together)
    for row in range(2):
        alone = together._replace(who=who_NM[row], rate=rate_NM[row], own_rating=own_N1[row], quality=quality_NM[row])
        np.testing.assert_allclose(found_NM[row], chances(rule, alone))
    np.testing.assert_allclose(found_NM.sum(1), [1, 1, 0])
    assert (found_NM[~who_NM] == 0).all()


def test_hard_takes_the_power_it_is_given():
    np.testing.assert_allclose(weights("pfsp_hard", field((0.5,)), OpponentsConfig(pfsp_power=3.0)), [0.125])


def test_the_target_rate_is_most_likely_and_a_sigma_away_weighs_less():
    found_M = weights("target_rate", field((0.6, 0.75, 0.45)), CONFIG)
    np.testing.assert_allclose(found_M, [1, np.exp(-0.5), np.exp(-0.5)])


def test_quality_is_a_softmax_that_does_not_overflow():
    found_M = chances("quality", field((0.5,) * 2, quality=(5_000.0, 5_000.0 + np.log(3.0))))
    np.testing.assert_allclose(found_M, [0.25, 0.75])


def test_nash_of_biased_rock_paper_scissors():
    a, b, c = 0.2, 0.3, 0.5
    payoff = np.array([[0, -a, b], [a, 0, -c], [-b, c, 0]])
    found_M = chances("nash", field((0.5,) * 3, payoff=payoff))
    np.testing.assert_allclose(found_M, [c, b, a], atol=1e-9)  # they sum to 1


def test_nash_without_a_known_payoff_is_uniform():
    np.testing.assert_allclose(chances("nash", field((0.5,) * 4)), 0.25)


def test_every_sampler_that_can_be_set_has_a_rule():
    assert set(RULES) == set(get_args(Sampler))


@pytest.mark.parametrize("rates", [(0.0,) * 3, (1.0,) * 3, (0.7,), (np.nan, 1.0, 1.0), (np.inf, -np.inf, np.nan), ()])
@pytest.mark.parametrize("rule", RULES)
def test_no_rule_breaks_at_an_edge(rule, rates):
    found_M = chances(rule, field(cleaned(np.array(rates))))
    assert found_M.shape == (len(rates),)
    assert np.isfinite(found_M).all()
    assert (found_M >= 0).all()
    assert found_M.sum() == pytest.approx(1.0 if rates else 0.0)


@pytest.mark.parametrize("rule", ["pfsp_hard", "pfsp_var", "pfsp_linear", "pfsp_capped"])
def test_when_every_rate_is_one_the_draw_is_uniform(rule):
    np.testing.assert_allclose(chances(rule, field((1.0,) * 4)), 0.25)


def test_a_rate_that_is_not_finite_counts_as_one_half():
    np.testing.assert_array_equal(cleaned(np.array([np.nan, np.inf, 0.2, 1.5, -0.1])), [0.5, 0.5, 0.2, 1.0, 0.0])


def test_recency_with_nobody_but_the_newest_left_out_is_uniform():
    np.testing.assert_allclose(chances("recency_power", field((0.5,) * 4)), 0.25)


def test_floors_are_added_before_the_rest_is_shared():
    found_M = probabilities(np.array([0.0, 1.0, 3.0]), np.ones(3, bool), np.array([0.1, 0.0, 0.1]))
    np.testing.assert_allclose(found_M, [0.1, 0.8 * 0.25, 0.1 + 0.8 * 0.75])


def test_floors_beyond_everything_share_it():
    np.testing.assert_allclose(probabilities(np.ones(2), np.ones(2, bool), np.array([0.9, 0.9])), 0.5)


def test_weights_that_are_not_finite_or_negative_are_none():
    np.testing.assert_allclose(probabilities(np.array([np.nan, 2.0, -1.0, 2.0]), np.ones(4, bool)), [0, 0.5, 0, 0.5])


def test_four_thousand_draws_are_one_call_and_match_the_probabilities():
    probability_M = np.array([0.0, 0.1, 0.2, 0.7, 0.0])
    drawn_N = pick(probability_M, np.random.default_rng(3).random(40_000))
    counts = np.bincount(drawn_N, minlength=5)
    assert counts[0] == counts[4] == 0
    np.testing.assert_allclose(counts / 40_000, probability_M, atol=0.008)  # more than three standard errors


def test_the_largest_number_falls_on_the_last_member_that_can_be_drawn():
    probability_M = np.array([0.1] * 10 + [0.0])  # these sum to 1 - 1e-16
    assert pick(probability_M, np.array([1.0 - 2**-53])).tolist() == [9]
    assert pick(np.array([0.5, 0.5]), np.array([0.0, 0.49, 0.5])).tolist() == [0, 0, 1]
