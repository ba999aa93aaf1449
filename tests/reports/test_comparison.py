"""What is said about regimes: intervals, verdicts and sentences from figures worked out by hand. No JAX."""

import json
from dataclasses import replace

import pytest
from rich.console import Console

from sparring.evaluation.regimes import RATING, Candidate, Comparison, Cost
from sparring.ratings.cycles import Noise
from sparring.reports.comparison import (
    comparison_json,
    comparison_picture,
    cost_table,
    equal_time_table,
    explanation,
    strength_table,
)
from sparring.reports.judgement import judgement, recommended, sure_pairs, two_sided, verdicts
from sparring.reports.measures import interval_of, measures
from sparring.reports.tables import parted

T2 = 4.302653
"""Student's 97.5 % quantile of two degrees of freedom."""


def of(measure: str, games: int = 0, **values: tuple[float, ...]) -> Comparison:
    """One measure of some regimes, by seeds."""
    seeds = min(map(len, values.values()))
    return Comparison("toy", seeds, tuple(Candidate(n, n, {measure: v}) for n, v in values.items()), games=games)


def verdict(comparison: Comparison) -> dict[str, str]:
    (measure,) = measures(comparison)
    return dict(verdicts(comparison)[measure.name])


def printed(table) -> list[str]:
    console = Console(width=100)
    with console.capture() as captured:
        console.print(table)
    return [" ".join(line.split()) for line in captured.get().splitlines()]


def test_a_mean_has_students_interval_and_ends_where_the_figure_ends():
    comparison = of("exploitability", naive=(0.1, 0.2, 0.3))
    (measure,) = measures(comparison)
    found = interval_of(comparison.candidates[0], measure, comparison)
    assert found is not None and found.mean == pytest.approx(0.2) and found.low == 0.0
    assert found.high == pytest.approx(0.2 + T2 * 0.1 / 3**0.5)


def test_equal_rates_of_few_games_are_not_certain():
    comparison = of("worst opponent", 16, naive=(0.5, 0.5, 0.5), pool=(0.25, 0.25, 0.25))
    (measure,) = measures(comparison)
    found = interval_of(comparison.candidates[0], measure, replace(comparison, games=16))
    half = T2 * 0.125 / 3**0.5  # one rate of 16 games deviates by 1/8
    assert found is not None and (found.low, found.high) == pytest.approx((0.5 - half, 0.5 + half))
    assert verdict(comparison) == {"pool": "unknown"}
    assert verdict(replace(comparison, games=1600)) == {"pool": "worse"}


def test_the_p_value_is_welchs_of_both_sides():
    low, high = (0.0, 1.0, 2.0), (3.0, 4.0, 5.0)
    assert two_sided(low, high) == two_sided(high, low) == pytest.approx(0.02131, abs=1e-5)  # t = 3.674, 4 degrees
    assert two_sided(low, low) == 1.0 and two_sided((1.0,), high) == 1.0 and two_sided(None, high) == 1.0


def test_less_exploitability_and_more_rating_are_better():
    values = {"naive": (10.0, 11.0, 12.0), "pool": (1.0, 2.0, 3.0)}
    assert verdict(of("exploitability", **values)) == {"pool": "better"}
    assert verdict(of("rating", **values)) == {"pool": "worse"}
    assert verdict(of("return", **values)) == {"pool": "unknown"}, "among its own kind more need not be better"


def test_more_candidates_ask_for_more_certainty_but_clear_ones_take_nothing_from_the_others():
    naive, perhaps, same, clear = (0.0, 1.0, 2.0), (3.0, 4.0, 5.0), (0.0, 1.0, 2.0), (13.0, 14.0, 15.0)
    assert verdict(of("rating", naive=naive, a=perhaps)) == {"a": "better"}
    crowd = verdict(of("rating", naive=naive, a=perhaps, b=same, c=same))
    assert crowd == {"a": "unknown", "b": "unknown", "c": "unknown"}, "0.0213 x 3 is above 0.05"
    assert verdict(of("rating", naive=naive, a=perhaps, b=perhaps, c=same)) == crowd, "the first that fails ends it"
    cleared = verdict(of("rating", naive=naive, a=perhaps, b=same, c=clear))
    assert cleared == {"a": "better", "b": "unknown", "c": "better"}, "0.0213 x 2 is below 0.05"


