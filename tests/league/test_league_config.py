from dataclasses import replace

import pytest

from sparring.core.errors import ConfigError
from sparring.core.fields import check_ranges
from sparring.core.schedules import Schedule
from sparring.core.settings import from_dict, to_dict
from sparring.league.config import (
    CurriculumConfig,
    OpponentsConfig,
    PoolConfig,
    check_asked_of_game,
    check_opponents,
)

DEFAULTS = {
    "pfsp_power": 2.0,
    "delta": 0.5,
    "window": 10,
    "recency_power": 0.5,
    "recency_skip": 5,
    "quality_rate": 0.01,
    "elo_sigma": 1 / 6,
    "rate_target": 0.6,
    "rate_sigma": 0.15,
    "forget": 0.99,
}


def check(opponents=None, pool=None, curriculum=None):
    schedules = {name: Schedule.parse(value) if name in ("current", "shadow", "history", "bots") else value
                 for name, value in (opponents or {}).items()}  # fmt: skip
    parts = OpponentsConfig(**schedules), PoolConfig(**(pool or {})), CurriculumConfig(**(curriculum or {}))
    for part in parts:
        check_ranges(part)
    check_opponents(*parts)


def test_the_defaults_are_allowed_and_are_those_of_the_papers():
    check()
    assert {name: getattr(OpponentsConfig(), name) for name in DEFAULTS} == DEFAULTS


@pytest.mark.parametrize("config", [OpponentsConfig(late_sampler="pfsp_hard"), PoolConfig(), CurriculumConfig()])
def test_settings_survive_plain_data(config):
    assert from_dict(type(config), to_dict(config), where="test") == config


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"opponents": {"current": 0}}, "all 0 at the start"),
        ({"opponents": {"current": "1 -> 0"}}, "all 0 at the end"),
        ({"opponents": {"history": -0.1}}, "history must be at least 0, found -0.1"),
        ({"opponents": {"history_floor": 1.5}}, "history_floor must be in"),
        ({"opponents": {"bot_floor": -0.1}}, "bot_floor must be in"),
        ({"opponents": {"late_from": 1.1}}, "late_from"),
        ({"opponents": {"delta": 2.0}}, "delta"),
        ({"opponents": {"window": 0}}, "window must be at least 1"),
        ({"opponents": {"pfsp_power": 0.0}}, "pfsp_power must be above 0"),
        ({"opponents": {"elo_sigma": 0.0}}, "elo_sigma"),
        ({"opponents": {"rate_sigma": -1.0}}, "rate_sigma"),
        ({"opponents": {"quality_rate": 0.0}}, "quality_rate"),
        ({"opponents": {"forget": 0.0}}, "forget must be above 0"),
        ({"opponents": {"forget": 1.01}}, "forget must be above 0 and at most 1, found 1.01"),
        ({"opponents": {"shrink": -1.0}}, "shrink"),
        ({"opponents": {"recency_skip": -1}}, "recency_skip"),
        ({"opponents": {"bot_sampler": "nash"}}, "bot_sampler=nash"),
        ({"opponents": {"ladder": ("ace", "ace")}}, "each bot once"),
        ({"opponents": {"history": 0.5}, "pool": {"pool_size": 0}}, "need a pool"),
        ({"pool": {"pool_size": -1}}, "pool_size"),
        ({"pool": {"pool_size": 1, "guests": ("a", "b")}}, "no room for 2 guests"),
        ({"pool": {"snapshot_mark": 1.5}}, "snapshot_mark"),
        ({"curriculum": {"climb_rate": 0.3}}, "retreat_rate must be below"),
        ({"curriculum": {"level_games": 0}}, "level_games"),
        ({"curriculum": {"weakest": 1.5}}, "weakest"),
        ({"curriculum": {"curriculum_share": Schedule.parse("1 -> 2")}}, "curriculum_share"),
    ],
)
def test_a_setting_out_of_range_is_refused_by_name(settings, says):
    with pytest.raises(ConfigError, match=says):
        check(**settings)


SHADOWED = OpponentsConfig(shadow=Schedule.parse(0.5))
LED = CurriculumConfig(curriculum=True)


@pytest.mark.parametrize(
    ("opponents", "curriculum", "blocks", "says"),
    [
        (replace(SHADOWED, bots=Schedule.parse(0.1)), CurriculumConfig(), {"bots": 0}, "none besides random"),
        (replace(SHADOWED, bot_floor=0.1), CurriculumConfig(), {"bots": 0}, "none besides random"),
        (replace(SHADOWED, bot_floor=0.3, history_floor=0.2), CurriculumConfig(), {"bots": 3}, "come to 1.1"),
        (SHADOWED, CurriculumConfig(), {"can_mirror": [False], "can_face": [False]}, "able to mirror or to face"),
        (OpponentsConfig(), LED, {}, "give shadow, history or bots a share"),
        (SHADOWED, LED, {"can_face": [False]}, "give shadow, history or bots a share"),
        (SHADOWED, replace(LED, weaken_levels=0), {"bots": 0}, "needs levels"),
    ],
)
def test_what_a_game_or_its_blocks_cannot_do_is_refused(opponents, curriculum, blocks, says):
    with pytest.raises(ConfigError, match=says):
        check_asked_of_game(opponents, curriculum, **{"bots": 2, "can_mirror": [True], "can_face": [True], **blocks})


def test_a_block_that_can_only_face_others_is_enough_for_a_curriculum():
    check_asked_of_game(OpponentsConfig(), LED, bots=1, can_mirror=[True, False], can_face=[False, True])
