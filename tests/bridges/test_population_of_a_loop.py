"""Population-based training in somebody else's loop."""

import json

import pytest

from sparring.bridges.population import Population
from sparring.core.errors import ConfigError

COEFFICIENTS = {"learning_rate": 3e-4, "gamma": 0.99}


def played(population, best=0):
    """Everybody loses to the best of them."""
    for member in range(len(population)):
        if member == best:
            population.report(member, won=200)
        else:
            population.report(member, lost=200)


def test_the_first_member_keeps_what_was_given_and_others_differ():
    population = Population(4, COEFFICIENTS)
    assert population.values(0) == COEFFICIENTS
    assert len({population.values(member)["learning_rate"] for member in range(4)}) == 4
    assert all(1e-4 <= population.values(member)["learning_rate"] <= 9e-4 for member in range(4))


def test_a_discount_is_moved_by_its_horizon_and_stays_below_one():
    population = Population(16, {"gamma": 0.99, "discount": 0.99, "gae_lambda": 0.95}, pbt_spread=100)
    for member in range(16):
        assert all(0.0 <= value < 1.0 for value in population.values(member).values())
    for seed in range(3):
        one = Population(2, {"gamma": 0.99}, seed=seed, pbt_factors=(1.2,), pbt_resample=0.0, pbt_sure=False)
        one.report(0, won=9), one.report(1, lost=9)
        one.round()
        assert one.values(1)["gamma"] == pytest.approx(1 - 1 / 120), "100 steps ahead become 120"


def test_the_weakest_copies_the_strongest_and_tries_something_else():
    population = Population(5, COEFFICIENTS, pbt_resample=0.0, seed=2)
    before = [population.values(member) for member in range(5)]
    played(population, best=3)
    (copy,) = population.round()
    assert copy.parent == 3 and copy.member != 3
    factor = population.values(copy.member)["learning_rate"] / before[3]["learning_rate"]
    assert factor == pytest.approx(0.8) or factor == pytest.approx(1.2)
    assert [population.values(m) for m in range(5) if m != copy.member] == [
        before[m] for m in range(5) if m != copy.member
    ]


def test_nobody_is_copied_on_a_few_lucky_games_or_on_games_of_an_earlier_round():
    population = Population(4, COEFFICIENTS)
    population.report(0, won=2), population.report(1, lost=2)
    assert population.round() == ()
    played(population)
    assert population.round() != ()
    assert population.round() == ()


def test_returns_take_the_place_of_games_that_are_not_won_and_those_who_diverged_are_replaced():
    population = Population(4, COEFFICIENTS)
    for member in range(4):
        population.report_returns(member, [member + 0.01 * game for game in range(10)])
    ((copy),) = population.round()
    assert (copy.member, copy.parent) == (0, 3)
    copies = population.round(diverged=[2])
    assert [copy.member for copy in copies] == [2]


def test_a_saved_population_goes_on_as_the_first_would():
    one, again = (Population(6, COEFFICIENTS, seed=4) for _ in range(2))
    played(one)
    one.round()
    again.load_state(json.loads(json.dumps(one.state())))
    for each in (one, again):
        played(each, best=2)
    assert one.round() == again.round()
    assert [one.values(m) for m in range(6)] == [again.values(m) for m in range(6)]


def test_wrong_uses_are_refused_with_what_to_do():
    one = Population(3, COEFFICIENTS)
    one.report(0, won=1), one.report_returns(1, [2.0])
    for wrong, message in (
        (lambda: Population(1, COEFFICIENTS), "at least 2 members, found 1"),
        (lambda: Population(3, {}), "must name coefficients"),
        (lambda: Population(3, COEFFICIENTS, pbt_shar=0.1), "Did you mean 'pbt_share'"),
        (lambda: Population(3, COEFFICIENTS, pbt_share=0.9), "pbt_share must be"),
        (lambda: one.values(3), "from 0 to 2, found 3"),
        (lambda: one.report(0, won=-1), "whole numbers"),
        (lambda: one.round(), "found both"),
        (lambda: one.load_state(Population(4, COEFFICIENTS).state()), "Expected a state of 3 members"),
    ):
        with pytest.raises(ConfigError, match=message):
            wrong()
