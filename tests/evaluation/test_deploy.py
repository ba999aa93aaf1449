"""Which policy to deploy: figures made by hand, and what follows from them."""

from math import nan

import pytest

from sparring.evaluation.deploy import Deployment, Evidence, beside, deployment, duel
from sparring.evaluation.exploited import Exploited, figure_text, newest
from sparring.evaluation.scoring import SideScore
from sparring.evaluation.stored import bounds_of, exact_of
from sparring.statistics.intervals import Interval, mean_of

LEARNED, SHADOW, MIXTURE = "learned", "shadow", "mixture"


def score(side: int, team: str, opponents: str, points: float | None, half: float = 0.05, earned: float = 0.0):
    """A score whose points, or without them whose return, are known to within `half`."""
    games = 100
    won = None if points is None else Interval(points, points - half, points + half, games)
    found = SideScore(side, team, opponents, games, 0, 0, 0, 1.0, ())
    vars(found).update(points=won, mean_return=Interval(earned, earned - half, earned + half, games))
    return found


def against_each_other(points: float, half: float = 0.05) -> list[SideScore]:
    return [
        *(score(side, SHADOW, LEARNED, points, half) for side in (0, 1)),
        *(score(side, LEARNED, SHADOW, 1 - points, half) for side in (0, 1)),
    ]


def test_the_lowest_exact_exploitability_decides_and_equal_ones_are_the_newest():
    found = deployment(Evidence(exact={LEARNED: [0.3, 0.5], SHADOW: [0.1, 0.1], MIXTURE: [0.2, 0.2]}))
    assert found.team == SHADOW
    assert found.sentence() == (
        "Deploy: the shadow, because its exploitability is 0.1000, exactly; of the newest policy 0.4000, of "
        "the mixture 0.2000."
    )
    assert deployment(Evidence(exact={LEARNED: [0.1], SHADOW: [0.1 - 1e-9]})).team == LEARNED
    assert deployment(Evidence(exact={LEARNED: [0.3], SHADOW: [0.4], MIXTURE: [0.2]})).team == MIXTURE


def test_exact_figures_that_differ_are_shown_so_that_they_differ_and_others_are_called_the_same():
    near = deployment(Evidence(exact={LEARNED: [0.99983], SHADOW: [0.99978]}))
    assert near.because == "its exploitability is 0.99978, exactly; of the newest policy 0.99983"
    same = deployment(Evidence(exact={LEARNED: [0.1], SHADOW: [0.1 + 1e-9]}))
    assert same.because == (
        "its exploitability is 0.1000, exactly; that of the shadow is the same, and the newest is the simple choice"
    )


def test_games_say_nothing_where_exploitability_is_exact():
    scores = against_each_other(0.9)
    assert deployment(Evidence(scores, exact={LEARNED: [0.1], SHADOW: [0.2]})).team == LEARNED


def test_of_trained_responses_only_a_sure_difference_counts():
    surely = {LEARNED: Interval(0.5, 0.4, 0.6, 1), SHADOW: Interval(0.2, 0.1, 0.3, 1)}
    found = deployment(Evidence(bounds=surely))
    assert (
        found.team == SHADOW
        and "won 0.200 [0.100, 0.300] from it and 0.500 [0.400, 0.600] from the newest" in found.because
    )
    perhaps = {LEARNED: Interval(0.5, 0.29, 0.6, 1), SHADOW: Interval(0.2, 0.1, 0.3, 1)}
    assert deployment(Evidence(bounds=perhaps)) == Deployment(
        LEARNED, "these games show no difference, and the newest is the simple choice"
    )


@pytest.mark.parametrize(("points", "team"), [(0.6, SHADOW), (0.53, LEARNED), (0.4, LEARNED)])
def test_games_against_each_other_decide_where_they_are_sure(points, team):
    """Both sides together: known to within 0.05 / sqrt(2) = 0.035."""
    found = deployment(Evidence(against_each_other(points)))
    assert found.team == team
    assert ("no difference" in found.because) == (points == 0.53)


def test_games_against_the_same_others_decide_too():
    scores = [score(0, SHADOW, "ace", 0.7), score(0, LEARNED, "ace", 0.5), score(0, LEARNED, "meek", 0.1)]
    lead = beside(scores)
    assert (
        lead is not None
        and lead.mean == pytest.approx(0.2)
        and lead.high - lead.mean == pytest.approx(0.0707, abs=1e-4)
    )
    assert deployment(Evidence(scores)).team == SHADOW
    assert deployment(Evidence([*scores, *against_each_other(0.5)])).team == SHADOW
    found = deployment(Evidence([*scores, *against_each_other(0.3)]))
    assert found.team == LEARNED and "disagree" in found.because


