"""All that a league remembers from one iteration to the next, as one frozen record; and the rules that never change."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sparring.core.seeding import Seed
from sparring.league.blocks import Block, Inbox
from sparring.league.book import Book
from sparring.league.config import CurriculumConfig, OpponentsConfig, PoolConfig
from sparring.league.curriculum import Level, Standing, levels
from sparring.league.meta_game import MetaGame, MetaSolver
from sparring.league.player import NOBODY, Player, bot_players, learners_named, shadow_of
from sparring.league.pool import Pool
from sparring.league.role import Role
from sparring.league.score import Score


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What a league was made with."""

    names: tuple[str, ...]
    """Of the learners."""
    roles: tuple[Role, ...]
    config: OpponentsConfig
    pool: PoolConfig
    curriculum: CurriculumConfig
    mirror_B: tuple[bool, ...]
    """For the blocks of each learner: it can meet itself there, learning on both sides."""
    face_B: tuple[bool, ...]
    """The same: it can meet somebody else."""
    seed: Seed
    bots: tuple[str, ...] = ()
    """The run's ladder, weakest first; the place of a bot is its number."""
    fitting: tuple[tuple[str, ...], ...] = ()
    """Where sides are unlike: the bots that can drive each side."""
    sides: tuple[int, ...] = ()
    """Where sides are unlike: the one that each learner drives."""
    shadows: bool = True
    archive: bool = False
    """Every past player stays, on disk; `pool_size` of them are in memory at once. Else each learner has a pool of that
    size, and who leaves it is gone."""
    meta: MetaSolver | None = None
    """PSRO: how the meta-strategy follows from games between past players."""

    @property
    def learners(self) -> int:
        return len(self.names)

    @property
    def alone(self) -> bool:
        """One learner without a role, whose past needs no name but its own."""
        return self.learners == 1 and not self.roles[0].name

    @property
    def blocks_each(self) -> int:
        return len(self.face_B)

    @property
    def rows(self) -> int:
        """Of the pool, in memory."""
        return self.pool.pool_size * (1 if self.archive else self.learners)

    @cached_property
    def players(self) -> tuple[Player, ...]:
        """Whoever is there from the start: learners, shadows, bots."""
        live = learners_named(self.names, [role.name for role in self.roles])
        shadows = [shadow_of(one) for one in live] if self.shadows else []
        return (*live, *shadows, *bot_players(self.bots))

    @cached_property
    def owners(self) -> tuple[int, ...]:
        """Whose past each learner meets; NOBODY: everybody's."""
        own = range(self.learners)
        return tuple(NOBODY if self.archive else self.opposite(one) if self.sides else one for one in own)

    @cached_property
    def fitting_bots(self) -> tuple[int, ...]:
        """How many bots each learner can meet."""
        bots = [player for player in self.players if player.kind == "bot"]
        return tuple(sum(self.opposed(learner, bot) for bot in bots) for learner in range(self.learners))

    def opposite(self, learner: int) -> int:
        """Where sides are unlike, the learner of the other side that stands where this one does; else nobody."""
        return (learner + self.learners // 2) % self.learners if self.sides else NOBODY

    def same_side(self, learner: int, other: int) -> bool:
        """Whether one learner could play in the place of another."""
        return not self.sides or self.sides[learner] == self.sides[other]

    def opposed(self, learner: int, player: Player) -> bool:
        """Whether a player can sit opposite a learner: any where sides are alike, else one that drives the other
        side."""
        if not self.sides:
            return True
        if player.learner != NOBODY:
            return not self.same_side(learner, player.learner)
        return player.kind != "bot" or player.name in self.fitting[1 - self.sides[learner]]

    @cached_property
    def levels(self) -> tuple[tuple[Level, ...], ...]:
        """Of the curriculum, from the weakest up, for each learner; empty where there is none."""
        bots = [player for player in self.players if player.kind == "bot"]
        ladders = [[bot.name for bot in bots if self.opposed(one, bot)] for one in range(self.learners)]
        return tuple(levels(ladder, self.curriculum) for ladder in ladders)


@dataclass(frozen=True)
class Career:
    """What is remembered of one learner besides its games."""

    standing: Standing = field(default_factory=Standing)
    by_hand: dict[str, float] | None = None
    """Shares that somebody set, by branch; None: the schedules."""
    copied: int = 0
    """Steps when its last snapshot was taken."""
    anew: int = 0
    """The iteration in which it last got other weights: earlier games are not its own."""
    trial: dict[Player, Score] = field(default_factory=dict)
    """What was known of every player when the present trial for promotion began."""


@dataclass(frozen=True, eq=False)
class LeagueState:
    book: Book
    blocks: tuple[Block, ...]
    careers: tuple[Career, ...]
    iteration: int | None = None
    """The last one that was assigned."""
    inbox: Inbox = ()
    """What was played and is not old enough to be read."""
    pool: Pool = field(default_factory=Pool)
    snapshots: int = 0
    """Taken so far: numbers of past selves go on from here."""
    guests: int = 0
    """The same of guests."""
    counts: dict[str, int] = field(default_factory=dict)
    """How often something happened that should be rare."""
    meta: MetaGame = field(default_factory=MetaGame)
    """PSRO: what games between past players showed."""


@dataclass(frozen=True, eq=False)
class Assignment:
    """Who plays in each block in one iteration."""

    blocks: tuple[Block, ...]
    changed_B: np.ndarray
    """A new draw was made: every world moves to `next` at its next restart, also where the same player came again.

    Were such a block drained at once, it would draw again sooner, and likely players would get less than their share.
    """
    events: tuple
    """In the order in which they must be carried out, before the iteration."""
