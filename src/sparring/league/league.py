"""The league of one learner or several: it reads what was played, keeps the past and decides who meets whom. Plain
Python and NumPy.

Results come late. `assign(i)` reads those of iterations up to i - 2 and no later one, even when it has it: so an
interrupted run that is resumed decides exactly as the uninterrupted one. All chance is (seed, iteration, name).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sparring.core.errors import ConfigError, RunError, unknown
from sparring.core.names import checked_name
from sparring.core.plain import from_plain, to_plain
from sparring.league.blocks import Block, Draw, Meeting, Played, after, due, playing, received
from sparring.league.book import POOLED, Book
from sparring.league.copying import (
    POSTPONED,
    begun_anew,
    copied,
    evicted,
    put_back,
    refused,
    verdicts,
    with_career,
    with_free_row,
)
from sparring.league.curriculum import moved
from sparring.league.draws import Place, Table, draw_players, shares_of, table_of
from sparring.league.events import Counted, Event, Joined, Own, Recalled, SharesSet
from sparring.league.members import Member, members
from sparring.league.meta_game import MetaGame, MetaStrategy, Pair, meta_strategy, uniform
from sparring.league.mixture import set_by_hand
from sparring.league.outlook import Outlook, outlook_of
from sparring.league.player import NOBODY, Player
from sparring.league.pool import by_age
from sparring.league.results import read
from sparring.league.score import Score
from sparring.league.state import Assignment, Career, LeagueState, Rules
from sparring.ratings.payoff import RatingError

UNSOLVED = "the meta-game could not be solved, so past players are met alike"
CROWDED = "a past player could not be brought back, because all rows of the pool are playing"


@dataclass
class League:
    """Rules, which change only with the seating, and the one state, which every door replaces as a whole."""

    rules: Rules
    state: LeagueState
    news: list[Event] = field(default_factory=list)
    """What happened since the last assignment."""

    @classmethod
    def begin(cls, rules: Rules) -> League:
        mine = [Draw(player) for player in rules.players[: rules.learners] for _ in range(rules.blocks_each)]
        blocks = tuple(Block(draw, draw) for draw in mine)
        # Only eviction=redundant and sampler=nash ask what past players would reach among themselves: no archive does.
        book = Book.blank(rules.players, births=not rules.archive)
        return cls(rules, LeagueState(book, blocks, (Career(),) * rules.learners))

    # The doors of an iteration.

    def assign(self, iteration: int, progress: float, steps: int) -> Assignment:
        """Read what is due, keep the past, then give every drained block its next player."""
        old, waiting = due(self.state.inbox, iteration, self.state.iteration)
        self.state = replace(self.state, inbox=waiting)
        for played in old:
            self._learn_from(played)
        progress = min(1.0, max(0.0, progress))
        changed_B = self._give(iteration, progress, self._keep_past(iteration, progress, steps))
        self.state = replace(self.state, iteration=iteration)
        events, self.news = tuple(self.news), []
        return Assignment(self.state.blocks, changed_B, events)

    def report(self, played: Played) -> None:
        """Take what an iteration showed, in time to be read. Games against oneself show nothing."""
        mine = tuple(row for row in played.meetings if row.player != self.players[self.learner_of(row.block)])
        inbox = received(
            self.state.inbox, replace(played, meetings=mine), blocks=len(self.state.blocks), last=self.state.iteration
        )
        self.state = replace(self.state, inbox=inbox)

    # What it knows.

    @property
    def players(self) -> tuple[Player, ...]:
        return self.state.book.players

    def learner_of(self, block: int) -> int:
        return block // self.rules.blocks_each

    def outlook(self, progress: float = 0.0, *, in_memory: bool = False) -> Outlook:
        return outlook_of(self.rules, self.state, progress, in_memory=in_memory)

    def shares_at(self, progress: float, learner: int = 0) -> np.ndarray:
        return shares_of(self.rules, self.state, learner, progress)

    def members(self) -> tuple[Member, ...]:
        return members(self.rules, self.state)

    # What was played.

    def _learn_from(self, played: Played) -> None:
        found = read(self.rules, self.state, played)
        book = self.state.book.after(found.score_LM3, self.rules.config.forget)
        self.state = replace(self.state, book=book, blocks=after(self.state.blocks, played))
        for learner in range(self.rules.learners):
            self._learn_quality(learner, found.sampled[learner])
            self._climb(learner, found.at_level[learner])

    def _learn_quality(self, learner: int, sampled: Mapping[int, float]) -> None:
        for branch in self.rules.roles[learner].branches:
            if "quality" in (branch.draw, branch.late_draw) and sampled:
                group_M, won_M = self.outlook().who([branch.among], [learner], [NOBODY])[0], np.zeros(len(self.players))
                won_M[list(sampled)] = list(sampled.values())
                book = self.state.book.after_draws(learner, group_M, self.rules.config.quality_rate * won_M)
                self.state = replace(self.state, book=book)

    def _climb(self, learner: int, score: Score) -> None:
        levels, career = self.rules.levels[learner], self.state.careers[learner]
        if levels:
            standing, event = moved(career.standing, levels, score, self.rules.curriculum)
            self.state = with_career(self.state, learner, replace(career, standing=standing))
            self.news += [self._told(learner, event)] if event else []

    def _told(self, learner: int, event: Event) -> Event:
        return event if self.rules.learners == 1 else Own(self.rules.names[learner], event)

    # The past.

    def _keep_past(self, iteration: int, progress: float, steps: int) -> Outlook:
        """Let those go who have played their last games, copy those who are due, then put those back who start over:
        the copy is of what was learned. All verdicts are of what was known before any of it; what the learners see
        after it is returned."""
        gone = self.state.pool.leaving and self.state.pool.leaving - playing(self.state.blocks)
        for player in by_age(tuple(gone)):
            self.state, event = evicted(self.state, player)
            self.news.append(event)
        judged, outlook = self.state, self.outlook(progress)
        for learner, found in enumerate(verdicts(self.rules, self.state, outlook, steps)):
            if found.refused:
                self.state, event = refused(self.state, outlook, learner, found.refused)
                self.news.append(self._told(learner, event))
            if found.snapshot:
                taken = self.state.snapshots
                self.state, events = copied(self.rules, self.state, learner, iteration, steps, found.why)
                self.news += events
                self._count(POSTPONED, int(self.state.snapshots == taken))
            if found.reset:  # only now does chance matter; a generator for every learner would take a millisecond
                number = (self.rules.seed / "resets" / iteration / learner).generator().random()
                self.state, events = put_back(self.rules, self.state, learner, iteration, number)
                self.news += events
        return outlook if self.state is judged else self.outlook(progress)

    def descended(self, parents: Mapping[int, int], iteration: int) -> None:
        """Learners became copies of these others before this iteration was played."""
        for learner, parent in parents.items():
            self.state = begun_anew(self.state, learner, iteration, self.rules.players[parent])

    # Who meets whom.

    def _give(self, iteration: int, progress: float, outlook: Outlook, only: str = "") -> np.ndarray:
        """Draw for every drained block that can face others, if asked by one branch alone; changed_B."""
        first, rules = self.state.iteration is None, self.rules
        table = table_of(rules, self.state, iteration, progress)
        if only:
            names = [[branch.name == only for branch in role.branches] for role in rules.roles]
            table = replace(table, share_LK=np.array(names, float))
        generator = (rules.seed / "league" / iteration / "kinds").generator()
        draws, counts = draw_players(outlook, table, generator)
        for what, times in counts.items():
            self._count(what, times)
        blocks, busy, drawn = list(self.state.blocks), playing(self.state.blocks), set()
        for learner, place in np.argwhere(table.open_LB).tolist():
            draw = draws[learner, place]
            if not self._brought(draw.player, iteration, busy):
                draw = self._drawn_in_memory((learner, place), table, generator)
            busy.add(draw.player)
            drawn.add(draw.player)
            b = learner * rules.blocks_each + place
            # Nothing was played before the first: the worlds begin with what is drawn.
            blocks[b] = Block(draw if first else blocks[b].next, draw, iteration, drained=False)
        pool = self.state.pool
        used = {**pool.used, **{player: iteration for player in drawn if player in pool.rows}}
        self.state = replace(self.state, blocks=tuple(blocks), pool=replace(pool, used=used))
        return table.open_LB.ravel() & (not first)

    def _brought(self, player: Player, iteration: int, busy: set[Player]) -> bool:
        """Whether a player that was drawn can play: one of the pool if its weights are in memory, or fit in."""
        if player.kind not in POOLED or player in self.state.pool.rows:
            return True
        self.state, row = with_free_row(self.rules, self.state, busy)
        if row is None:
            return False
        self.state = replace(self.state, pool=self.state.pool.with_row(player, row, iteration))
        self.news.append(Recalled(player, row))
        return True

    def _drawn_in_memory(self, place: Place, table: Table, generator: np.random.Generator) -> Draw:
        """Another draw for a block where all rows of the pool are playing."""
        self._count(CROWDED, 1)
        open_LB = np.zeros(table.open_LB.shape, bool)
        open_LB[place] = True
        alone = replace(table, open_LB=open_LB)
        return draw_players(self.outlook(table.progress, in_memory=True), alone, generator)[0][place]

    def _count(self, what: str, times: int) -> None:
        counts = self.state.counts
        if times and what not in counts:
            self.news.append(Counted(what))
        if times:
            self.state = replace(self.state, counts={**counts, what: counts.get(what, 0) + times})

    # For a loop outside that has one learner in one block and tells results at once. Nobody plays between two calls:
    # who was drawn is in the hands of that loop, so everybody in the pool can leave it.

    def draw(self, progress: float, count: int = 1, only: str = "") -> tuple[Draw, ...]:
        """Whom the learner meets next, `count` times at once, so that shares are kept as in as many blocks; `only`: by
        this branch alone, as far as anybody is there."""
        iteration, rules, blocks = self._next_iteration(), self.rules, self.state.blocks
        led = replace(rules.curriculum, curriculum=rules.curriculum.curriculum and not only)
        self.rules = replace(rules, mirror_B=rules.mirror_B * count, face_B=rules.face_B * count, curriculum=led)
        self.state = replace(self.state, blocks=blocks * count)
        self._give(iteration, progress, self.outlook(progress), only)
        found = tuple(block.next for block in self.state.blocks)
        self.rules, self.state = rules, replace(self.state, blocks=blocks, iteration=iteration)
        return found

    def learn(self, draw: Draw, score: Score) -> bool:
        """Read games against one that was drawn; not those against oneself, nor against one who has left."""
        if draw.player == self.players[0] or draw.player not in self.state.book.roll.column:
            return False
        row = Meeting(0, draw.player, draw.probability, draw.weakened, score.games, *score)
        played, blocks = Played(self.state.iteration or 0, (row,), (True,)), self.state.blocks
        played.check(len(blocks))
        self.state = replace(self.state, blocks=(Block(draw, draw),))
        self._learn_from(played)
        self.state = replace(self.state, blocks=blocks)
        return True

    def keep(self, progress: float, steps: int, *, certainly: bool = False) -> tuple[Event, ...]:
        """Copy the learner where its role says so, or certainly; what happened since the last time."""
        iteration = self._next_iteration()
        if certainly:
            self.state, events = copied(self.rules, self.state, 0, iteration, steps, "")
            self.news += events
        else:
            self._keep_past(iteration, progress, steps)
        self.state = replace(self.state, iteration=iteration)
        happened, self.news = tuple(self.news), []
        return happened

    def _next_iteration(self) -> int:
        return 0 if self.state.iteration is None else self.state.iteration + 1

    # The meta-game of PSRO.

    @property
    def unsolved(self) -> bool:
        """Whether past players have joined since the meta-strategy was found."""
        return self.rules.meta is not None and len(self.state.meta.weight_M) < len(self.state.pool.players)

    def missing(self) -> tuple[Pair, ...]:
        """Pairs of an older and a younger past player whose games are needed for the next meta-strategy."""
        return self.state.meta.missing(self.state.pool.players)

    def learn_payoffs(self, payoffs: Mapping[Pair, float]) -> None:
        """What the older of each missing pair earned in a game. The next draws follow the new meta-strategy."""
        assert self.rules.meta is not None
        past = self.state.pool.players
        payoff_MM = self.state.meta.with_payoffs(past, payoffs)
        try:
            weight_M = meta_strategy(self.rules.meta, payoff_MM)
        except RatingError:
            self._count(UNSOLVED, 1)
            weight_M = uniform(len(past))
        self.state = replace(self.state, meta=MetaGame(payoff_MM, weight_M))
        weights = {player.name: float(weight) for player, weight in zip(past, weight_M, strict=True)}
        self.news.append(MetaStrategy(self.rules.meta, weights))

    def mixture(self) -> tuple[tuple[Player, float], ...]:
        """The past players of the meta-strategy with their weights."""
        return tuple(zip(self.state.pool.players, self.state.meta.weight_M.tolist(), strict=False))

    # By hand.

    def room(self) -> int:
        """How many guests can join now; in an archive past players give way to them, but for those that play."""
        pool, size = self.state.pool, self.rules.pool.pool_size
        if self.rules.archive:
            return size - len(playing(self.state.blocks) & set(pool.rows) | {p for p in pool.rows if p.kind == "guest"})
        return size - max(len(pool.of(learner)) for learner in range(self.rules.learners))

    def add(self, name: str, born: int, number: int) -> Event | str:
        """Take a guest into the pool, or say why not. Its number is the same for all seeds, and the next for none."""
        size = self.rules.pool.pool_size
        if number < self.state.guests:
            return f"{name} cannot join as guest {number}: the next is {self.state.guests}."
        if self.room() < 1:
            return f"{name} cannot join: the pool of {size} is full. Remove a member."
        self.state, row = with_free_row(self.rules, self.state, playing(self.state.blocks))
        assert row is not None
        guest = Player("guest", number, name, born=born)
        self.state = replace(
            self.state,
            pool=self.state.pool.joined_by(guest, row, self.state.iteration or 0),
            book=self.state.book.joined_by(guest, self.rules.owners, self.rules.config.shrink),
            guests=number + 1,
        )
        return Joined(guest, row)

    def remove(self, player: Player) -> Event | str:
        """Take a member out of the pool, or say when it will go or why not."""
        pool = self.state.pool
        if player not in pool.players:
            return f"{player.name} is not in the pool."
        if player in playing(self.state.blocks):
            self.state = replace(self.state, pool=replace(pool, leaving=pool.leaving | {player}))
            return f"{player.name} is drawn no more, and leaves the pool when its games have ended."
        self.state, event = evicted(self.state, player)
        return event

    def set_shares(self, wanted: Mapping[str, float], progress: float) -> Event:
        """Fix shares from now on: those in `wanted` as they are, the others in their present proportions. Learners
        whose role has none of these branches go on as they were."""
        names = {branch.name for role in self.rules.roles for branch in role.branches}
        for name, share in wanted.items():
            self._check_share(name, share, names)
        said: dict[str, float] = {}
        for learner, role in enumerate(self.rules.roles):
            own = {branch.name for branch in role.branches}
            asked = {name: share for name, share in wanted.items() if name in own}
            if asked:
                by_hand = set_by_hand(role.branches, self.shares_at(progress, learner), asked)
                career = replace(self.state.careers[learner], by_hand=by_hand)
                self.state = with_career(self.state, learner, career)
                said = said or by_hand
        return SharesSet(said)

    def _check_share(self, name: str, share: Any, names: set[str]) -> None:
        """Refuse a share that cannot be given; it may come from a file."""
        if name not in names:
            raise ConfigError(unknown("share", name, names))
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise ConfigError(f"The share of {name} must be a number in [0, 1], found {share!r}.")
        if share and name == "bots" and not any(player.kind == "bot" for player in self.rules.players):
            raise ConfigError("This game has no bots to give a share to.")
        if share and name == "history" and not self.rules.pool.pool_size:
            raise ConfigError("There is no pool to give a share to: pool_size=0.")
        if share and name == "shadow" and not self.rules.shadows:
            raise ConfigError("There is no shadow to give a share to: the run has no shadow_half_life.")

    def reseat(self, mirror_B: Sequence[bool], face_B: Sequence[bool]) -> None:
        """From now on the blocks of each learner can do this. Who plays now goes on playing."""
        self.rules = replace(self.rules, mirror_B=tuple(mirror_B), face_B=tuple(face_B))

    # Interruptions.

    def saved(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"names": list(self.rules.names), "bots": list(self.rules.bots), "state": to_plain(self.state)}

    def restored(self, saved: Mapping[str, Any]) -> League:
        """The league that was saved; this one has just begun with the same rules. What is in a file is not believed."""
        state = from_plain(LeagueState, saved["state"])
        for player in (*state.book.players, *state.pool.players, *state.pool.rows):
            checked_name(player.name)
        for what, known, found in (
            ("learners", saved["names"], list(self.rules.names)),
            ("bots", saved["bots"], list(self.rules.bots)),
            ("number of blocks", len(state.blocks), len(self.state.blocks)),
        ):
            if known != found:
                raise RunError(f"The {what} of the saved league: {known}, now: {found}. Resume with the same.")
        beyond = [player.name for player, row in state.pool.rows.items() if row >= self.rules.rows]
        if beyond:
            size = self.rules.pool.pool_size
            raise RunError(f"pool_size={size} has no row for {', '.join(beyond)}. Resume with a larger one.")
        return League(self.rules, state)
