"""Control by hand: what people ask of a run while it trains, obeyed between two iterations.

What was obeyed is kept with its iteration, so that a run that goes back to a checkpoint repeats it there.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

from sparring.core.errors import ConfigError, SparringError, unknown
from sparring.league.events import Event
from sparring.league.league import League
from sparring.league.mixture import CURRENT
from sparring.league.player import Player
from sparring.players.checkpointed import believing, newest
from sparring.players.guests import Guest, as_saved, free_name, free_roster_row, plain_name, read_guest, with_row
from sparring.setup.build import Built, build
from sparring.setup.config import RunConfig
from sparring.setup.line_up import Layout
from sparring.setup.needs import stored_config
from sparring.setup.reseat import layout_now, reseated, wide
from sparring.store.commands import Command, obeyed_from, taken, waiting
from sparring.store.run_dir import RunDir
from sparring.training.opposition import Opposition, per_lane


@dataclass(frozen=True)
class Refused(Event):
    says: ClassVar[str] = "Command {0.command} was refused: {0.reason}"
    command: int
    reason: str


@dataclass(frozen=True)
class Leaving(Event):
    """A member was removed that still plays."""

    says: ClassVar[str] = "{0.reason}"
    reason: str


@dataclass(frozen=True)
class Waiting(Event):
    says: ClassVar[str] = "{0.name} joins the pool when the member that is leaving has left."
    name: str


@dataclass(frozen=True)
class Reseated(Event):
    """The program is compiled again."""

    says: ClassVar[str] = "Every block has room for new players now: the program is compiled again."
    families: tuple[str, ...]


@dataclass
class Control:
    """What to obey, and when."""

    run: RunDir
    repeats: dict[int, list[Command]] = field(default_factory=dict)
    """Commands that were obeyed after the checkpoint from which the run goes on, by iteration: they are obeyed there
    again. New ones wait until all of these are."""

    @classmethod
    def of(cls, run: RunDir, start: int) -> "Control":
        return cls(run, obeyed_from(run, start))

    def obey(self, opposition: Opposition, iteration: int) -> list[list[Event]]:
        """Do what is asked before an iteration; for each seed, what happened."""
        if self.repeats:
            commands = self.repeats.pop(iteration, [])
        else:
            commands = [taken(self.run, number, iteration) for number in waiting(self.run)]
        events_R: list[list[Event]] = [[] for _ in opposition.built.seeds_R]
        again = [Command(number, {"do": "add", "name": name}) for number, name in opposition.arriving.items()]
        for command in (*again, *commands):
            for events, new in zip(events_R, obeyed_or_refused(opposition, self.run, command, iteration), strict=True):
                events += new
        return events_R


def obeyed_or_refused(opposition: Opposition, run: RunDir, command: Command, iteration: int) -> list[list[Event]]:
    """What happened, seed by seed. A command comes from a file, so whatever is wrong with it must not end the run: it
    is refused with the reason, and so it is again when the run goes back before it."""
    try:
        return obeyed(opposition, run, command, iteration)
    except SparringError as error:
        reason = str(error)
    except Exception as error:
        reason = f"it failed ({type(error).__name__}: {str(error)[:200]})."
    return [[Refused(command.number, reason)] for _ in opposition.built.seeds_R]


def obeyed(opposition: Opposition, run: RunDir, command: Command, iteration: int) -> list[list[Event]]:
    wish = command.wish
    if command.damage:
        raise ConfigError(f"{command.damage}.")
    check_changing(opposition.built.config)
    if wish.get("do") == "shares":
        return set_shares(opposition, wish.get("shares"), iteration)
    if wish.get("do") == "add":
        return add(opposition, run, command, iteration)
    if wish.get("do") == "remove":
        return remove(opposition, str(wish.get("name")))
    raise ConfigError(unknown("wish", str(wish.get("do")), ("shares", "add", "remove")))


def check_changing(config: RunConfig) -> None:
    if not config.changing:
        raise ConfigError(
            "This run's learners meet nobody but each other, and keep no pool. Train with a share of shadow, history "
            "or bots; then shares and pool can be changed."
        )


def check_shares(league: League, wanted: Any, progress: float) -> None:
    """Refuse shares that the run cannot give; the league stays as it is."""
    if not isinstance(wanted, dict) or not wanted:
        names = dict.fromkeys(branch.name for role in league.rules.roles for branch in role.branches)
        raise ConfigError(f"Name a share to set: {', '.join(names)}.")
    replace(league).set_shares(wanted, progress)  # a copy: the state is replaced as a whole, never changed


def set_shares(opposition: Opposition, wanted: Any, iteration: int) -> list[list[Event]]:
    """Shares from now on. Where the blocks have no room for the share of the current self, they are made wider."""
    built, leagues = opposition.built, opposition.leagues
    progress = built.progress(iteration)
    for league in leagues:
        check_shares(league, wanted, progress)
    events: list[list[Event]] = [[league.set_shares(wanted, progress)] for league in leagues]
    layout, names = layout_now(built.plan.seating), [branch.name for branch in leagues[0].rules.roles[0].branches]
    shares = [float(league.shares_at(progress)[names.index(CURRENT)]) for league in leagues if CURRENT in names]
    if built.game.spec.exchangeable_sides and not all(has_room(layout, share) for share in shares):
        reseat(opposition, reseated(built, wide(len(layout.face_B)), tuple(opposition.kinds)))
        events = [[*own, Reseated(tuple(opposition.kinds))] for own in events]
    return events


def has_room(layout: Layout, share: float) -> bool:
    """Whether the current self can have this share of the blocks."""
    always = sum(mirror and not face for mirror, face in zip(layout.mirror_B, layout.face_B, strict=True))
    wanted = share * len(layout.face_B)
    return always - 1e-6 <= wanted <= sum(layout.mirror_B) + 1e-6


def reseat(opposition: Opposition, built: Built) -> None:
    """Let the leagues decide for another seating. Who plays now goes on playing."""
    layout = layout_now(built.plan.seating)
    opposition.built, opposition.standing = built, built.standing
    for league in opposition.leagues:
        league.reseat(per_lane(built, layout.mirror_B), per_lane(built, layout.face_B))


def add(opposition: Opposition, run: RunDir, command: Command, iteration: int) -> list[list[Event]]:
    """Take a guest into every league's pool that has room; where a member is about to leave, the guest waits."""
    leagues, built = opposition.leagues, opposition.built
    waits = command.number in opposition.arriving
    opposition.arriving.pop(command.number, None)
    family, policy = read_guest(built, run, command.number)
    if any(league.state.pool.leaving and league.room() < 1 for league in leagues):
        opposition.arriving[command.number] = str(command.wish.get("name"))
        return [[] if waits else [Waiting(opposition.arriving[command.number])] for _ in leagues]
    names = {player.name for league in leagues for player in league.players}
    name = free_name(plain_name(str(command.wish.get("name"))), names)
    number, born = max(league.state.guests for league in leagues), iteration * built.steps_per_iteration
    own = family == built.plan.seating.groups[0].family
    opposition.forget_guests()
    row = -1 if own else free_roster_row(opposition.guests, family)
    seated = built if own else with_row(built, family, policy, row)
    new = not own and family not in opposition.kinds
    kinds = {**opposition.kinds, family: command.number} if new else opposition.kinds
    if new:
        seated = reseated(seated, layout_now(seated.plan.seating), tuple(kinds))
    # All that can fail was done above: from here on everything changes or, where no pool has room, nothing.
    answers = [league.add(name, born, number) for league in leagues]
    events: list[list[Event]] = [[Refused(command.number, a) if isinstance(a, str) else a] for a in answers]
    if all(isinstance(answer, str) for answer in answers):
        return events
    opposition.guests[Player("guest", number, name, born=born)] = Guest(name, command.number, family, row, policy)
    opposition.built, opposition.kinds = seated, kinds
    if not new:
        return events
    reseat(opposition, seated)
    return [[*one, Reseated(tuple(kinds))] for one in events]


