import json

import pytest

from sparring.core.plain import from_plain, to_plain
from sparring.league.config import CurriculumConfig
from sparring.league.curriculum import Level, Standing, level_drawn, levels, moved
from sparring.league.events import Climbed, Retreated
from sparring.league.score import Score

CONFIG = CurriculumConfig(curriculum=True)
WAYS = levels(("meek", "ace"), CONFIG)


def test_levels_are_the_ladder_and_then_selves_that_are_weakened_less_and_less():
    assert [way.bot for way in WAYS] == ["meek", "ace", "", "", "", ""]
    assert [way.epsilon for way in WAYS] == [0, 0, 0.75, 0.5625, 0.375, 0.1875]
    assert all(way.temperature == 1.0 for way in WAYS)


def test_by_temperature_the_weakest_plays_at_one_and_three_times_its_weakness():
    ways = levels((), CurriculumConfig(curriculum=True, weaken="temperature", weakest=1.0, weaken_levels=3))
    assert [way.temperature for way in ways] == [4.0, 3.0, 2.0]
    assert all(way.epsilon == 0.0 for way in ways)


def test_without_a_curriculum_there_are_no_levels():
    assert levels(("meek",), CurriculumConfig()) == ()


@pytest.mark.parametrize(
    ("score", "event", "level"),
    [
        (Score(39, 0, 0), None, 1),  # one game short
        (Score(40, 0, 0), Climbed, 2),
        (Score(32, 0, 8), None, 1),  # 0.8 is not surely above 0.6 for those who look again and again
        (Score(33, 0, 7), Climbed, 2),
        (Score(25, 15, 0), None, 1),
        (Score(26, 14, 0), Climbed, 2),  # draws count one half
        (Score(0, 0, 40), Retreated, 0),
        (Score(4, 0, 36), Retreated, 0),  # 0.1 is surely below 0.3
        (Score(5, 0, 35), None, 1),
    ],
)
def test_a_level_changes_where_the_rate_is_surely_beyond_a_mark(score, event, level):
    standing, found = moved(Standing(1), WAYS, score, CONFIG)
    assert standing.level == level
    assert type(found) is (event or type(None))
    assert standing.score == (score if event is None else Score()), "a change begins anew"


def test_games_add_up_until_a_level_can_be_judged():
    standing, event = moved(Standing(0, Score(30, 0, 2)), WAYS, Score(8, 0, 0), CONFIG)
    assert standing.level == 1
    assert event == Climbed("ace")


def test_nobody_falls_below_the_first_level_or_climbs_above_full_strength():
    assert moved(Standing(0), WAYS, Score(lost=100), CONFIG)[0].level == 0
    assert moved(Standing(6), WAYS, Score(won=100), CONFIG) == (Standing(6, Score(won=100)), None)
    assert moved(Standing(5), WAYS, Score(won=100), CONFIG) == (Standing(6), Climbed("full strength"))
    assert moved(Standing(6), WAYS, Score(lost=100), CONFIG)[1] == Retreated("self with 0.188 of random actions")


def test_a_bad_beginning_does_not_count_for_ever():
    standing, event = Standing(0), None
    for _ in range(100):
        standing, event = moved(standing, WAYS, Score(1, 0, 9), CONFIG)
    games = 0
    while event is None:
        standing, event = moved(standing, WAYS, Score(9, 0, 1), CONFIG)
        games += 10
    assert event == Climbed("ace")
    assert games <= 450


@pytest.mark.parametrize(("level", "number", "drawn"), [(2, 0.0, 2), (2, 0.79, 2), (2, 0.81, 1), (0, 0.99, 0)])
def test_a_fifth_of_the_blocks_play_the_level_below(level, number, drawn):
    assert level_drawn(level, number) == drawn


def test_a_standing_survives_json():
    standing = Standing(3, Score(4, 1, 2))
    assert from_plain(Standing, json.loads(json.dumps(to_plain(standing)))) == standing
    assert Level("x") == Level("x", "", 1.0, 0.0)
