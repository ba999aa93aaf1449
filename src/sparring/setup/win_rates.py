"""Rules of self-play that read rates of winning, and games that nobody wins: the two do not go together."""

from collections.abc import Iterator
from typing import Any, get_args

from sparring.core.errors import ConfigError
from sparring.core.spec import GameSpec
from sparring.league.config import ByAge
from sparring.league.stages import parse_stages
from sparring.setup.config import RunConfig

BY_AGE: tuple[str, ...] = get_args(ByAge)
AS_DEFAULT = "as --self-play sparring does here"
COUNTS_WINS = ("points/", "won/", "drawn/")
"""Metrics that are there only where games are won."""


def check_win_rates(spec: GameSpec, config: RunConfig) -> None:
    """Refuse every rule that reads rates of winning where nobody wins."""
    if spec.has_winners:
        return
    for setting, value, instead in rules_of_winning(config):
        raise ConfigError(
            f"{setting}={value} goes by games won, and {config.game} is not won or lost: its sides earn returns, and "
            f"to earn more than the other is not the aim. {instead}"
        )


def rules_of_winning(config: RunConfig) -> Iterator[tuple[str, Any, str]]:
    """The rules in use that read wins: the setting, its value, and what to do where nobody wins."""
    opponents, pool, population = config.opponents, config.pool, config.population
    for setting in ("sampler", "late_sampler", "bot_sampler"):
        rule = getattr(opponents, setting)
        if rule and rule not in BY_AGE:
            yield setting, rule, f"Use uniform, {AS_DEFAULT}, or another rule of age: {', '.join(BY_AGE)}."
    if opponents.follow == "rate":
        yield "follow", "rate", "Use time."
    if pool.snapshot_mark:
        yield "snapshot_mark", pool.snapshot_mark, f"Set it to 0, {AS_DEFAULT}: copies are then made by steps alone."
    if pool.eviction == "redundant":
        yield "eviction", pool.eviction, f"Use log_spaced, {AS_DEFAULT}, or oldest."
    if config.curriculum.curriculum:
        yield "curriculum", "true", "Leave it out; bots can have a share instead."
    if config.defeats.defeat_share:
        yield "defeat_share", config.defeats.defeat_share, "Set it to 0: there are no defeats to try again."
    if config.gates.gate != "none":
        yield "gate", config.gates.gate, f"Set it to none, {AS_DEFAULT}: copies are then made by steps alone."
    for role in ("mains", "oracles"):
        if count := getattr(config.roles, role):
            yield role, count, f"Set it to 0 and give shadow and history a share, {AS_DEFAULT}."
    if population.population and population.pbt_against == "bots":
        yield "pbt_against", "bots", "Use each_other: members are then compared by what each earns with its own copy."
    for stage in parse_stages(config.stages):
        if stage.metric.startswith(COUNTS_WINS):
            yield "stages: until", stage.metric, "End the stage by a return, such as return/seat_0."