def mixed() -> Comparison:
    candidates = (
        Candidate(
            "naive",
            "naive",
            {"exploitability": (0.55, 0.6, 0.65), "worst opponent": (0.45, 0.5, 0.55)},
            ("b", "a", "b"),
        ),
        Candidate(
            "pool", "pool", {"exploitability": (0.02, 0.03, 0.04), "worst opponent": (0.48, 0.5, 0.52)}, ("a", "c", "c")
        ),
        Candidate(
            "pool.shadow", "pool", {"exploitability": (0.0, 0.0, 0.01), "worst opponent": (0.0, 0.0, 0.01)}, ("d",) * 3
        ),
        Candidate(
            "[b]league", "[b]league", {"exploitability": (0.3, 0.5, 1.0), "worst opponent": (0.1, 0.5, 0.6)}, ("a",) * 3
        ),
    )
    costs = {"naive": Cost(12.34, 5.0, 1234.5, 400.0), "pool": Cost()}
    return Comparison("toy", 3, candidates, costs, {"pbt": "no room"}, 1000, 0.25, Noise(0.125, 0.002), ("Something.",))


def test_of_those_that_are_surely_better_the_best_is_recommended():
    assert recommended(mixed()) == "pool", "whose average is the least exploitable"
    better = of("rating", naive=(0.0, 1.0, 2.0), a=(13.0, 14.0, 15.0), b=(23.0, 24.0, 25.0))
    assert recommended(better) == "b"
    assert recommended(of("rating", naive=(0.0, 1.0, 2.0), a=(0.0, 1.0, 2.0))) == ""
    assert recommended(replace(better, seeds=1)) == ""


def test_returns_that_are_0_for_all_are_no_column():
    assert measures(of("return", naive=(0.0, 1e-9), pool=(0.0, 0.0))) == []
    assert [one.name for one in measures(of("return", naive=(0.0, 0.0), pool=(0.0, 0.1)))] == ["return"]


def test_the_judgement_says_what_is_sure_and_what_is_not():
    assert judgement(mixed()) == [
        "pool.shadow has the lowest exploitability (0.003), surely better than naive; "
        "whether than pool and [b]league too, 3 seeds do not show.",
        "pool is surely better than naive in exploitability.",
        "pool.shadow is surely better than naive in exploitability, and surely worse than naive in worst opponent.",
        "3 seeds show no sure difference between naive and [b]league.",
        "Among the others, by worst opponent: pool is surely better than pool.shadow.",
    ]
    first, second, third, fourth = mixed().candidates
    assert judgement(replace(mixed(), candidates=(third, second, first, fourth)))[1:3] == [
        "pool is surely better than pool.shadow in worst opponent.",
        "naive is surely better than pool.shadow in worst opponent, "
        "and surely worse than pool.shadow in exploitability.",
    ], "the first is the yardstick"
    same = (mixed().candidates[0], *(replace(mixed().candidates[1], name=name) for name in ("a", "b", "c")))
    assert judgement(replace(mixed(), candidates=same))[1:] == [
        "a, b and c are surely better than naive in exploitability.",
        "Nobody surely differs from naive in worst opponent.",
    ]
    even = of("rating", naive=(1.0, 2.0), pool=(1.0, 3.0), league=(0.0, 2.0))
    assert judgement(even) == [
        "pool has the highest rating (2); with 2 seeds that is not sure.",
        "2 seeds show no sure difference between naive and pool and league.",
    ]


