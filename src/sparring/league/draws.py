"""Whom each block of a learner meets. Pure: all it knows is in `Outlook`, all chance in the numbers it is given."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sparring.league.blocks import Draw
from sparring.league.book import Book
from sparring.league.config import CurriculumConfig, OpponentsConfig
from sparring.league.curriculum import AT_LEVEL, Level, Standing, level_drawn
from sparring.league.mixture import CURRENT, NO_BRANCH, OWN_SHADOW, branches_of_blocks, systematic
from sparring.league.player import NOBODY, Player
from sparring.league.role import Among, Below, Branch, Role
from sparring.league.roles import ALONE
from sparring.league.sampling import Field, cleaned, pick, probabilities, weights
from sparring.league.score import recent
from sparring.ratings.payoff import RatingError

EMPTY = "no past self could be drawn, and its share went to others"
NOT_FINITE = "a rate was not finite, and one half was taken"
UNSOLVED = "the equilibrium of the pool was not found, and the draw was uniform"
META = "meta"


@dataclass(frozen=True)
class Outlook:
    """What one learner can see when it is given an opponent."""

    me: int
    """Its place in the line-up, and so its column in the book."""
    role: Role
    book: Book
    here_M: np.ndarray
    """Who can sit opposite: not those who are leaving, nor, where sides are unlike, those of the learner's own side."""
    config: OpponentsConfig
    opposite: int = NOBODY
    """Where sides are unlike, the learner whose present, shadow and past it meets as its own would be."""
    weight_M: np.ndarray | None = None
    """Of past players in the meta-strategy of PSRO."""
    late: bool = False
    """Rules for late in the run hold."""

    @cached_property
    def rate_M(self) -> np.ndarray:
        """The learner's rate against everybody, old games counting less; one half where unknown."""
        return self.book.rates(self.me, self.config.shrink)

    @cached_property
    def known_M(self) -> np.ndarray:
        """The same, and one half where a rate is not finite."""
        return cleaned(self.rate_M)[0]

    @cached_property
    def flawed(self) -> bool:
        """Whether a rate is not finite."""
        return cleaned(self.rate_M)[1] > 0

    @cached_property
    def _all_here(self) -> bool:
        return bool(self.here_M.all())

    def columns(self, among: Among, target: int = NOBODY) -> np.ndarray:
        """The players that are meant, the oldest first."""
        own = self.me if self.opposite == NOBODY else self.opposite
        owner = None if among.whose == "anyone" else target if among.whose == "target" else own
        found = self.book.roll.columns(among.kinds, among.role, owner)
        if not self._all_here:
            found = found[self.here_M[found]]
        if among.others:
            found = found[found != self.me]
        return found[: forgotten(self.known_M[found])] if among.forgotten else found

    def below(self, mark: float, columns: np.ndarray, *, or_equal: bool = False) -> bool:
        """Whether the rate against any of these is below a mark; by the judge of bounds, surely below."""
        if self.role.judge == "bound":
            most = np.array([recent(self.book.fading_LM3[self.me, column]).high for column in columns])
        else:
            most = self.known_M[columns]
        return bool((most <= mark).any() if or_equal else (most < mark).any())

    def beaten(self, mark: float, columns: np.ndarray) -> bool:
        """Whether the rate against all of these is above a mark. Nobody to beat is no victory: otherwise an empty
        league would be filled with untrained copies."""
        if self.role.judge == "bound":
            least = np.array([recent(self.book.fading_LM3[self.me, column]).low for column in columns])
        else:
            least = self.known_M[columns]
        return len(columns) > 0 and bool((least > mark).all())


def forgotten(rate_M: np.ndarray) -> int:
    """Of the versions of one learner, the oldest first, how many come before the last one that is easier than its
    predecessor.

    Newer versions are normally harder, so the longest suffix on which the rate never rises is as it should be and is
    stripped. (AlphaStar's pseudocode also keeps the easier version itself. The least rate, which is compared with the
    mark, is the same.) Rates decide here whatever the judge: this is an order, not a mark.
    """
    rises = np.flatnonzero(np.diff(rate_M) > 0)
    return int(rises[-1]) + 1 if len(rises) else 0


class Way(NamedTuple):
    """What a branch comes to now: players by column, and how likely each is."""

    branch: Branch
    columns: np.ndarray
    chance_M: np.ndarray
    flaws: tuple[str, ...] = ()
    """What went wrong on the way, and should be rare."""


