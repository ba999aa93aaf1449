"""What a stage changes in a run: rules of the game, who plays in the learners' place, and whether they look ahead."""

from collections.abc import Sequence

import numpy as np

from sparring.core.errors import ConfigError, unknown
from sparring.games.game import Game
from sparring.league.stages import Stage, parse_stages
from sparring.play.scripted import RANDOM, bot_names
from sparring.play.seating import Group, Seating
from sparring.setup.config import RunConfig
from sparring.setup.needs import PLANNER
from sparring.setup.program import LEARNED, PLANNED


def check_stages(game: Game, config: RunConfig, seating: Seating) -> None:
    """Every stage must be readable, and name rules that the game has and bots that can play in the learners' place."""
    bots = game.bots()
    learning = {side for i in seating.learning for row in seating.groups[i].lanes for _, side in row}
    sides = sorted({game_side(seating, side) for side in learning})
    check_end(config)
    for stage in parse_stages(config.stages):
        game.with_rules(**dict(stage.settings))
        if stage.plays and config.changing:
            raise ConfigError(
                f"play={','.join(stage.plays)} seats bots in the learners' place, and results would count for these "
                "where opponents change. Leave out shares, roles and curriculum (--self-play latest)."
            )
        if len(stage.plays) not in (0, 1, game.spec.sides):
            raise ConfigError(f"play= names one bot, or one for each of {game.spec.sides} sides, found {stage.plays}.")
        for side in sides:
            name = player_of(stage, side) or RANDOM
            if name == PLANNER:
                continue
            if name not in bot_names(game):
                raise ConfigError(unknown(f"bot of {config.game}", name, (*bot_names(game), PLANNER)))
            if name != RANDOM and name not in bots.fitting(side):
                raise ConfigError(
                    f"{name} cannot drive side {side} of {config.game}. Name a bot for each side, separated by commas: "
                    f"play={','.join((bots.fitting(k) or (RANDOM,))[0] for k in range(game.spec.sides))}"
                )


def check_end(config: RunConfig) -> None:
    """Bots may play to the end only where something learns from watching them."""
    stages = parse_stages(config.stages)
    minds = config.mind.on or any(said.partition("=")[0].endswith(".mind") for said in config.learner)
    if stages and stages[-1].plays and not minds:
        raise ConfigError(
            f"play={','.join(stages[-1].plays)} lets bots play to the end of the run, so that the learners would learn "
            f"nothing. Say until when, and then leave it to them: --stages '{config.stages[-1]} until steps > 200k' ''"
        )


def rule_names(stages: Sequence[Stage]) -> tuple[str, ...]:
    """The bots that ever play in the learners' place."""
    return tuple(dict.fromkeys(name for stage in stages for name in stage.plays if name != PLANNER))


def plans(stages: Sequence[Stage]) -> bool:
    """Whether learners look ahead in any of them."""
    return any(PLANNER in stage.plays for stage in stages)


def player_of(stage: Stage, side: int) -> str:
    """The bot in the place of who learns on a side of the game; empty: none."""
    return stage.plays[side if len(stage.plays) > 1 else 0] if stage.plays else ""


def game_side(seating: Seating, side: int) -> int:
    """The side of the game to which a driven side belongs."""
    return seating.spec.side_of_seat[seating.seats_of_side[side][0]]


def rule_rows(stages: Sequence[Stage], seating: Seating, number: int) -> list[np.ndarray] | None:
    """For each learning group the row among `rule_names` in the place of each learner, or that of one that looks ahead,
    [P]; None where learners play as they are in every stage."""
    names = rule_names(stages)
    if not any(stage.plays for stage in stages):
        return None

    def row(group: Group, learner: int) -> int:
        name = player_of(stages[number], game_side(seating, group.lanes[learner][0][1]))
        return PLANNED if name == PLANNER else names.index(name) if name else LEARNED

    groups = [seating.groups[i] for i in seating.learning]
    return [np.asarray([row(group, p) for p in range(group.players)], np.int32) for group in groups]