def test_those_after_the_first_are_compared_with_each_other_too():
    """Three pairs: 0.0213 x 3 is above 0.05, and the clear one is told whatever the first of the list is."""
    naive, perhaps, low, clear = (0.0, 9.0, 2.0), (3.0, 4.0, 5.0), (0.0, 1.0, 2.0), (13.0, 14.0, 15.0)
    found = of("rating", naive=naive, low=low, clear=clear, perhaps=perhaps)
    assert sure_pairs(found) == {"rating": {"clear": ["low", "perhaps"], "perhaps": ["low"]}}, (
        "0.0213 is the last of three"
    )
    assert (
        "Among the others, by rating: clear is surely better than low and perhaps; perhaps is" in judgement(found)[-1]
    )
    assert sure_pairs(of("exploitability", naive=naive, low=low, clear=clear)) == {"exploitability": {"low": ["clear"]}}


def test_one_seed_or_one_candidate_judges_nobody():
    assert "One seed says nothing" in judgement(of("rating", naive=(1.0,), pool=(9.0,)))[0]
    assert "nothing to compare with" in judgement(of("rating", naive=(1.0, 2.0)))[0]


def test_the_tables_show_means_with_intervals_the_usual_worst_opponent_and_blanks_for_what_is_not_known():
    lines = printed(strength_table(mixed()))
    assert lines[0] == "Regimes on toy, 3 seeds" and lines[1] == "candidate exploitability worst opponent against"
    assert lines[2] == "naive 0.600 [0.476, 0.724] 0.50 [0.38, 0.62] b"
    assert lines[3].endswith(" c") and lines[5].startswith("[b]league "), "a name is not markup"
    assert printed(cost_table(mixed()))[2:] == ["naive 12.3 5.0 1,234 400", "pool"]
    one = printed(strength_table(of("rating", naive=(-0.2,), pool=(9.0,))))
    assert one[2:] == ["naive 0", "pool 9"], "no minus before a zero, no brackets of one seed"


def test_every_column_is_explained_and_what_is_missing_or_failed_is_told():
    text = "\n".join(explanation(mixed()))
    header = " ".join(printed(strength_table(mixed()))[1:2] + printed(cost_table(mixed()))[1:2])
    for column in ("exploitability", "worst", "against", "seconds", "first iteration", "steps/s", "peak MiB"):
        assert column in header and f"\n{column} " in f"\n{text}"
    assert (
        "25.0% of the differences" in text
        and "up to 12.5% (p = 0.002): there are cycles" in text
        and "1000 games a pair" in text
    )
    assert "Something." in text and "pbt: no room" in text
    assert "cyclic" not in "\n".join(explanation(replace(mixed(), cyclic_share=None)))


def test_scripts_get_the_same_numbers_and_null_for_what_is_unknown():
    told = json.loads(json.dumps(comparison_json(mixed()), allow_nan=False))
    first = told["candidates"][0]
    assert first["figures"]["exploitability"]["seeds"] == [0.55, 0.6, 0.65]
    assert first["figures"]["exploitability"]["mean"] == pytest.approx(0.6) and told["yardstick"] == "naive"
    assert told["verdicts"]["worst opponent"] == {"pool": "unknown", "pool.shadow": "worse", "[b]league": "unknown"}
    assert told["judgement"] == judgement(mixed()) and told["failures"] == {"pbt": "no room"}
    assert told["costs"]["pool"]["seconds"] is None
    single = json.loads(json.dumps(comparison_json(of("rating", naive=(1.0,), pool=(2.0,))), allow_nan=False))
    assert single["candidates"][1]["figures"]["rating"] == {"mean": 2.0, "low": None, "high": None, "seeds": [2.0]}
    assert single["verdicts"] == {}


def test_a_sides_own_figures_are_columns_of_their_own():
    candidates = (
        Candidate("naive", "naive", {"return prey": (1.0, 2.0), "return predator": (3.0, 4.0)}),
        Candidate("pool", "pool", {"against bots prey": (1.0, 2.0)}),
    )  # fmt: skip
    comparison = Comparison("tag", 2, candidates)
    assert [m.name for m in measures(comparison)] == ["return prey", "return predator", "against bots prey"]
    assert printed(strength_table(comparison))[3].startswith("pool 1.50 [")


