"""A league of learners with roles, after AlphaStar or PSRO: one pool of past players, and whom each learner meets.

It has the same doors as the league of one learner (league.py): `assign` reads reports of iterations up to i - 2, takes
snapshots, resets, and gives every drained block its next player; `report` takes what was played. Learners are ids from
RIVAL up. All past players stay on disk; at most `pool_size` of them are in memory, and who is drawn is brought back.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from typing import Any

import numpy as np

from sparring.core.errors import RunError
from sparring.core.seeding import Seed
from sparring.league import desk
from sparring.league.config import OpponentsConfig
from sparring.league.desk import Member
from sparring.league.events import Counted, Event, Recalled, Reset, Snapshot
from sparring.league.ledger import Ledger, Score
from sparring.league.meta_game import MetaGame, MetaStrategy, Pair, meta_strategy, uniform
from sparring.league.orders import Block, Draw, Orders, Report, orders_of
from sparring.league.player import LEARNER, PAST, RIVAL, Player, past_rival
from sparring.league.pool import Pool
from sparring.league.roles import Chosen, Rival, RolesConfig, Verdict, View, base_steps, choose, role_of, roles, verdict
from sparring.ratings.payoff import RatingError

UNSOLVED = "the meta-game could not be solved, so past players are met alike"
CROWDED = "a past player could not be brought back, because all rows of the pool are playing"


def role_names(config: RolesConfig) -> tuple[str, ...]:
    """Of the learners, numbered where a role has several; none where there are no roles."""
    found = roles(config)
    return tuple(
        role + (f"_{found[:place].count(role)}" if found.count(role) > 1 else "") for place, role in enumerate(found)
    )


@dataclass
class RoleLeague:
    """The one object with a state; `state` and `restored` carry it over an interruption."""

    roles: RolesConfig
    opponents: OpponentsConfig
    pool_size: int
    """Past players in memory at once."""
    names: tuple[str, ...]
    """Of the learners: mains, main exploiters, league exploiters; or oracles."""
    blocks_each: int
    """Blocks of each learner, one learner after another."""
    seed: Seed
    total_steps: int
    iteration: int | None = None
    blocks: list[Block] = field(default_factory=list)
    inbox: list[Report] = field(default_factory=list)
    past: tuple[Player, ...] = ()
    """Every snapshot, the oldest first."""
    pool: Pool = field(default_factory=Pool)
    """Those in memory."""
    used: dict[int, int] = field(default_factory=dict)
    """The iteration for which each of those was last drawn."""
    ledgers: list[Ledger] = field(default_factory=list)
    """Of each learner, by whom it met."""
    since: list[int] = field(default_factory=list)
    """Steps when each learner's last snapshot was taken."""
    anew: list[int] = field(default_factory=list)
    """The iteration in which each learner last began anew: earlier games are not its own."""
    counts: Counter[str] = field(default_factory=Counter)
    meta: MetaGame = field(default_factory=MetaGame)
    """PSRO: what games between past players showed."""

    def __post_init__(self) -> None:
        learners = range(len(self.names))
        self.rivals = tuple(
            Player(id=RIVAL + place, name=self.names[place], kind="rival", role=role_of(self.roles, place))
            for place in learners
        )
        mine = [Draw(rival.id) for rival in self.rivals for _ in range(self.blocks_each)]
        self.blocks = self.blocks or [Block(draw, draw) for draw in mine]
        self.ledgers = self.ledgers or [Ledger() for _ in learners]
        self.since = self.since or [0 for _ in learners]
        self.anew = self.anew or [0 for _ in learners]
        self._news: list[Event] = []

    # The doors of an iteration.

    def assign(self, iteration: int, progress: float, steps: int) -> Orders:
        del progress  # shares of roles do not change over the run
        reports, self.inbox = desk.due(self.inbox, iteration, self.iteration)
        for report in reports:
            self._learn_from(report)
        views = self._judge(iteration, steps)
        changed_B = self._give(iteration, views)
        self.iteration = iteration
        events, self._news = self._news, []
        return orders_of(self.blocks, changed_B, events)

    def report(self, report: Report) -> None:
        self.inbox = desk.received(self.inbox, report, blocks=len(self.blocks), last=self.iteration)

    def row_of(self, player: int) -> int | None:
        return self.pool.rows.get(player)

    def learner_of(self, block: int) -> int:
        return block // self.blocks_each

    @property
    def players(self) -> tuple[Player, ...]:
        """All that there are, learners first."""
        return (*self.rivals, *self.past)

    def members(self) -> tuple[Member, ...]:
        """All learners, then all past players: what the first learner's games against them showed."""
        found = desk.described(self.players, self.ledgers[0], self.row_of)
        known = {player.id for player in self.past[: len(self.meta.weight_M)]}
        return tuple(
            one._replace(weight=self.weight(one.player.id)) if one.player.id in known else one for one in found
        )

    # What was played.

    def _learn_from(self, report: Report) -> None:
        scores: list[dict[int, Score]] = [defaultdict(Score) for _ in self.names]
        for row in report.rows:
            learner = self.learner_of(row.block)
            if not self.blocks[row.block].draws_of(row.player, report.iteration):
                raise RunError(
                    f"Block {row.block} reports games against player {row.player} in iteration {report.iteration}, "
                    f"but was not given it. Check who acted there."
                )
            if not self._says_something(learner, row.player, report.iteration):
                continue
            scores[learner][row.player] = scores[learner][row.player].plus(Score(row.won, row.drawn, row.lost))
            if RIVAL <= row.player < PAST:  # the other is a learner too, and this was also its game
                other, mirrored = row.player - RIVAL, Score(row.lost, row.drawn, row.won)
                scores[other][RIVAL + learner] = scores[other][RIVAL + learner].plus(mirrored)
        pairs = zip(self.ledgers, scores, strict=True)
        self.ledgers = [ledger.after(score, self.opponents.forget) for ledger, score in pairs]
        self.blocks = desk.after(self.blocks, report)

    def _says_something(self, learner: int, player: int, iteration: int) -> bool:
        """Not games against oneself, and not those of weights that are gone."""
        both = [learner] + ([player - RIVAL] if RIVAL <= player < PAST else [])
        return player != self.rivals[learner].id and all(iteration >= self.anew[one] for one in both)

    def view(self, learner: int) -> View:
        """What one learner's role decides by."""
        me, ledger, shrink = self.rivals[learner], self.ledgers[learner], self.opponents.shrink
        rates = {player: fading.rate(shrink) for player, fading in ledger.fading.items()}
        # Thousands of pairs in every iteration: what the roles in use do not ask for is left out.
        bounds, rated, mixed = self.roles.judge == "bound", self.roles.main_rule != "shares", self.roles.oracles > 0

        def rivals(players: Sequence[Player]) -> tuple[Rival, ...]:
            plain = (Rival(player, rates.get(player.id, 0.5)) for player in players)
            if not (bounds or rated or mixed):
                return tuple(plain)
            return tuple(
                rival._replace(
                    interval=ledger.recent(rival.player.id) if bounds else None,
                    rating=0.0 if rival.player is me else ledger.rating_of(rival.player.id) - ledger.rating_of(LEARNER),
                    weight=self.weight(rival.player.id),
                )
                for rival in plain
            )

        return View(me.id, role_of(self.roles, learner), rivals(self.rivals), rivals(self.past))

    # The meta-game of PSRO.

    @property
    def unsolved(self) -> bool:
        """Whether past players have joined since the meta-strategy was found."""
        return self.roles.oracles > 0 and len(self.meta.weight_M) < len(self.past)

    def missing(self) -> tuple[tuple[Player, Player], ...]:
        """Pairs of an older and a younger past player whose games are needed for the next meta-strategy."""
        known = {player.id: player for player in self.past}
        return tuple((known[older], known[younger]) for older, younger in self.meta.missing(self.past))

    def learn_payoffs(self, payoffs: Mapping[Pair, float]) -> None:
        """What the older of each missing pair earned in a game. The next orders follow the new meta-strategy."""
        payoff_MM = self.meta.with_payoffs(self.past, payoffs)
        try:
            weight_M = meta_strategy(self.roles.meta, payoff_MM)
        except RatingError:
            self._count(UNSOLVED)
            weight_M = uniform(len(self.past))
        self.meta = MetaGame(payoff_MM, weight_M)
        weights = {player.name: float(weight) for player, weight in zip(self.past, weight_M, strict=True)}
        self._news.append(MetaStrategy(self.roles.meta, weights))

    def weight(self, player: int) -> float:
        """Of a past player in the meta-strategy; 0 where that does not know it yet."""
        place = player - PAST
        return float(self.meta.weight_M[place]) if 0 <= place < len(self.meta.weight_M) else 0.0

    # Snapshots and resets.

    def _judge(self, iteration: int, steps: int) -> list[View]:
        """Copy those who are due, then put those back who begin anew: the copy is of what was learned.

        The untrained mains or oracles are the first past players, so that there is a past from the start. Returns what
        every learner sees then.
        """
        learners = len(self.names)
        base = base_steps(self.roles, self.total_steps // learners)
        views = [self.view(learner) for learner in range(learners)]
        for learner, view in enumerate(views):
            own = (steps - self.since[learner]) // learners  # all learners go at one pace
            judged = partial(verdict, view, self.roles, steps=own, base=base)
            found = judged(number=0.0)
            if found.reset:  # only now does chance matter; a generator for every learner would take a millisecond
                found = judged(number=(self.seed / "resets" / iteration / learner).generator().random())
            if self.iteration is None and view.role in ("main", "oracle"):
                found = Verdict(snapshot=True, reset=False, why="")
            for deed in found.deeds:
                if deed == "snapshot":
                    self._snapshot(learner, iteration, steps, found.why)
                else:
                    self._reset(learner, iteration)
        return [self.view(learner) for learner in range(learners)] if self._news else views

    def _snapshot(self, learner: int, iteration: int, steps: int, why: str) -> None:
        player = past_rival(len(self.past), self.rivals[learner], born=steps)
        row = self._free_row(set())
        self.past, self.since[learner] = (*self.past, player), steps
        self.ledgers[learner] = self.ledgers[learner].born(player.id)
        if row is not None:
            self._seat(player, row, iteration)
        self._news.append(Snapshot(player, row, learner, why))

    def _reset(self, learner: int, iteration: int) -> None:
        self._forget(learner, iteration)
        self._news.append(Reset(learner, self.names[learner]))

    def _forget(self, learner: int, iteration: int) -> None:
        """What games of the old weights showed is no longer true of anybody."""
        me, self.anew[learner] = self.rivals[learner].id, iteration
        self.ledgers = [
            Ledger() if place == learner else ledger.without(me) for place, ledger in enumerate(self.ledgers)
        ]

    def descended(self, parent_M: np.ndarray, iteration: int) -> None:
        """Mains became copies of others before this iteration was played."""
        for learner in np.flatnonzero(parent_M != np.arange(len(parent_M))).tolist():
            self._forget(learner, iteration)

    # Who is in memory.

    def _free_row(self, wanted: set[int]) -> int | None:
        """An empty row, or that of whoever was drawn longest ago of those that nobody plays or wants."""
        row = self.pool.free_row(self.pool_size)
        if row is not None:
            return row
        busy = desk.playing(self.blocks) | wanted
        idle = [player for player in self.pool.rows if player not in busy]
        if idle:
            leaver = min(idle, key=lambda player: (self.used[player], player))
            row = self.pool.rows[leaver]
            self.pool = self.pool.without(leaver)
            del self.used[leaver]
        return row

    def _seat(self, player: Player, row: int, iteration: int) -> None:
        self.pool = self.pool.joined_by(player, row)
        self.used[player.id] = iteration

    def _brought(self, player: int, iteration: int, wanted: set[int]) -> bool:
        """Whether a drawn player can play: a learner always, a past one if it is in memory or fits in."""
        if player < PAST:
            return True
        if player not in self.pool.rows:
            row = self._free_row(wanted)
            if row is None:
                return False
            found = next(one for one in self.past if one.id == player)
            self._seat(found, row, iteration)
            self._news.append(Recalled(found, row))
        self.used[player] = iteration
        return True

    # Who meets whom.

    def _give(self, iteration: int, views: Sequence[View]) -> np.ndarray:
        """Draw for every drained block; changed_B."""
        first = self.iteration is None
        open_B = np.array([block.drained for block in self.blocks], bool)
        number_B = (self.seed / "draws" / iteration).generator().random(len(self.blocks))
        wanted: set[int] = set()
        for learner, mine in groupby(np.flatnonzero(open_B).tolist(), self.learner_of):
            view, mine = views[learner], list(mine)
            for b, chosen in zip(mine, choose(view, self.roles, number_B[mine], self.opponents), strict=True):
                if not self._brought(chosen.player, iteration, wanted):
                    chosen = self._of_those_here(view, float(number_B[b]), iteration)
                wanted.add(chosen.player)
                drawn = Draw(chosen.player, chosen.probability)
                self.blocks[b] = Block(drawn if first else self.blocks[b].next, drawn, iteration, drained=False)
        return open_B & (not first)

    def _of_those_here(self, view: View, number: float, iteration: int) -> Chosen:
        """A draw from the past players in memory, when no row is free for another."""
        self._count(CROWDED)
        here = tuple(rival for rival in view.past if rival.player.id in self.pool.rows)
        (chosen,) = choose(view._replace(past=here), self.roles, np.array([number]), self.opponents)
        self._brought(chosen.player, iteration, set())
        return chosen

    def _count(self, what: str) -> None:
        if what not in self.counts:
            self._news.append(Counted(what))
        self.counts[what] += 1

    # Interruptions.

    def state(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "names": list(self.names),
            "iteration": self.iteration,
            "blocks": [block.to_dict() for block in self.blocks],
            "inbox": [report.to_dict() for report in self.inbox],
            "past": [player.to_dict() for player in self.past],
            "pool": self.pool.to_dict(),
            "used": [[player, when] for player, when in self.used.items()],
            "ledgers": [ledger.to_dict() for ledger in self.ledgers],
            "since": list(self.since),
            "anew": list(self.anew),
            "counts": dict(self.counts),
            "meta": self.meta.to_dict(),
        }

    def restored(self, state: dict[str, Any]) -> RoleLeague:
        """The league that gave this state; this one has just begun with the same settings."""
        found = {"names": list(self.names), "number of blocks": len(self.blocks)}
        saved = {"names": state["names"], "number of blocks": len(state["blocks"])}
        if found != saved:
            raise RunError(f"The saved league had {saved}, now it has {found}. Resume with the same roles and blocks.")
        return replace(
            self,
            iteration=state["iteration"],
            blocks=[Block.from_dict(block) for block in state["blocks"]],
            inbox=[Report.from_dict(report) for report in state["inbox"]],
            past=tuple(Player.from_dict(player) for player in state["past"]),
            pool=Pool.from_dict(state["pool"]),
            used=dict(state["used"]),
            ledgers=[Ledger.from_dict(ledger) for ledger in state["ledgers"]],
            since=list(state["since"]),
            anew=list(state["anew"]),
            counts=Counter(state["counts"]),
            meta=MetaGame.from_dict(state["meta"]) if "meta" in state else MetaGame(),
        )