def remove(opposition: Opposition, name: str) -> list[list[Event]]:
    """Take a member out of every pool that it is in, at once or when its games have ended."""
    leagues = opposition.leagues
    found = [next((m for m in league.state.pool.eligible if m.name == name), None) for league in leagues]
    known = {member.name for league in leagues for member in league.state.pool.eligible}
    if not any(found):
        raise ConfigError(unknown("member of the pool", name, known))
    for league in leagues:
        check_removal(league, name)
    events: list[list[Event]] = []
    for league, member in zip(leagues, found, strict=True):
        answer = None if member is None else league.remove(member)
        events.append([] if answer is None else [Leaving(answer)] if isinstance(answer, str) else [answer])
    return events


def check_removal(league: League, name: str) -> None:
    """Without a shadow to step in, blocks that can only face others need somebody in the pool. What a meta-strategy is
    made of stays."""
    if league.rules.meta is not None:
        raise ConfigError(f"{name} is part of the meta-strategy, which answers to every past player. It stays.")
    pool, learners = league.state.pool, range(league.rules.learners)
    pools = [[player.name for player in pool.of(one) if player not in pool.leaving] for one in learners]
    if not league.rules.shadows and [name] in pools:
        raise ConfigError(f"{name} is the last member of the pool, and there is no shadow to meet in its place.")


class LastKnown(NamedTuple):
    """A run as its newest checkpoint tells it, or as it began."""

    iteration: int
    opposition: Opposition


def last_known(run: RunDir) -> LastKnown:
    """Who opposes the learner, for people to look at; also while the run trains."""
    built = build(stored_config(run), trains=False)
    check_changing(built.config)
    checkpoint = newest(run)
    if checkpoint is None:
        return LastKnown(0, Opposition.begin(built))
    with believing(checkpoint.path):
        saved = checkpoint.meta["opposition"]
        built, guests = as_saved(built, run, saved)
        return LastKnown(checkpoint.iteration, Opposition.restored(built, saved, guests))


def together(*parts: Sequence[Sequence[Event]]) -> list[tuple[Event, ...]]:
    """Events of several kinds, seed by seed, in order."""
    seeds = max(map(len, parts))
    return [tuple(event for part in parts if r < len(part) for event in part[r]) for r in range(seeds)]