class Chosen(NamedTuple):
    player: Player
    probability: float
    """Of this player by this branch, among all that could have been chosen."""
    branch: str


def prospects(outlook: Outlook, share_K: np.ndarray) -> tuple[Chosen, ...]:
    """All that a role can be given, each player once in each branch, with probabilities of sum 1."""
    total: dict[tuple[Player, str], float] = defaultdict(float)
    for branch, share in zip(outlook.role.branches, share_K.tolist(), strict=True):
        found = ways(outlook, branch, share)
        for way in found:
            for column, chance in zip(way.columns.tolist(), way.chance_M.tolist(), strict=True):
                total[outlook.book.players[column], way.branch.name] += share * chance / len(found)
    return tuple(Chosen(player, share, name) for (player, name), share in total.items() if share > 0)


def ways(outlook: Outlook, branch: Branch, share: float = 1.0) -> tuple[Way, ...]:
    """What a branch with this share of the blocks comes to, one way for each of its targets; none: nobody is found."""
    targets = outlook.columns(Among(("learner",), role=branch.target)).tolist() if branch.target else [NOBODY]
    found = [way_of(outlook, branch, target, share) for target in targets]
    return tuple(way for way in found if way is not None)


def way_of(outlook: Outlook, branch: Branch, target: int, share: float) -> Way | None:
    """The branch, or the one that takes its place where nobody is found or its condition does not hold."""
    columns = outlook.columns(branch.among, target)
    if len(columns) and met(outlook, branch, columns, target):
        weight_M, flaws = weighed(outlook, branch, columns)
        floor_M = np.full(len(columns), branch.floor_each / share) if branch.floor_each else None
        return Way(branch, columns, probabilities(weight_M, floor_M), flaws)
    return None if branch.otherwise is None else way_of(outlook, branch.otherwise, target, share)


def met(outlook: Outlook, branch: Branch, columns: np.ndarray, target: int) -> bool:
    """Whether the conditions of a branch are."""

    def holds(condition: Below) -> bool:
        asked = columns if condition.among is None else outlook.columns(condition.among, target)
        return outlook.below(condition.mark, asked, or_equal=condition.or_equal)

    return (branch.when is None or holds(branch.when)) and not (branch.unless and holds(branch.unless))


