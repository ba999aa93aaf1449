"""Who opposes the learners: a league for each seed, the stages of the game's rules, and how defeats are tried again."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from sparring.core.errors import RunError
from sparring.core.plain import from_plain, to_plain
from sparring.core.seeding import Seed
from sparring.games.game import Game
from sparring.league.blocks import LATE, Block, Draw, Meeting, Played
from sparring.league.curriculum import Retries
from sparring.league.events import Event, Staged
from sparring.league.league import League
from sparring.league.members import live_ratings
from sparring.league.mixture import beside, mixture
from sparring.league.player import Player
from sparring.league.pool import snapshot_interval
from sparring.league.population import Copied
from sparring.league.role import Role
from sparring.league.roles import base_steps, role_of, roles
from sparring.league.stages import Stage, StageState, advanced, parse_stages
from sparring.league.state import Assignment, Rules
from sparring.play.rollout import Duels
from sparring.players.guests import Guest
from sparring.setup.build import Built, ladder_of
from sparring.setup.config import has_bots, has_pool
from sparring.setup.program import Orders
from sparring.setup.reseat import layout_now
from sparring.training.packing import packed_orders


class Faced(NamedTuple):
    """Games of a learner against one player in one block, as they are recorded."""

    seed: int
    learner: str
    side: int
    kind: str
    """Of the player as the learner sees it: self and rival are learners."""
    meeting: Meeting


class Second(NamedTuple):
    """Games of an iteration that began before an earlier defeat, for each seed."""

    iteration: int
    results_R4: np.ndarray
    """Games, and of these won, drawn, lost."""


class Marks(NamedTuple):
    """What stages are judged by in an iteration: metrics, unknown ones left out."""

    iteration: int
    metrics: dict[str, float]


SAVED: dict[str, Any] = {
    "stage": StageState, "unread": tuple[Marks, ...], "retries": tuple[Retries, ...], "tries": tuple[Second, ...],
    "kinds": dict[str, int], "arriving": dict[int, str],
}  # fmt: skip
"""What a checkpoint has of an opposition besides its leagues and guests, by field."""


@dataclass
class Opposition:
    """Carries what the leagues decide to the device and results back; keeps stages, retries and guests beside them."""

    built: Built
    leagues: list[League]
    """One for each seed."""
    standing: Orders
    """What the program is told where nobody changes."""
    stages: tuple[Stage, ...] = ()
    """Rules of the game that change as marks are passed."""
    stage: StageState = field(default_factory=StageState)
    unread: tuple[Marks, ...] = ()
    """Until they are old enough to be read."""
    retries: tuple[Retries, ...] = ()
    """For each seed, how far back defeats are tried again; empty where they are not."""
    tries: tuple[Second, ...] = ()
    """Second tries, until they are read."""
    decided: dict[int, list[Assignment]] = field(default_factory=dict)
    """By iteration, until its results are in."""
    rated: dict[int, list[dict[str, float]]] = field(default_factory=dict)
    """The same: the ratings of every seed's learners, as they were known when the iteration was decided on."""
    guests: dict[Player, Guest] = field(default_factory=dict)
    kinds: dict[str, int] = field(default_factory=dict)
    """Families of guests that are built unlike the learner, with the command that brought the first of each."""
    arriving: dict[int, str] = field(default_factory=dict)
    """Guests that wait for a member to leave: the commands that brought them, with their names."""

    @classmethod
    def begin(cls, built: Built) -> "Opposition":
        seeds = built.seeds_R if built.plan.seating.changing else ()
        leagues = [League.begin(rules_of(built, int(seed))) for seed in seeds]
        defeats = built.config.defeats
        farthest = min(defeats.defeat_reach, built.plan.steps)
        retries = (Retries(farthest),) * len(built.seeds_R) if defeats.defeat_share else ()
        return cls(built, leagues, built.standing, parse_stages(built.config.stages), retries=retries)

    @classmethod
    def restored(cls, built: Built, state: dict[str, Any], guests: dict[Player, Guest]) -> "Opposition":
        """`built` in the seating of the checkpoint, with its guests: see `guests.as_saved`."""
        begun = cls.begin(built)
        if any("state" not in own for own in state["leagues"]):
            raise RunError(
                "The leagues of this run come from an earlier version and cannot be resumed. Train it again."
            )
        leagues = zip(begun.leagues, state["leagues"], strict=bool(begun.leagues))
        plain = {name: from_plain(kind, state[name]) for name, kind in SAVED.items()}
        return replace(begun, leagues=[league.restored(own) for league, own in leagues], guests=dict(guests), **plain)

    def saved(self) -> dict[str, Any]:
        """Plain data, from which `restored` goes on exactly: with what control by hand has changed, the layout of the
        blocks and the guests."""
        self.forget_guests()
        layout = layout_now(self.built.plan.seating) if self.leagues else None
        return {
            "leagues": [league.saved() for league in self.leagues],
            **{name: to_plain(getattr(self, name)) for name in SAVED},
            "layout": None if layout is None else [list(layout.mirror_B), list(layout.face_B)],
            "guests": [[to_plain(player), guest.saved()] for player, guest in self.guests.items()],
        }

    def forget_guests(self) -> None:
        """Let go of those who have left every pool."""
        here = {player for league in self.leagues for player in league.state.pool.rows}
        self.guests = {player: guest for player, guest in self.guests.items() if player in here}

    @property
    def game(self) -> Game:
        """The game with the rules of the present stage."""
        return self.built.game_of(self.stage.number)

    def read(self, lines: list[dict[str, Any]]) -> None:
        """Keep what the stages are judged by: the mean over seeds of the metrics they name."""
        names = {stage.metric for stage in self.stages if stage.metric}
        if names:
            known = {name: [line[name] for line in lines if line.get(name) is not None] for name in names}
            means = {name: float(np.mean(values)) for name, values in known.items() if values}
            self.unread = (*self.unread, Marks(lines[0]["iteration"], means))

    def assign(self, iteration: int) -> tuple[Orders, list[tuple[Event, ...]]]:
        """The orders of an iteration, and for each seed the events that must happen before it."""
        staged = self.next_stage(iteration)
        orders = self.standing._replace(rule=self.built.rule_in(self.stage.number))
        if self.retries:
            self.retries = tuple(self.coped(iteration, r) for r in range(len(self.retries)))
            self.tries = tuple(second for second in self.tries if second.iteration > iteration - LATE)
            orders = orders._replace(reach=jnp.asarray([one.reach for one in self.retries], jnp.int32))
        if not self.leagues:
            return orders, [staged] * self.built.config.seeds if staged else []
        progress, steps = self.built.progress(iteration), iteration * self.built.steps_per_iteration
        assigned = [league.assign(iteration, progress, steps) for league in self.leagues]
        self.decided[iteration] = assigned
        if self.built.game.spec.has_winners:
            self.rated[iteration] = [live_ratings(league.rules, league.state) for league in self.leagues]
        orders = packed_orders(self.built.plan.seating, self.leagues, assigned, self.guests, orders)
        return orders, [staged + assignment.events for assignment in assigned]

    def descended(self, events_R: Sequence[Sequence[Event]], iteration: int) -> None:
        """Tell the leagues which members of a population have become copies of others before this iteration."""
        for league, events in zip(self.leagues, events_R, strict=bool(self.leagues)):
            parents = {event.member: event.parent for event in events if isinstance(event, Copied)}
            league.descended(parents, iteration)

    def next_stage(self, iteration: int) -> tuple[Event, ...]:
        """Go on to the stage that metrics of old enough iterations have reached; the event where that is another."""
        before = self.stage.number
        for marks in self.unread:
            if marks.iteration <= iteration - LATE:
                self.stage = advanced(self.stage, self.stages, marks.metrics)
        self.unread = tuple(marks for marks in self.unread if marks.iteration > iteration - LATE)
        if self.stage.number == before:
            return ()
        stage = self.stages[self.stage.number]
        return (Staged(self.stage.number + 1, len(self.stages), dict(stage.settings), stage.plays),)

    def coped(self, iteration: int, r: int) -> Retries:
        """How far back defeats are tried again, after the second tries that are old enough to be read."""
        found, farthest = self.retries[r], self.built.plan.steps
        for second in self.tries:
            if second.iteration <= iteration - LATE:
                _, won, drawn, lost = second.results_R4[r].tolist()
                found = found.after(won, drawn, lost, self.built.config.defeats, farthest)
        return found

    def observe(self, iteration: int, duels: Duels | None, second_tries: Any = None) -> list[Faced]:
        """Tell the leagues what an iteration brought, and say who was faced."""
        if second_tries is not None:
            self.tries = (*self.tries, Second(iteration, np.asarray(second_tries, int)))
        if duels is None:
            return []
        faced = []
        for r, (league, assignment) in enumerate(zip(self.leagues, self.decided.pop(iteration), strict=True)):
            own = Duels(*(np.asarray(x)[r] for x in duels))
            meetings = meetings_of(assignment.blocks, own)
            judged = tuple(meeting.counted(self.built.game.spec) for meeting in meetings)
            drained_X = np.repeat(own.drained_B, self.built.plan.seating.away)
            league.report(Played(iteration, judged, tuple(drained_X.tolist())))
            faced += [self.faced(int(self.built.seeds_R[r]), league, meeting) for meeting in meetings]
        return faced

    def faced(self, seed: int, league: League, meeting: Meeting) -> Faced:
        learner, player = league.learner_of(meeting.block), meeting.player
        kind = player.kind if player.kind != "learner" else "self" if player.number == learner else "rival"
        seating = self.built.plan.seating
        home = seating.home_B[meeting.block // seating.away]
        return Faced(seed, self.built.lineup.names[learner], home, kind, meeting)


def meetings_of(blocks: Sequence[Block], duels: Duels) -> tuple[Meeting, ...]:
    """Every player that completed games with a learner in each block."""
    counts_72X = np.stack([np.asarray(x) for x in duels[:7]])

    def meeting(slot: int, block: int, draw: Draw) -> Meeting:
        games, won, drawn, lost, length, *returns = counts_72X[:, slot, block].tolist()
        whole = (int(count) for count in (games, won, drawn, lost, length))
        return Meeting(block, draw.player, draw.probability, draw.weakened, *whole, *returns)

    draws = ([block.old for block in blocks], [block.next for block in blocks])
    return tuple(
        meeting(slot, block, draw)
        for slot in range(2)
        for block, draw in enumerate(draws[slot])
        if counts_72X[0, slot, block]
    )


def rules_of(built: Built, seed: int) -> Rules:
    """What the league of one seed is made with."""
    config, spec, names = built.config, built.game.spec, built.lineup.names
    pool = config.pool if has_pool(config) else replace(config.pool, pool_size=0)
    layout, alike, bots = layout_now(built.plan.seating), spec.exchangeable_sides, built.game.bots()
    each_side = len(names) // 2
    return Rules(
        names=names,
        roles=roles_of(built),
        config=config.opponents,
        pool=pool,
        curriculum=config.curriculum,
        mirror_B=per_lane(built, [mirror or not alike for mirror in layout.mirror_B]),  # unlike: its opposite
        face_B=per_lane(built, layout.face_B),
        seed=Seed.of(seed) / "league",
        bots=ladder_of(built.game, config) if has_bots(config) else (),
        fitting=() if alike else tuple(bots.fitting(side) for side in range(spec.sides)),
        sides=() if alike else tuple(learner // each_side for learner in range(len(names))),
        shadows=config.ppo.has_shadow,
        archive=config.roles.active,
        meta=config.roles.meta if config.roles.oracles else None,
    )


def per_lane(built: Built, flag_B: Sequence[bool]) -> tuple[bool, ...]:
    """What holds for the blocks of a learner, for each of their away lanes: to a league, every one of those is a block
    of its own, so that self, shadow and past may sit at one table."""
    return tuple(flag for flag in flag_B for _ in range(built.plan.seating.away))


def roles_of(built: Built) -> tuple[Role, ...]:
    """Of every learner: those of the config's league, or all the plain mixture."""
    config, learners = built.config, len(built.lineup.names)
    if not config.roles.active:
        every = snapshot_interval(config.pool, config.total_steps)
        plain = mixture(config.opponents, every=every, mark=config.pool.snapshot_mark, gate=config.gates)
        return (plain,) * learners
    every = learners * base_steps(config.roles, config.total_steps // learners)
    named = roles(config.roles) * (1 if built.game.spec.exchangeable_sides else built.game.spec.sides)
    kinds = {
        name: beside(role_of(name, config.roles, every=every, gate=config.gates), config.opponents) for name in named
    }
    return tuple(kinds[name] for name in named)
