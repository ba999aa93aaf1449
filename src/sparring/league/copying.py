"""Who is copied into the past, who leaves it, and who starts over. Functions on a league's state."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

from sparring.league.blocks import playing
from sparring.league.curriculum import Standing
from sparring.league.draws import OWN_PAST
from sparring.league.events import Event, Evicted, Kept, Reset, Snapshot
from sparring.league.gates import promote
from sparring.league.outlook import Outlook
from sparring.league.player import Player, past_self
from sparring.league.pool import evictee
from sparring.league.role import Among, Role
from sparring.league.score import Score
from sparring.league.state import Career, LeagueState, Rules

POSTPONED = "a snapshot was postponed, because every member of the pool is pinned or still playing"


class Verdict(NamedTuple):
    """What becomes of a learner now. A reset comes only ever with a snapshot, and after it: one that came first would
    copy untrained weights."""

    snapshot: bool
    reset: bool = False
    why: str = ""
    refused: str = ""
    """Why a trial for promotion that has ended was not passed."""


def verdicts(rules: Rules, state: LeagueState, outlook: Outlook, steps: int) -> list[Verdict]:
    """Of each learner, whether it is copied now, and whether it is put back after that if chance will have it so."""
    rule = {me: role.snapshot for me, role in enumerate(rules.roles) if role.snapshot.beats}
    prey, above = [one.beats for one in rule.values() if one.beats], [one.above for one in rule.values()]
    done = dict(zip(rule, outlook.beaten(above, list(rule), prey), strict=True)) if rule else {}
    return [verdict(rules, state, outlook, me, steps, beaten=done.get(me, False)) for me in range(rules.learners)]


def verdict(rules: Rules, state: LeagueState, outlook: Outlook, me: int, steps: int, *, beaten: bool) -> Verdict:
    """The same of one learner; `beaten`: its rate is above the mark against all that it is after."""
    role, career = rules.roles[me], state.careers[me]
    rule = role.snapshot
    if not rules.pool.pool_size:
        return Verdict(False)
    if state.iteration is None and rule.from_birth:
        return Verdict(True)
    if rule.gate.gate != "none":
        return promotion(role, state, outlook, me)
    late = bool(rule.every) and steps - career.copied >= rule.every
    sure = rule.mark > 0.0 and newest_beaten(state, outlook, me, rule.mark)
    due = beaten or late or sure
    reason = "beat all" if beaten else "steps" if late and role.name else ""
    return Verdict(due, due and role.reset.to != "none", reason)


def newest_beaten(state: LeagueState, outlook: Outlook, me: int, mark: float) -> bool:
    """Whether the rate against the newest past player that is met is surely above a mark; not where there is none."""
    newest = newest_met(outlook, me)
    return newest is not None and state.book.score(me, newest).surely_above(mark)


def newest_met(outlook: Outlook, me: int) -> Player | None:
    columns = outlook.whom(OWN_PAST, me)
    return outlook.book.players[columns[-1]] if len(columns) else None


def promotion(role: Role, state: LeagueState, outlook: Outlook, me: int) -> Verdict:
    """What a gate says of the learner's games since its trial began."""
    champion, begun = newest_met(outlook, me), state.careers[me].trial
    since = {player: score.minus(begun.get(player, Score())) for player, score in known_scores(state, me).items()}

    def met(among: Among) -> dict[str, Score]:
        players = [state.book.players[column] for column in outlook.whom(among, me)]
        return {player.name: since[player] for player in players if player in since and player != champion}

    others, bots = met(Among(("past", "guest"), whose="own")), met(Among(("bot",)))
    found = promote(role.snapshot.gate, since.get(champion, Score()) if champion else None, others, bots)
    refused = found.why if found.decided and not found.promote and champion else ""
    return Verdict(found.promote, found.promote and role.reset.to != "none", found.why, refused)


def known_scores(state: LeagueState, learner: int) -> dict[Player, Score]:
    counts = state.book.count_LM3[learner]
    return {
        player: Score(*counts[column].tolist())
        for column, player in enumerate(state.book.players)
        if counts[column].any()
    }


def with_career(state: LeagueState, learner: int, career: Career) -> LeagueState:
    careers = tuple(career if place == learner else one for place, one in enumerate(state.careers))
    return replace(state, careers=careers)


def refused(state: LeagueState, outlook: Outlook, me: int, why: str) -> tuple[LeagueState, Event]:
    """The champion stays, and the next trial begins."""
    champion = newest_met(outlook, me)
    assert champion is not None
    return with_career(state, me, replace(state.careers[me], trial=known_scores(state, me))), Kept(champion.name, why)


# Copies.


