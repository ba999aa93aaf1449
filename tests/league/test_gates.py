from dataclasses import replace

import numpy as np
import pytest

from sparring.core.errors import ConfigError
from sparring.core.fields import check_ranges
from sparring.core.settings import from_dict, to_dict
from sparring.league.gates import GateConfig, check_gate, promote
from sparring.league.score import Score

RATE = GateConfig(gate="rate")
SPRT = GateConfig(gate="sprt")
PAST, NEXT = "past-0", "past-1"


def outcome(config, champion, past=None, anchors=None):
    verdict = promote(config, champion, past or {}, anchors or {})
    return verdict.promote, verdict.decided


PROMOTED, REFUSED, GO_ON = (True, True), (False, True), (False, False)


def test_the_defaults_are_allowed_and_the_gate_is_alphago_zeros():
    check_gate(GateConfig())
    assert (RATE.gate_games, RATE.gate_rate) == (400, 0.55)
    assert from_dict(GateConfig, to_dict(SPRT), where="test") == SPRT


def test_without_a_gate_everybody_passes():
    assert outcome(GateConfig(), Score(lost=400)) == PROMOTED


@pytest.mark.parametrize("config", [RATE, SPRT])
def test_without_a_champion_the_first_passes_and_without_games_nobody_does(config):
    assert outcome(config, None) == PROMOTED
    assert outcome(config, Score()) == GO_ON


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (Score(won=221, lost=179), PROMOTED),
        (Score(won=220, lost=180), REFUSED),
        (Score(won=220, drawn=1, lost=179), PROMOTED),
        (Score(won=219, drawn=2, lost=179), REFUSED),
        (Score(won=399), GO_ON),
        (Score(lost=399), GO_ON),
        (Score(won=226, lost=184), PROMOTED),  # 410 games: 225.5 would be 55 %
        (Score(won=225, lost=185), REFUSED),
    ],
)
def test_more_than_55_percent_of_400_games_are_asked_and_a_draw_is_one_half(score, expected):
    assert outcome(RATE, score) == expected


def test_exactly_the_rate_is_not_more_than_the_rate():
    def exactly(percent: int) -> tuple[bool, bool]:
        config = GateConfig(gate="rate", gate_games=100, gate_rate=percent / 100)
        return outcome(config, Score(won=percent, lost=100 - percent))

    assert [percent for percent in range(1, 100) if exactly(percent) != REFUSED] == []


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        (Score(won=8), PROMOTED),
        (Score(won=7), GO_ON),
        (Score(lost=5), REFUSED),
        (Score(lost=4), GO_ON),
        (Score(won=8, drawn=90), PROMOTED),
        (Score(won=7, drawn=90), GO_ON),
    ],
)
def test_the_sequential_gate_decides_at_its_bounds_and_skips_draws(score, expected):
    """Of 0.5 and 0.75: 1.5**7 = 17.1 < 19 < 25.6 and 1/16 > 1/19 > 1/32."""
    assert outcome(replace(SPRT, gate_rate=0.75), score) == expected


def test_a_sequential_trial_of_draws_ends_after_ten_times_the_games():
    assert outcome(SPRT, Score(drawn=3999)) == GO_ON
    assert outcome(SPRT, Score(drawn=4000)) == REFUSED
    assert "undecided after 4000 games" in promote(SPRT, Score(drawn=4000), {}, {}).why


GOOD = Score(won=300, lost=100)
FLOORS = replace(RATE, gate_floor=0.5, gate_anchor_floor=0.9)


@pytest.mark.parametrize(
    ("past", "anchors", "expected"),
    [
        ({PAST: Score(won=30, lost=70)}, {}, REFUSED),  # upper bound 0.400
        ({PAST: Score(won=45, lost=55)}, {}, PROMOTED),  # 0.553: perhaps no worse than one half
        ({PAST: Score(won=90, lost=10), NEXT: Score(won=30, lost=70)}, {}, REFUSED),
        ({PAST: Score(lost=1)}, {}, PROMOTED),  # one game has an upper bound of 0.975
        ({PAST: Score()}, {"ace": Score()}, PROMOTED),
        ({}, {"ace": Score(won=80, lost=20)}, REFUSED),  # upper bound 0.873
        ({}, {"ace": Score(won=86, lost=14)}, PROMOTED),  # 0.921
        ({PAST: Score(won=80, lost=20)}, {}, PROMOTED),  # the bots' floor is not that of past members
    ],
)
def test_who_surely_lost_to_a_past_member_or_a_bot_is_refused(past, anchors, expected):
    assert outcome(FLOORS, GOOD, past, anchors) == expected


