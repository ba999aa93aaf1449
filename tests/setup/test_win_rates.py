"""Rules that go by games won are refused where nobody wins, and only there."""

from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest

from sparring.core.errors import ConfigError
from sparring.core.settings import from_dict, to_dict
from sparring.games import registry
from sparring.league.blocks import Meeting
from sparring.league.config import Sampler
from sparring.league.player import Player
from sparring.league.sampling import RULES, Field
from sparring.recipes.self_play import SELF_PLAY, apply
from sparring.setup.build import build
from sparring.setup.config import PlayConfig, RunConfig
from sparring.setup.needs import BY_AGE
from sparring.training.opposition import Faced
from sparring.training.record import opponent_metrics

STAG = RunConfig(game="matrix:stag_hunt", total_steps=1000, play=PlayConfig(worlds=8, steps=8))
KUHN = replace(STAG, game="kuhn")
MIXED = {"opponents": {"history": "0.5", "bots": "0.2"}}
GATED = {"opponents": {"current": "0", "history": "1"}, "gates": {"gate": "rate"}}
RULES_OF_WINNING = [
    *(({"opponents": {**MIXED["opponents"], setting: rule}}, f"{setting}={rule}", "Use uniform, as --self-play")
      for setting in ("sampler", "late_sampler", "bot_sampler")
      for rule in get_args(Sampler)
      if rule not in BY_AGE and (setting, rule) != ("bot_sampler", "nash")),
    ({**MIXED, "pool": {"snapshot_mark": 0.7}}, "snapshot_mark=0.7", "Set it to 0, as --self-play sparring"),
    ({**MIXED, "pool": {"eviction": "redundant"}}, "eviction=redundant", "Use log_spaced, as --self-play"),
    ({**MIXED, "curriculum": {"curriculum": True}}, "curriculum=true", "Leave it out"),
    ({**MIXED, "defeats": {"defeat_share": 0.1}}, "defeat_share=0.1", "Set it to 0"),
    (GATED, "gate=rate", "Set it to none"),
    ({"roles": {"mains": 1}}, "mains=1", "give shadow and history a share"),
    ({"population": {"population": 2, "pbt_against": "bots"}}, "pbt_against=bots", "Use each_other"),
]  # fmt: skip


def with_settings(config: RunConfig, changes: dict[str, Any]) -> RunConfig:
    plain = to_dict(config)
    for part, values in changes.items():
        plain[part] |= values
    return from_dict(RunConfig, plain, where="test")


@pytest.mark.parametrize(
    ("changes", "setting", "remedy"), RULES_OF_WINNING, ids=lambda part: part if isinstance(part, str) else ""
)
def test_a_rule_of_winning_is_refused_where_nobody_wins(changes, setting, remedy):
    with pytest.raises(ConfigError) as caught:
        build(with_settings(STAG, changes))
    told = str(caught.value)
    assert told.startswith(f"{setting} goes by games won, and matrix:stag_hunt is not won or lost") and remedy in told


def test_a_stage_that_ends_by_points_is_refused_where_nobody_wins():
    for metric in ("points/past", "won/seat_0", "drawn/seat_0"):
        with pytest.raises(ConfigError, match=f"until={metric} goes by games won"):
            build(replace(STAG, stages=(f"until {metric} > 0.5", "")))
    assert build(replace(STAG, stages=("until return/seat_0 > 0.5", "")))


@pytest.mark.parametrize(
    "changes",
    [{"opponents": {**MIXED["opponents"], "sampler": "pfsp_hard"}}, {**MIXED, "pool": {"snapshot_mark": 0.7}}, GATED],
)
def test_the_same_rules_work_where_one_side_gains_what_the_other_loses(changes):
    assert build(with_settings(KUHN, changes)).plan.seating.changing


@pytest.mark.parametrize("rule", BY_AGE)
def test_rules_of_age_and_chance_go_on_working(rule):
    changes = {**MIXED["opponents"], "sampler": rule, "late_sampler": rule, "bot_sampler": rule}
    assert build(with_settings(STAG, {"opponents": changes})).plan.seating.changing


@pytest.mark.parametrize("rule", BY_AGE)
def test_rules_of_age_look_at_no_result(rule):
    def weights(rate: float) -> list[float]:
        some_M = np.linspace(0, rate, 8)
        field = Field(np.arange(8), some_M, 100 * some_M, 0.0, some_M, np.outer(some_M, -some_M))
        return RULES[rule](field, STAG.opponents).tolist()

    assert weights(1.0) == weights(0.1)


@pytest.mark.parametrize("name", SELF_PLAY)
def test_presets_built_on_winning_are_refused_and_the_others_work(name):
    if name in ("openai_five", "alphago_zero", "alphastar", "alphastar_safe", "psro", "ftw"):
        with pytest.raises(ConfigError, match="goes by games won, and matrix:stag_hunt"):
            build(apply(replace(STAG, play=PlayConfig(worlds=16)), name))
    else:
        assert build(apply(STAG, name))


def test_the_default_preset_draws_uniformly_and_by_steps_where_nobody_wins():
    found, won = apply(STAG, "sparring"), apply(KUHN, "sparring")
    assert (found.opponents.sampler, found.opponents.late_sampler, found.pool.snapshot_mark) == ("uniform", "", 0.0)
    assert (won.opponents.sampler, won.opponents.late_sampler, won.pool.snapshot_mark) == ("pfsp_var", "pfsp_hard", 0.7)
    assert found.opponents.history == won.opponents.history and found.ppo.has_shadow


def test_where_nobody_wins_metrics_tell_what_the_learner_earned_with_each_kind():
    def faced(kind: str, games: int, won: int, earned: float) -> Faced:
        met = Meeting(0, Player("past", 1, kind), 1.0, False, games, won, 0, games - won, games, earned)
        return Faced(0, "learner", 0, kind, met)

    rows = [faced("past", 2, 2, 3.0), faced("past", 2, 1, 5.0), faced("self", 4, 2, 16.0)]
    stag, kuhn = registry.make("matrix:stag_hunt").spec, registry.make("kuhn").spec
    assert opponent_metrics(rows, stag) == {
        "games/past": 4, "earned/past": 2.0, "games/self": 4, "earned/self": 4.0
    }  # fmt: skip
    assert opponent_metrics(rows, replace(kuhn, score="outcome")) == {
        "games/past": 4, "points/past": 0.75, "games/self": 4
    }  # fmt: skip
    # A contest judged by return: points follow what was earned, 8 in four games at a stake of 8, whoever won more.
    assert opponent_metrics(rows, replace(kuhn, stake=8.0)) == {
        "games/past": 4, "points/past": 0.625, "earned/past": 2.0, "games/self": 4
    }  # fmt: skip
    assert opponent_metrics(rows, replace(kuhn, stake=0.0))["points/past"] == 0.75, "games won, where it has no stake"
