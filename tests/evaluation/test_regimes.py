"""Figures of candidates from a tournament and from lines of evaluation, by hand. No JAX."""

import pytest

from sparring.evaluation.regimes import (
    clock,
    cycles_of_play,
    figures_of_line,
    iteration_cost,
    iterations_within,
    mean_figures,
    second_half,
    standings,
)
from sparring.ratings.payoff import Payoff


def games(*played: tuple[str, str, int, int, int]) -> Payoff:
    names = dict.fromkeys(name for row in played for name in row[:2])
    payoff = Payoff.empty(tuple(names))
    for row in played:
        payoff = payoff.with_games(*row)
    return payoff


def test_every_seed_has_its_rating_and_its_worst_opponent_by_the_name_of_the_candidate():
    payoff = games(
        ("naive#0", "pool#0", 2, 0, 8), ("naive#0", "random", 5, 0, 5), ("naive#1", "random", 1, 0, 9),
        ("naive#1", "pool#0", 3, 0, 7), ("naive#0", "naive#1", 6, 0, 4), ("pool#0", "random", 7, 2, 1),
    )  # fmt: skip
    found = standings(payoff, {"naive": (0, 1), "pool": (0,)}, "random")
    assert found["naive"].worst == pytest.approx((0.2, 0.1)) and found["naive"].against == ("pool", "random")
    assert found["pool"].worst == pytest.approx((0.7,)) and found["pool"].against == ("naive",)
    assert found["pool"].rating[0] > found["naive"].rating[0] > found["naive"].rating[1]
    even = games(("naive#0", "random", 5, 0, 5))
    assert standings(even, {"naive": (0,)}, "random")["naive"].rating == pytest.approx((0.0,))


def test_cycles_of_bots_are_not_those_of_the_candidates():
    bots = [("x", "y", 20, 0, 0), ("y", "z", 20, 0, 0), ("z", "x", 20, 0, 0)]
    learned = [("a#0", "b#0", 15, 0, 5), ("b#0", "c#0", 15, 0, 5), ("a#0", "c#0", 18, 0, 2)]
    payoff = games(*bots, *learned)
    share, noise = cycles_of_play(payoff, ["a#0", "b#0", "c#0"], seed=0)
    assert share is not None and noise is not None and share < 0.01 and noise.p_value > 0.5
    assert cycles_of_play(payoff, ["x", "y", "z"], seed=0)[0] == pytest.approx(1.0)
    assert cycles_of_play(payoff, ["a#0", "b#0"], seed=0) == (None, None), "two cannot go round"


ALIKE = {
    "kind": "eval", "exploitability": 0.25, "exploitability/shadow": 0.125,
    "return/seat_0/learned vs learned": 1.0, "return/seat_1/learned vs learned": 3.0,
    "return/seat_0/learned vs random": 4.0, "return/seat_1/learned vs random": 6.0,
    "return/seat_0/learned vs shadow": 99.0, "return/seat_1/shadow vs learned": 98.0,
    "return/seat_0/shadow vs random": 8.0, "return/seat_1/shadow vs random": 10.0,
    "return/seat_0/random vs learned": 97.0, "points/seat_0/learned vs random": 0.5,
}  # fmt: skip


def test_where_sides_are_alike_their_mean_counts_and_the_shadow_has_figures_of_its_own():
    sides = ("seat_0", "seat_1")
    learned = figures_of_line(ALIKE, "learned", sides, alike=True)
    assert learned == {"exploitability": 0.25, "return": 2.0, "points against bots": 0.5, "against bots": 5.0}
    assert figures_of_line(ALIKE, "shadow", sides, alike=True) == {"exploitability": 0.125, "against bots": 9.0}


def test_unlike_sides_have_figures_apart_and_one_side_alone_has_a_return():
    line = {
        "return/prey/learned vs learned": -2.0, "return/predator/learned vs learned": 2.0,
        "return/prey/learned vs chase": -5.0, "return/prey/learned vs random": None,
    }  # fmt: skip
    assert figures_of_line(line, "learned", ("prey", "predator"), alike=False) == {
        "return prey": -2.0, "return predator": 2.0, "against bots prey": -5.0
    }  # fmt: skip
    alone = {"return/agent/learned": -1.5, "return/agent/learned_by_others": 7.0, "return/agent/random": -9.0}
    assert figures_of_line(alone, "learned", ("agent",), alike=False) == {"return agent": -1.5}


def test_the_first_iteration_is_apart_and_speed_is_steps_over_seconds():
    timing = [
        {"seconds": 10.0, "steps_per_second": 10.0},
        {"seconds": 1.0, "steps_per_second": 100.0},
        {"seconds": 3.0, "steps_per_second": 100.0 / 3},
    ]
    assert iteration_cost(timing) == (10.0, pytest.approx(50.0))
    assert iteration_cost(timing[:1]) == (10.0, None) and iteration_cost([]) == (None, None)


def test_the_second_half_of_a_run_counts_and_the_newest_evaluation_where_none_is_there():
    lines = [{"iteration": i} for i in (1, 3, 4, 5, 7)]
    assert [line["iteration"] for line in second_half(lines, 8)] == [4, 5, 7], "after 5, 6 and 8 of 8 iterations"
    assert [line["iteration"] for line in second_half(lines, 5)] == [3, 4], "after 4 and 5 of 5"
    assert [line["iteration"] for line in second_half(lines[:1], 8)] == [1]
    assert second_half(lines, 1) == [] == second_half([], 8)


def test_figures_are_means_of_what_all_evaluations_have():
    assert mean_figures([{"a": 1.0, "b": 5.0}, {"a": 3.0}]) == {"a": 2.0} and mean_figures([]) == {}


def test_the_clock_of_training_leaves_compiling_out():
    timing = [{"seconds": seconds} for seconds in (60.0, 1.0, 2.0, 3.0)]
    assert clock(timing).tolist() == [2.0, 3.0, 5.0, 8.0]
    assert [iterations_within(timing, seconds) for seconds in (1.9, 5.0, 7.9, 8.0)] == [0, 3, 3, 4]
    assert clock(timing[:1]).tolist() == [60.0], "of one iteration nothing else is known"