def test_a_floor_of_zero_refuses_nobody_and_a_failed_floor_opens_no_other_gate():
    lost = {PAST: Score(lost=1000)}
    assert outcome(RATE, GOOD, lost) == PROMOTED
    assert outcome(FLOORS, Score(won=10), lost) == GO_ON
    assert outcome(FLOORS, Score(won=220, lost=180), {}) == REFUSED
    assert outcome(replace(FLOORS, gate="sprt"), GOOD, lost) == REFUSED


def test_reasons_name_numbers_and_the_worst_of_all():
    assert promote(RATE, Score(won=40), {}, {}).why == "40 of 400 games against the champion are played."
    assert promote(RATE, Score(221, 0, 179), {}, {}).why == (
        "Promoted: 221 points of 400 games, more than 0.55 a game."
    )
    assert promote(RATE, Score(219, 1, 180), {}, {}).why == (
        "Refused: 219.5 points of 400 games, not more than 0.55 a game."
    )
    assert promote(SPRT, Score(100, 7, 20), {}, {}).why == (
        "Promoted: 100 won, 20 lost, 7 drawn: a rate of 0.55 rather than 0.5."
    )
    assert promote(SPRT, Score(10, 7, 60), {}, {}).why == (
        "Refused: 10 won, 60 lost, 7 drawn: a rate of 0.5 rather than 0.55."
    )
    assert promote(SPRT, Score(3, 7, 2), {}, {}).why == (
        "3 won, 2 lost, 7 drawn: log-likelihood ratio 0.08 in [-2.94, 2.94]."
    )
    assert promote(FLOORS, Score(220, 0, 180), {6: Score(lost=99)}, {}).why == (
        "Refused: 220 points of 400 games, not more than 0.55 a game."
    )
    past = {5: Score(won=40, lost=60), 6: Score(won=20, lost=80), 7: Score(won=30, lost=70)}
    assert promote(FLOORS, GOOD, past, {"ace": Score(won=80, lost=20)}).why == (
        "Refused: 20 points of 100 games against past member 6, surely below gate_floor=0.5."
    )
    assert promote(FLOORS, GOOD, {}, {"ace": Score(won=80, lost=20)}).why == (
        "Refused: 80 points of 100 games against bot ace, surely below gate_anchor_floor=0.9."
    )


def test_an_equal_candidate_seldom_passes_and_a_better_one_mostly_does():
    """Of 400 games between equals 221 or more are won with a chance of 0.0201; at 60 % with a chance of 0.976."""
    generator = np.random.default_rng(0)
    for rate, least, most in ((0.5, 0.005, 0.035), (0.6, 0.96, 0.99)):
        won_N = generator.binomial(400, rate, 2000)
        passed = np.mean([outcome(RATE, Score(int(won), 0, 400 - int(won))) == PROMOTED for won in won_N])
        assert least < passed < most


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"gate_games": 0}, "gate_games must be at least 1, found 0"),
        ({"gate_rate": 1.0}, "gate_rate must be above 0 and below 1, found 1.0"),
        ({"gate_null": 0.0}, "gate_null must be above 0 and below 1, found 0.0"),
        ({"gate": "sprt", "gate_null": 0.55}, "gate_null must be below gate_rate, found 0.55 and 0.55"),
        ({"gate": "rate", "gate_floor": 1.0}, "gate_floor must be at least 0 and below 1, found 1.0"),
        ({"gate": "rate", "gate_anchor_floor": -0.1}, "gate_anchor_floor must be at least 0"),
    ],
)
def test_a_setting_that_makes_no_gate_is_refused(settings, says):
    with pytest.raises(ConfigError, match=says):
        check_ranges(GateConfig(**settings))
        check_gate(GateConfig(**settings))


def test_a_null_rate_above_the_other_matters_to_the_sequential_gate_alone():
    check_gate(GateConfig(gate="rate", gate_null=0.6))