def test_the_picture_is_drawn_also_with_one_seed_and_without_costs():
    wide = int.from_bytes(comparison_picture(mixed())[16:20], "big")
    assert 800 < wide < 1700, "a page holds it, however many measures there are"
    assert comparison_picture(of("rating", naive=(1.0,), pool=(2.0,))).startswith(b"\x89PNG")


def test_equal_ratings_of_two_seeds_are_not_surer_than_their_games():
    """Four players in all: 3 x 32 games of each; 173.72^2 x 4 / 96 = 35.46^2; t of one degree is 12.706."""
    twins = tuple(Candidate(name, name, {RATING: (16.7, 16.7)}) for name in ("naive", "shadow"))
    comparison = Comparison("rps", 2, twins, games=32)
    measure = next(one for one in measures(comparison) if one.name == RATING)
    found = interval_of(twins[1], measure, comparison)
    assert found is not None and found.high - found.mean == pytest.approx(12.706 * 35.46 / 2**0.5, rel=1e-3)


def test_figures_at_equal_time_have_a_table_of_their_own_and_it_is_said_what_was_taken():
    figures = {"exploitability": (0.1, 0.2, 0.3), "exploitability at equal time": (0.3, 0.4, 0.5)}
    one = Candidate("pool", "pool", figures)
    comparison = Comparison("toy", 3, (one, replace(one, name="naive")), evaluations=10, clock=12.5)
    assert printed(strength_table(comparison))[1:3] == ["candidate exploitability", "pool 0.200 [0.000, 0.448]"]
    assert printed(equal_time_table(comparison))[1:3] == ["candidate exploitability", "pool 0.400 [0.152, 0.648]"]
    text = "\n".join(explanation(comparison))
    assert "10 or more." in text and "first 12.5 seconds of training" in text
    assert judgement(comparison)[1:] == ["3 seeds show no sure difference between pool and naive."]


def test_figures_of_before_training_stand_below_and_it_is_said_where_nobody_is_better():
    """Random play is all but an equilibrium of rock, paper, scissors: what was learned is worse by exploitability."""
    begun = replace(mixed(), untrained={"exploitability": 0.002})
    assert any(line.startswith("untrained 0.002") for line in printed(strength_table(begun)))
    assert "By exploitability, none is better than the policy before training (0.002)" in " ".join(judgement(begun))
    assert "none is better" in " ".join(judgement(begun)) and "none is better" not in " ".join(
        judgement(replace(mixed(), untrained={"exploitability": 0.9}))
    )


def biased() -> Comparison:
    """Biased rock, paper, scissors as three seeds of three regimes left it: ratings go round, and two got worse."""
    figures = {
        "averaged": ((0.1, 0.1, 0.65), (-46.0, -52.0, -55.0)),
        "magnet": ((0.0196, 0.0167, 0.0172), (6.0, 2.0, 11.0)),
        "pool": ((0.1, 1.0, 1.0), (-50.0, 137.0, 137.0)),
    }
    candidates = tuple(Candidate(n, n, {"exploitability": e, "rating": r}) for n, (e, r) in figures.items())
    return Comparison(
        "toy", 3, candidates, cyclic_share=0.765, noise=Noise(0.016, 0.002),
        untrained={"exploitability": 0.167}, largest=1.0,
    )  # fmt: skip


def test_exact_exploitability_leads_and_ratings_that_go_round_judge_nobody():
    assert judgement(biased()) == [
        "magnet has the lowest exploitability (0.018); with 3 seeds that is not sure.",
        "averaged and pool are more exploitable than before training (0.167).",
        "Ratings judge nobody: 76% of the differences fit no ranking.",
        "3 seeds show no sure difference between averaged and magnet and pool.",
    ]
    assert recommended(biased()) == ""
    ranked = replace(biased(), cyclic_share=0.1)
    assert "magnet is surely better than averaged in rating." in judgement(ranked)
    assert verdicts(biased())["rating"] == {"magnet": "unknown", "pool": "unknown"}
    assert judgement(replace(biased(), noise=Noise(0.9, 0.4))) == judgement(ranked), "noise may be all of it"


