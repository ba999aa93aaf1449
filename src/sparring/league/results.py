"""What results say: about players, about draws by rules of sampling, about levels of the curriculum."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sparring.core.errors import RunError
from sparring.league.blocks import NORMAL, Draw, Meeting, Played
from sparring.league.player import Player
from sparring.league.score import Score
from sparring.league.state import LeagueState, Rules


class Read(NamedTuple):
    score_LM3: np.ndarray
    """Games at full strength, each told once: a weakened player says nothing about what it was."""
    sampled: Sequence[Mapping[int, float]]
    """Of each learner, by column: the share of wins in the games of each draw, divided by the chance of that draw, and
    summed over draws."""
    at_level: Sequence[Score]
    """Of each learner at its level of the curriculum."""


def read(rules: Rules, state: LeagueState, played: Played) -> Read:
    """Sort results by whom the blocks were given. Games that may belong to the old draw or to the next count for a
    level only where both are of it."""
    learners = range(rules.learners)
    score_LM3 = np.zeros(state.book.count_LM3.shape)
    sampled: list[dict[int, float]] = [defaultdict(float) for _ in learners]
    at_level, level_L = [Score() for _ in learners], [level_of(rules, state, learner) for learner in learners]
    for row in played.meetings:
        learner, draws = row.block // rules.blocks_each, draws_behind(state, row, played.iteration)
        if not says_something(state, learner, row.player, played.iteration):
            continue
        column, score = state.book.roll.column[row.player], row.score
        levels = {draw.level for draw in draws}
        if not row.weakened:
            score_LM3[learner, column] += score
        if row.games and levels == {NORMAL}:
            sampled[learner][column] += row.won / row.games / row.probability
        if levels == {level_L[learner]}:
            at_level[learner] = at_level[learner].plus(score)
    return Read(score_LM3, sampled, at_level)


def draws_behind(state: LeagueState, row: Meeting, iteration: int) -> tuple[Draw, ...]:
    block = state.blocks[row.block]
    draws = block.draws_of(row.player, iteration)
    if not draws:
        raise RunError(
            f"Block {row.block} reports games against {row.player.name} in iteration {iteration}, but was given "
            f"{block.old.player.name} and {block.next.player.name}. Check who acted there."
        )
    return draws


def says_something(state: LeagueState, learner: int, player: Player, iteration: int) -> bool:
    """Not games of weights that are gone."""
    rival = state.careers[player.number].anew if player.kind == "learner" else 0
    return iteration >= max(state.careers[learner].anew, rival)


def level_of(rules: Rules, state: LeagueState, learner: int) -> int:
    level = state.careers[learner].standing.level
    return level if level < len(rules.levels[learner]) else NORMAL