def copied(
    rules: Rules, state: LeagueState, learner: int, iteration: int, steps: int, why: str
) -> tuple[LeagueState, list[Event]]:
    """A snapshot of a learner, and whoever makes room for it; no events where it must wait."""
    events: list[Event] = []
    if rules.archive:
        state, row = with_free_row(rules, state, playing(state.blocks))
    else:
        state, events = with_room(rules, state, learner, steps)
        if len(state.pool.of(learner)) >= rules.pool.pool_size:
            return state, events
        row = state.pool.free_row(rules.rows)
        assert row is not None
    me = state.book.players[learner]
    player = past_self(state.snapshots, me, born=steps, alone=rules.alone)
    state = replace(
        state,
        book=state.book.joined_by(player, rules.owners, rules.config.shrink),
        pool=state.pool.joined_by(player, row, iteration),
        snapshots=state.snapshots + 1,
    )
    gated = rules.roles[learner].snapshot.gate.gate != "none"
    trial = known_scores(state, learner) if gated else {}
    state = with_career(state, learner, replace(state.careers[learner], copied=steps, trial=trial))
    return state, [*events, Snapshot(player, row, learner, why)]


def with_room(rules: Rules, state: LeagueState, learner: int, steps: int) -> tuple[LeagueState, list[Event]]:
    """Let somebody leave a learner's full pool. Where all play, one is drawn no more and is free in a while; else a
    small pool could be busy for ever."""
    if len(state.pool.of(learner)) < rules.pool.pool_size:
        return state, []
    leaver = who_leaves(rules, state, learner, steps, playing(state.blocks))
    if leaver is not None:
        state, event = evicted(state, leaver)
        return state, [event]
    members = state.pool.of(learner)
    leaving = state.pool.leaving & set(members)
    # The last one stays, or nobody of the past could be drawn; a pool of one has the shadow to step in.
    spare = not leaving and (len(members) > 1 or rules.pool.pool_size == 1)
    retired = who_leaves(rules, state, learner, steps, ()) if spare else None
    if retired is not None:
        state = replace(state, pool=replace(state.pool, leaving=state.pool.leaving | {retired}))
    return state, []


def who_leaves(
    rules: Rules, state: LeagueState, learner: int, steps: int, referenced: Collection[Player]
) -> Player | None:
    members = state.pool.of(learner)
    columns = [state.book.roll.column[player] for player in members]
    return evictee(
        members, rules.pool.eviction, now=steps, referenced=referenced,
        payoff_MM=state.book.payoff(columns), rating_M=state.book.rating_M[columns].tolist(),
    )  # fmt: skip


def evicted(state: LeagueState, player: Player) -> tuple[LeagueState, Event]:
    row = state.pool.rows.get(player)
    return replace(state, pool=state.pool.without(player), book=state.book.without(player)), Evicted(player, row)


def put_back(
    rules: Rules, state: LeagueState, learner: int, iteration: int, number: float
) -> tuple[LeagueState, list[Event]]:
    """A learner starts over, if a number of [0, 1) falls below its chance; what is left of it draws a past main."""
    rule = rules.roles[learner].reset
    if number >= rule.chance:
        return state, []
    mains = [
        player
        for player in state.pool.players
        if player.kind == "past" and player.role == "main" and rules.same_side(learner, player.learner)
    ]
    parent = None
    if rule.to == "past_main" and mains:
        parent = mains[int(number / rule.chance * len(mains))]
    return begun_anew(state, learner, iteration, parent), [Reset(learner, rules.names[learner], parent)]


def begun_anew(state: LeagueState, learner: int, iteration: int, parent: Player | None = None) -> LeagueState:
    """A learner has other weights: those it began with, or those of a parent. Where that is a learner, it goes on at
    its level of the curriculum."""
    copied = parent is not None and parent.kind == "learner"
    standing = Standing(state.careers[parent.number].standing.level) if parent and copied else Standing()
    career = replace(state.careers[learner], anew=iteration, standing=standing, trial={})
    state = replace(state, book=state.book.begun_anew(learner, parent))
    return with_career(state, learner, career)


# Who is in memory.


def with_free_row(rules: Rules, state: LeagueState, busy: set[Player]) -> tuple[LeagueState, int | None]:
    """An empty row, or that of whoever was drawn longest ago of those that are not busy."""
    row = state.pool.free_row(rules.rows)
    if row is not None:
        return state, row
    idle = [player for player in state.pool.rows if player not in busy and player.kind != "guest"]
    if not idle:
        return state, None
    leaver = min(idle, key=lambda player: (state.pool.used[player], player.number))
    row = state.pool.rows[leaver]
    return replace(state, pool=state.pool.out_of_memory(leaver)), row
