"""The league: it reads what was played, keeps the pool and decides who meets whom. Plain Python and NumPy.

Reports come late. `assign(i)` reads those of iterations up to i - 2 and no later one, even when it has it: so an
interrupted run that is resumed decides exactly as the uninterrupted one. All chance is (seed, iteration, name).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sparring.core.errors import ConfigError, RunError
from sparring.core.seeding import Seed
from sparring.league import desk
from sparring.league.config import CurriculumConfig, OpponentsConfig, PoolConfig, ladder_of
from sparring.league.curriculum import Level, Standing, levels, moved
from sparring.league.desk import Member
from sparring.league.drawing import Choice, draw_players
from sparring.league.events import Counted, Event, Evicted, Joined, Kept, SharesSet, Snapshot
from sparring.league.gates import NO_GATE, GateConfig, on_trial
from sparring.league.knowledge import Knowledge
from sparring.league.ledger import Score
from sparring.league.mixture import set_by_hand, shares
from sparring.league.orders import NORMAL, Block, Draw, Orders, Report, Result, orders_of
from sparring.league.player import BOT, GUEST, LEARNER, SHADOW, Player, bot_players, past_self
from sparring.league.pool import Pool, evictee, snapshot_due
from sparring.league.reading import read_report

POSTPONED = "a snapshot was postponed, because every member of the pool is pinned or still playing"


@dataclass
class League:
    """The one object with a state. `begin` makes it, `state` and `restored` carry it over an interruption."""

    opponents: OpponentsConfig
    pool_config: PoolConfig
    curriculum: CurriculumConfig
    bots: tuple[str, ...]
    can_mirror_B: np.ndarray
    can_face_B: np.ndarray
    seed: Seed
    total_steps: int
    from_birth: bool = False
    """The untrained learner is the pool's first member, so that there is a past from the start."""
    own_past: bool = True
    """Whether the pool holds copies of the learner itself, and not of whom it plays against where sides are unlike."""
    iteration: int | None = None
    """The last one that was ordered."""
    blocks: list[Block] = field(default_factory=list)
    inbox: list[Report] = field(default_factory=list)
    pool: Pool = field(default_factory=Pool)
    knowledge: Knowledge = field(default_factory=Knowledge)
    standing: Standing = field(default_factory=Standing)
    by_hand: dict[str, float] | None = None
    """Shares that somebody set; None: the schedules."""
    snapshots: int = 0
    """Taken so far: ids of past selves go on from here."""
    last_snapshot: int = 0
    """Steps when it was taken."""
    next_guest: int = GUEST
    """The id for the next guest."""
    gates: GateConfig = field(default_factory=GateConfig)
    trial: dict[int, Score] = field(default_factory=dict)
    """What was known of every player when the present trial for promotion began."""
    counts: Counter[str] = field(default_factory=Counter)
    """How often something happened that should be rare."""

    def __post_init__(self) -> None:
        self.can_mirror_B, self.can_face_B = np.asarray(self.can_mirror_B, bool), np.asarray(self.can_face_B, bool)
        self.blocks = self.blocks or [Block(Draw(LEARNER), Draw(LEARNER)) for _ in self.can_face_B]
        self.ladder: tuple[Player, ...] = bot_players(ladder_of(self.opponents, self.bots), self.bots)
        self.levels: tuple[Level, ...] = levels([bot.name for bot in self.ladder], self.curriculum)
        self._news: list[Event] = []

    @classmethod
    def begin(
        cls,
        opponents: OpponentsConfig,
        pool: PoolConfig,
        curriculum: CurriculumConfig,
        *,
        bots: tuple[str, ...],
        can_mirror_B: np.ndarray,
        can_face_B: np.ndarray,
        seed: Seed,
        total_steps: int,
        from_birth: bool = False,
        own_past: bool = True,
        gates: GateConfig = NO_GATE,
    ) -> League:
        """`bots` are all the game has, in the order of their ids; a block can mirror, face another player, or both."""
        return cls(
            opponents, pool, curriculum, tuple(bots), can_mirror_B, can_face_B, seed, total_steps, from_birth,
            own_past, gates=gates,
        )  # fmt: skip

    # The three doors of an iteration.

    def assign(self, iteration: int, progress: float, steps: int) -> Orders:
        """Read what is due, keep the pool, then give every drained block its next player."""
        reports, self.inbox = desk.due(self.inbox, iteration, self.iteration)
        self._news = []
        for report in reports:
            self._learn_from(report)
        self._keep_pool(steps)
        changed_B = self._give(iteration, min(1.0, max(0.0, progress)))
        self.iteration = iteration
        return orders_of(self.blocks, changed_B, self._news)

    def report(self, report: Report) -> None:
        """Put a report in the inbox. In time for `assign`, or the run could not be repeated."""
        self.inbox = desk.received(self.inbox, report, blocks=len(self.blocks), last=self.iteration)

    def row_of(self, player: int) -> int | None:
        """The row of the pool that holds a player's weights."""
        return self.pool.rows.get(player)

    # By hand.

    def add(self, player: Player) -> Event | str:
        """Take a guest into the pool, or say why not."""
        if not self.next_guest <= player.id < BOT:
            return f"{player.name} cannot join with the id {player.id}: the next guest is {self.next_guest}."
        row = self.pool.free_row(self.pool_config.pool_size)
        if row is None:
            return f"{player.name} cannot join: the pool of {self.pool_config.pool_size} is full. Remove a member."
        self.pool, self.next_guest = self.pool.joined_by(player, row), player.id + 1
        return Joined(player, row)

    def remove(self, player: int) -> Event | str:
        """Take a member out of the pool, or say when it will go or why not."""
        member = next((member for member in self.pool.players if member.id == player), None)
        if member is None:
            return f"No player {player} is in the pool."
        if player in desk.playing(self.blocks):
            self.pool = replace(self.pool, leaving=self.pool.leaving | {player})
            return f"{member.name} is drawn no more, and leaves the pool when its games have ended."
        return self._evict(member)

    def set_shares(self, wanted: Mapping[str, float], progress: float) -> Event:
        """Fix the shares from now on: those in `wanted` as they are, the others in their present proportions."""
        by_hand = set_by_hand(self.shares_at(progress), wanted)
        if by_hand["bots"] and not self.ladder:
            raise ConfigError("This game has no bots to give a share to.")
        if by_hand["history"] and not self.pool_config.pool_size:
            raise ConfigError("There is no pool to give a share to: pool_size=0.")
        self.by_hand = by_hand
        return SharesSet(by_hand)

    def reseat(self, can_mirror_B: np.ndarray, can_face_B: np.ndarray) -> None:
        """From now on the blocks can do this. Who plays now goes on playing."""
        self.can_mirror_B, self.can_face_B = np.asarray(can_mirror_B, bool), np.asarray(can_face_B, bool)

    def shares_at(self, progress: float) -> np.ndarray:
        """share_K of current, shadow, history and bots."""
        return shares(self.opponents, progress, bots=len(self.ladder), by_hand=self.by_hand)

    @property
    def players(self) -> tuple[Player, ...]:
        """All but the learner."""
        return (Player(id=SHADOW, name="shadow", kind="shadow"), *self.pool.players, *self.ladder)

    def members(self) -> tuple[Member, ...]:
        """All players but the learner: the shadow, the pool from the oldest, the ladder from the weakest."""
        return desk.described(self.players, self.knowledge.ledger, self.row_of)

    # What was played.

    def _learn_from(self, report: Report) -> None:
        level = self.standing.level if self.standing.level < len(self.levels) else NORMAL
        read = read_report(report, self.blocks, level)
        self.knowledge = self.knowledge.after(read.scores, self.opponents.forget)
        self._learn_quality(read.sampled)
        if self.levels:
            self.standing, event = moved(self.standing, self.levels, read.at_level, self.curriculum)
            self._news += [event] if event else []
        self.blocks = desk.after(self.blocks, report)

    def _learn_quality(self, sampled: Sequence[Result]) -> None:
        for group, samplers in (
            (self.pool.eligible, (self.opponents.sampler, self.opponents.late_sampler)),
            (self.ladder, (self.opponents.bot_sampler,)),
        ):
            if "quality" in samplers:
                ids = [player.id for player in group]
                self.knowledge = self.knowledge.after_wins(sampled, ids, self.opponents.quality_rate)

    # The pool.

    def _keep_pool(self, steps: int) -> None:
        playing = desk.playing(self.blocks)
        for player in self.pool.players:
            if player.id in self.pool.leaving - playing:
                self._news.append(self._evict(player))
        why = self._reason(steps)
        if why is None:
            return
        if self.pool.free_row(self.pool_config.pool_size) is None:
            leaver = self._evictee(steps, playing)
            if leaver is not None:
                self._news.append(self._evict(leaver))
        row = self.pool.free_row(self.pool_config.pool_size)
        if row is not None:
            self._snapshot(steps, row, why)
            return
        self._count(POSTPONED, 1)
        # The last one stays, or nobody of the past could be drawn; a pool of one has the shadow to step in.
        spare = not self.pool.leaving and (len(self.pool.eligible) > 1 or self.pool_config.pool_size == 1)
        retired = None if not spare else self._evictee(steps, set())
        if retired is not None:  # drawn no more, it is free in a while; else a small pool could be busy for ever
            self.pool = replace(self.pool, leaving=frozenset({retired.id}))

    def _reason(self, steps: int) -> str | None:
        """Why a snapshot is due now, in words where a gate decides; None where it is not."""
        newest = next((player for player in reversed(self.pool.eligible) if player.kind == "past"), None)
        if self.from_birth and self.iteration is None and self.pool_config.pool_size > 0:
            return ""
        if self.gates.gate != "none":
            return self._promoted(newest)
        low = self.knowledge.ledger.interval(newest.id).low if newest else 0.0
        due = snapshot_due(
            self.pool_config, steps=steps, last=self.last_snapshot, total_steps=self.total_steps, low=low
        )
        return "" if due else None

    def _promoted(self, champion: Player | None) -> str | None:
        """Why the learner has passed the gate; None while its trial goes on, or where it failed."""
        known = self.knowledge.ledger.score
        found = on_trial(self.gates, known, self.trial, champion, self.pool.players, self.ladder)
        if found.decided and not found.promote and champion:
            self.trial = dict(known)
            self._news.append(Kept(champion.name, found.why))
        return found.why if found.promote else None

    def _evictee(self, steps: int, referenced: set[int]) -> Player | None:
        ids = [player.id for player in self.pool.players]
        return evictee(
            self.pool.players,
            self.pool_config.eviction,
            now=steps,
            referenced=referenced,
            payoff_MM=self.knowledge.payoff(ids),
            rating_M=[self.knowledge.ledger.rating_of(player) for player in ids],
        )

    def _snapshot(self, steps: int, row: int, why: str) -> None:
        player = past_self(self.snapshots, born=steps)
        others = [member.id for member in self.pool.players]
        like = LEARNER if self.own_past else others[-1] if others else player.id
        self.knowledge = self.knowledge.with_copy(player.id, others, self.opponents.shrink, like)
        self.pool = self.pool.joined_by(player, row)
        self.snapshots, self.last_snapshot = self.snapshots + 1, steps
        self.trial = dict(self.knowledge.ledger.score) if self.gates.gate != "none" else {}
        self._news.append(Snapshot(player, row, why=why))

    def _evict(self, player: Player) -> Evicted:
        row = self.pool.rows[player.id]
        self.pool, self.knowledge = self.pool.without(player.id), self.knowledge.without(player.id)
        return Evicted(player, row)

    # Who meets whom.

    def _give(self, iteration: int, progress: float) -> np.ndarray:
        """Draw for every drained block that can face others; changed_B."""
        first = self.iteration is None  # nothing was played before: the worlds begin with what is drawn
        open_B = self.can_face_B & np.array([block.drained for block in self.blocks], bool)
        choice = Choice(
            opponents=self.opponents,
            curriculum=self.curriculum,
            progress=progress,
            share_K=self.shares_at(progress),
            ladder=self.ladder,
            history=self.pool.eligible,
            levels=self.levels,
            standing=self.standing,
            knowledge=self.knowledge,
        )
        draws, counts = draw_players(
            choice,
            can_mirror_B=self.can_mirror_B,
            can_face_B=self.can_face_B,
            open_B=open_B,
            seed=self.seed / "league" / iteration,
        )
        for b, drawn in draws.items():
            self.blocks[b] = Block(drawn if first else self.blocks[b].next, drawn, iteration, drained=False)
        for what, times in counts.items():
            self._count(what, times)
        return open_B & (not first)

    def _count(self, what: str, times: int) -> None:
        if times and what not in self.counts:
            self._news.append(Counted(what))
        if times:
            self.counts[what] += times

    # Interruptions.

    def state(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "bots": list(self.bots),
            "iteration": self.iteration,
            "blocks": [block.to_dict() for block in self.blocks],
            "inbox": [report.to_dict() for report in self.inbox],
            "pool": self.pool.to_dict(),
            "knowledge": self.knowledge.to_dict(),
            "standing": self.standing.to_dict(),
            "by_hand": self.by_hand,
            "snapshots": self.snapshots,
            "last_snapshot": self.last_snapshot,
            "next_guest": self.next_guest,
            "trial": {str(player): list(score) for player, score in self.trial.items()},
            "counts": dict(self.counts),
        }

    def restored(self, state: dict[str, Any]) -> League:
        """The league that gave this state; this one has just begun with the same settings."""
        size = self.pool_config.pool_size
        beyond = [member["name"] for member in state["pool"]["players"] if member["row"] >= size]
        if beyond:
            raise RunError(f"pool_size={size} has no row for {', '.join(beyond)}. Resume with a larger one.")
        for name, known, found in (
            ("bots", state["bots"], list(self.bots)),
            ("number of blocks", len(state["blocks"]), len(self.can_face_B)),
        ):
            if known != found:
                raise RunError(f"The {name} of the saved league was {known}, now it is {found}. Resume with the same.")
        return replace(
            self,
            iteration=state["iteration"],
            blocks=[Block.from_dict(block) for block in state["blocks"]],
            inbox=[Report.from_dict(report) for report in state["inbox"]],
            pool=Pool.from_dict(state["pool"]),
            knowledge=Knowledge.from_dict(state["knowledge"]),
            standing=Standing.from_dict(state["standing"]),
            by_hand=state["by_hand"],
            snapshots=state["snapshots"],
            last_snapshot=state["last_snapshot"],
            next_guest=state["next_guest"],
            trial={int(player): Score(*score) for player, score in state.get("trial", {}).items()},
            counts=Counter(state["counts"]),
        )
