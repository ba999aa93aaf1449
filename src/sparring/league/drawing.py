"""Which player each block gets. Pure: all it knows is in `Choice`, all chance in the seed it is given."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from sparring.core.seeding import Seed
from sparring.league.config import CurriculumConfig, OpponentsConfig
from sparring.league.curriculum import AT_LEVEL, Level, Standing, level_drawn
from sparring.league.knowledge import Knowledge
from sparring.league.mixture import BOTS, CURRENT, HISTORY, SHADOWS, kinds_of_blocks, systematic, without_history
from sparring.league.orders import Draw
from sparring.league.player import LEARNER, SHADOW, Player
from sparring.league.sampling import cleaned, pick, probabilities, weights
from sparring.ratings.payoff import RatingError

EMPTY = "no past self could be drawn, and its share went to others"
NOT_FINITE = "a rate was not finite, and one half was taken"
UNSOLVED = "the equilibrium of the pool was not found, and the draw was uniform"


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Who can be drawn now, and what is known of them."""

    opponents: OpponentsConfig
    curriculum: CurriculumConfig
    progress: float
    share_K: np.ndarray
    ladder: tuple[Player, ...]
    history: tuple[Player, ...]
    """Past selves and guests, the oldest first."""
    levels: tuple[Level, ...]
    standing: Standing
    knowledge: Knowledge


def draw_players(
    choice: Choice, *, can_mirror_B: np.ndarray, can_face_B: np.ndarray, open_B: np.ndarray, seed: Seed
) -> tuple[dict[int, Draw], Counter[str]]:
    """A draw for each open block, and how often what happened that should be rare."""
    counts: Counter[str] = Counter()
    kinds = (seed / "kinds").generator()
    kind_B = kinds_of_blocks(choice.share_K, can_mirror_B, can_face_B, kinds, open_B=open_B)
    governed_B = _governed(choice, kind_B > CURRENT, (seed / "curriculum").generator())
    empty_B = (kind_B == HISTORY) & ~governed_B & (not choice.history)
    if empty_B.any():
        counts[EMPTY] += int(empty_B.sum())
        kind_B = without_history(kind_B, empty_B, choice.share_K, can_mirror_B, kinds)
    number_B = (seed / "players").generator().random(len(open_B))
    wanted = sorted(set(kind_B[open_B & ~governed_B].tolist()))
    chances = {kind: _chances(choice, kind, counts) for kind in wanted}
    draws = {}
    for b in np.flatnonzero(open_B).tolist():
        if governed_B[b]:
            draws[b] = _level(choice, float(number_B[b]))
        else:
            players, probability_M = chances[int(kind_B[b])]
            place = int(pick(probability_M, number_B[b]))
            draws[b] = Draw(players[place], float(probability_M[place]))
    return draws, counts


def _governed(choice: Choice, facing_B: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """The blocks, of those that face others, that the curriculum governs."""
    governed_B = np.zeros(len(facing_B), bool)
    if choice.standing.level < len(choice.levels):
        share, chosen = choice.curriculum.curriculum_share.at(choice.progress), np.flatnonzero(facing_B)
        governed_B[chosen] = systematic(np.array([1.0 - share, share]), len(chosen), generator).astype(bool)
    return governed_B


def _level(choice: Choice, number: float) -> Draw:
    """The opponent of the level, or of the one below, for a number of [0, 1)."""
    standing = choice.standing.level
    level = level_drawn(standing, number)
    probability = (AT_LEVEL if level == standing else 1.0 - AT_LEVEL) if standing else 1.0
    way = choice.levels[level]
    if way.bot:
        return Draw(next(bot.id for bot in choice.ladder if bot.name == way.bot), probability, level=level)
    newest = [player.id for player in choice.history if player.kind == "past"][-1:]
    has_shadow = choice.opponents.shadow.start or choice.opponents.shadow.end or not newest
    return Draw(SHADOW if has_shadow else newest[0], probability, way.temperature, way.epsilon, level)


def _chances(choice: Choice, kind: int, counts: Counter[str]) -> tuple[list[int], np.ndarray]:
    """The players of a kind, and how likely each is; adds to `counts`."""
    if kind in (CURRENT, SHADOWS):
        return [LEARNER if kind == CURRENT else SHADOW], np.ones(1)
    config = choice.opponents
    players = choice.ladder if kind == BOTS else choice.history
    late = config.late_sampler if choice.progress >= config.late_from else ""
    rule = config.bot_sampler if kind == BOTS else late or config.sampler
    known = choice.knowledge.field(players, config.shrink, with_payoff=rule == "nash")
    counts[NOT_FINITE] += cleaned(known.rate_M)[1]
    try:
        weight_M = weights(rule, known, config)
    except RatingError:
        counts[UNSOLVED] += 1
        weight_M = np.zeros(len(players))
    floor_M = np.full(len(players), config.bot_floor / choice.share_K[BOTS]) if kind == BOTS else None
    return [player.id for player in players], probabilities(weight_M, floor_M)