def test_more_figures_ask_for_more_certainty_too():
    """0.0213 alone is below 0.05; beside two figures more it would have to be below 0.05 / 3."""
    even = {"points against bots": (0.4, 0.5, 0.6), "worst opponent": (0.1, 0.2, 0.3)}
    one = Candidate("naive", "naive", {"rating": (0.0, 1.0, 2.0), **even})
    other = Candidate("pool", "pool", {"rating": (3.0, 4.0, 5.0), **even})
    assert verdicts(Comparison("toy", 3, (one, other)))["rating"] == {"pool": "unknown"}
    assert verdicts(of("rating", naive=(0.0, 1.0, 2.0), pool=(3.0, 4.0, 5.0)))["rating"] == {"pool": "better"}
    third = replace(one, name="third")
    assert sure_pairs(Comparison("toy", 3, (third, one, other))) == {}
    assert sure_pairs(of("rating", third=(0.0, 1.0), naive=(0.0, 1.0, 2.0), pool=(3.0, 4.0, 5.0))) == {
        "rating": {"pool": ["naive"]}
    }


def test_where_all_are_as_exploitable_as_can_be_points_against_bots_lead():
    figures = {"exploitability": (0.99, 0.995), "points against bots": (0.4, 0.42)}
    naive = Candidate("naive", "naive", figures)
    pool = Candidate("pool", "pool", {**figures, "points against bots": (0.5, 0.6)})
    found = Comparison("ttt", 2, (naive, pool), untrained={"exploitability": 0.96}, largest=1.0)
    assert judgement(found)[:2] == [
        "All are near the largest exploitability there is (1): it tells little yet; look at points against bots.",
        "pool has the highest points against bots (0.55); with 2 seeds that is not sure.",
    ]
    assert "equilibrium" not in " ".join(judgement(found)) and "none is better" not in " ".join(judgement(found))
    for largest in (2.0, None):
        told = " ".join(judgement(replace(found, largest=largest)))
        assert "none is better than the policy before training (0.960)." in told, "no word of an equilibrium"
    fell = replace(pool, figures={**pool.figures, "exploitability": (0.5, 0.6)})
    assert "pool has the lowest exploitability (0.550)" in judgement(replace(found, candidates=(naive, fell)))[0]
    measure = measures(found)[0]
    interval = interval_of(naive, measure, found)
    assert interval is not None and interval.high == 1.0, "nothing can be more exploitable"


def test_the_yardstick_is_recommended_where_it_is_surely_better_than_all_other_regimes():
    best = {"naive": (13.0, 14.0, 15.0), "a": (0.0, 1.0, 2.0), "b": (1.0, 2.0, 3.0)}
    assert recommended(of("rating", **best)) == "naive"
    assert recommended(of("rating", **{**best, "b": (12.0, 13.0, 14.0)})) == ""


def test_a_table_too_wide_for_the_terminal_is_parted_between_columns_and_no_word_is_broken():
    whole = strength_table(mixed())
    assert parted(whole, 100) == [whole]
    console = Console(width=50)
    with console.capture() as captured:
        for part in parted(whole, 50):
            console.print(part)
    lines = [" ".join(line.split()) for line in captured.get().splitlines()]
    assert lines.count("candidate exploitability") == 1 and "naive 0.600 [0.476, 0.724]" in lines
    assert "naive 0.50 [0.38, 0.62] b" in lines and sum("shadow" in line for line in lines) == 2
    assert max(map(len, captured.get().splitlines())) <= 50


def test_it_is_said_which_intervals_few_games_widen():
    assert "of worst opponent no narrower than so few games allow" in "\n".join(explanation(mixed()))
    assert "no narrower" not in "\n".join(explanation(replace(mixed(), games=0)))