def weighed(outlook: Outlook, branch: Branch, columns: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
    """weight_M of the players of a branch by its rule, and what went wrong."""
    book, rule = outlook.book, branch.late_draw if outlook.late and branch.late_draw else branch.draw
    if rule == META:
        return (np.zeros(len(columns)) if outlook.weight_M is None else outlook.weight_M[columns]), ()
    known = Field(
        born_M=book.roll.born_M[columns],
        rate_M=outlook.known_M[columns],
        rating_M=book.rating_M[columns],
        own_rating=float(book.rating_M[outlook.me]),
        quality_M=book.quality_LM[outlook.me, columns],
        payoff_MM=book.payoff(columns.tolist()) if rule == "nash" else None,
    )
    flaws = (NOT_FINITE,) * (cleaned(outlook.rate_M[columns])[1] if outlook.flawed else 0)
    try:
        return weights(rule, known, outlook.config), flaws
    except RatingError:
        return np.zeros(len(columns)), (*flaws, UNSOLVED)


@dataclass(frozen=True, kw_only=True)
class Table:
    """The blocks of a learner, and what else decides whom they are given."""

    can_mirror_B: np.ndarray
    can_face_B: np.ndarray
    open_B: np.ndarray
    """Those that are given somebody now."""
    number_B: np.ndarray
    """Of [0, 1): which player of its branch each is given."""
    share_K: np.ndarray
    progress: float
    curriculum: CurriculumConfig
    levels: tuple[Level, ...] = ()
    standing: Standing = field(default_factory=Standing)


def draw_players(
    outlook: Outlook, table: Table, generator: np.random.Generator
) -> tuple[dict[int, Draw], Counter[str]]:
    """A draw for each open block, and how often what happened that should be rare."""
    branches = outlook.role.branches
    current = next((k for k, branch in enumerate(branches) if branch.name == CURRENT), NO_BRANCH)
    branch_B = branches_of_blocks(
        table.share_K, table.can_mirror_B, table.can_face_B, generator, open_B=table.open_B, current=current
    )
    governed_B = governed(table, table.open_B & (branch_B != current), generator)
    free_B = table.open_B & ~governed_B
    found = {k: ways(outlook, branches[k], float(table.share_K[k])) for k in set(branch_B[free_B].tolist()) if k >= 0}
    counts = Counter(flaw for asked in found.values() for way in asked for flaw in way.flaws)
    empty = [k for k, asked in found.items() if not asked]
    if empty:
        empty_B = free_B & np.isin(branch_B, empty)
        counts[EMPTY] += int(empty_B.sum())
        branch_B[empty_B] = refuge(outlook, table, table.can_mirror_B[empty_B], current, generator)
    draws = {b: at_level(outlook, table, float(table.number_B[b])) for b in np.flatnonzero(governed_B).tolist()}
    for k in set(branch_B[free_B].tolist()):
        if k not in found:
            found[k] = last_resort(outlook) if k == NO_BRANCH else ways(outlook, branches[k], float(table.share_K[k]))
        mine = np.flatnonzero(free_B & (branch_B == k))
        draws |= zip(mine.tolist(), drawn(outlook.book, found[k], table.number_B[mine], table.progress), strict=True)
    return draws, counts


def governed(table: Table, facing_B: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """The blocks, of those that face others, that the curriculum governs."""
    governed_B = np.zeros(len(facing_B), bool)
    if table.standing.level < len(table.levels):
        share, chosen = table.curriculum.curriculum_share.at(table.progress), np.flatnonzero(facing_B)
        governed_B[chosen] = systematic(np.array([1.0 - share, share]), len(chosen), generator).astype(bool)
    return governed_B


def refuge(
    outlook: Outlook, table: Table, mirrors_N: np.ndarray, current: int, generator: np.random.Generator
) -> np.ndarray:
    """branch_N of N blocks whose own branch found nobody: the current self where a block can mirror, else whoever has a
    share and is there; -1: nobody."""
    branch_N = np.full(len(mirrors_N), current)
    there_K = np.array(
        [k != current and share > 0 and bool(ways(outlook, branch, share))
         for k, (branch, share) in enumerate(zip(outlook.role.branches, table.share_K.tolist(), strict=True))]
    )  # fmt: skip
    stuck = np.flatnonzero(~mirrors_N | (current == NO_BRANCH))
    refuge_K = table.share_K * there_K
    branch_N[stuck] = NO_BRANCH
    if refuge_K.sum() > 0:
        branch_N[stuck] = systematic(refuge_K / refuge_K.sum(), len(stuck), generator)
    return branch_N


def last_resort(outlook: Outlook) -> tuple[Way, ...]:
    """Nobody with a share is there: the shadow is the nearest to the learner itself, which is met where there is
    none."""
    return ways(outlook, OWN_SHADOW) or ways(outlook, ALONE)


def drawn(book: Book, found: Sequence[Way], number_N: np.ndarray, progress: float) -> list[Draw]:
    """The players on which numbers of [0, 1) fall; the ways of a branch have equal parts of its share."""
    chance_M = np.concatenate([way.chance_M for way in found]) / len(found)
    column_M = np.concatenate([way.columns for way in found])
    branches = [way.branch for way in found for _ in way.columns]

    def draw(place: int) -> Draw:
        branch = branches[place]
        weakness = branch.temperature.at(progress), branch.epsilon.at(progress)
        return Draw(book.players[column_M[place]], float(chance_M[place]), *weakness)

    return [draw(place) for place in pick(chance_M, number_N).tolist()]


def at_level(outlook: Outlook, table: Table, number: float) -> Draw:
    """The opponent of the level, or of the one below, for a number of [0, 1)."""
    standing = table.standing.level
    level = level_drawn(standing, number)
    probability = (AT_LEVEL if level == standing else 1.0 - AT_LEVEL) if standing else 1.0
    way, players = table.levels[level], outlook.book.players
    if way.bot:
        bot = next(player for player in players if player.kind == "bot" and player.name == way.bot)
        return Draw(bot, probability, level=level)
    newest = outlook.columns(Among(("past",), whose="own"))[-1:]
    shadow = outlook.columns(OWN_SHADOW.among)
    shared = any(branch.name == "shadow" and branch.ever for branch in outlook.role.branches)
    place = shadow if len(shadow) and (shared or not len(newest)) else newest
    if not len(place):
        place = outlook.columns(ALONE.among)
    return Draw(players[int(place[0])], probability, way.temperature, way.epsilon, level)