def test_returns_are_a_contest_only_where_one_gets_what_the_other_loses():
    contest = [
        *(score(side, SHADOW, LEARNED, None, earned=0.3) for side in (0, 1)),
        *(score(side, LEARNED, SHADOW, None, earned=-0.3) for side in (0, 1)),
    ]
    assert deployment(Evidence(contest)).team == SHADOW
    together = [*contest[:2], *(score(side, LEARNED, SHADOW, None, earned=0.4) for side in (0, 1))]
    assert duel(Evidence(together)) is None and deployment(Evidence(together)).team == LEARNED
    assert duel(Evidence(contest, alike=False)) is None, "a side may be worth more than the other"


def test_psro_gives_its_mixture_and_a_lone_policy_is_no_choice():
    assert (
        deployment(Evidence(bounds={LEARNED: Interval(0.1, 0, 0.2, 1), MIXTURE: Interval(0.1, 0, 0.2, 1)})).team
        == MIXTURE
    )
    alone = deployment(Evidence([score(0, LEARNED, "ace", 0.5)]))
    assert alone.team == LEARNED and not alone.chosen
    assert not deployment(Evidence()).chosen


def test_one_seed_without_an_interval_decides_nothing():
    scores = against_each_other(0.9, nan)
    assert deployment(Evidence(scores)).team == LEARNED


def test_the_mean_of_independent_figures_is_surer_than_each():
    found = mean_of([Interval(1.0, -2.0, 4.0, 5), Interval(3.0, -1.0, 7.0, 6)])
    assert found == Interval(2.0, -0.5, 4.5, 11)  # half of the hypotenuse of 3 and 4


def line(player: str, seed: int, iteration: int, by: str, value: float, **more) -> dict:
    figure = Exploited(player=player, seed=seed, iteration=iteration, steps=9, by=by, exploitability=value, **more)
    return figure.line()


def test_of_a_player_s_figures_the_newest_weights_and_the_exact_one_count():
    lines = [
        line("learner", 0, 20, "exact", 0.1), line("learner", 0, 20, "response", 0.05),
        line("learner", 0, 10, "exact", 0.9), line("learner", 1, 20, "response", 0.2),
        line("learner", 1, 20, "response", 0.3),
    ]  # fmt: skip
    found = newest(lines)
    assert {key: figure_text(one) for key, one in found.items()} == {("learner", 0): "0.100", ("learner", 1): "≥ 0.300"}


def test_bounds_are_of_the_newest_weights_and_of_one_budget():
    def of(player: str, seed: int, value: float, **more) -> dict:
        told = {"low": value - 0.1, "high": value + 0.1, "budget": 100, "attempts": 3, **more}
        return line(
            player,
            seed,
            more.pop("iteration", 20),
            "response",
            value,
            **{k: v for k, v in told.items() if k != "iteration"},
        )

    lines = [of("learner", 0, 0.4), of("learner", 1, 0.6), of("learner.shadow", 0, 0.1), of("past-40", 0, 0.9)]
    found = bounds_of(lines)
    assert found[LEARNED].mean == pytest.approx(0.5) and found[LEARNED].high == pytest.approx(0.5 + 0.1 / 2**0.5)
    assert found[SHADOW].mean == pytest.approx(0.1) and set(found) == {LEARNED, SHADOW}
    assert bounds_of([*lines, of("learner.shadow", 1, 0.1, budget=200)]) == {}
    assert set(bounds_of([*lines, of("learner", 0, 0.3, iteration=30)])) == {LEARNED}


def test_exact_figures_are_those_of_the_last_evaluation_of_every_seed():
    lines = [
        {"kind": "eval", "seed": 0, "exploitability": 0.9, "exploitability/shadow": 0.8},
        {"kind": "train", "seed": 0},
        {"kind": "eval", "seed": 0, "exploitability": 0.3, "exploitability/shadow": 0.2},
        {"kind": "eval", "seed": 1, "exploitability": 0.5},
    ]
    assert exact_of(lines) == {LEARNED: (0.3, 0.5)} and exact_of([]) == {}
