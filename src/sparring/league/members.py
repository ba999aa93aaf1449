"""Everybody in a league as people read of them."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from sparring.league.player import NOBODY, Player
from sparring.league.state import LeagueState, Rules
from sparring.statistics.intervals import Interval


class Member(NamedTuple):
    """A player as people read of it, from the view of a learner that meets it."""

    player: Player
    row: int | None
    """Of the pool; None for those who have none."""
    games: int
    rate: float
    """The learner's, old games counting less."""
    interval: Interval
    """Of the learner's rate over all games."""
    rating: float
    weight: float | None = None
    """In the meta-strategy of PSRO; None where there is none, or it does not know the player."""


def members(rules: Rules, state: LeagueState) -> tuple[Member, ...]:
    """All players but a learner that is alone, each described from the games of one learner: whose own it is, or the
    first that can meet it. Bots are shown for each of several learners that have no roles."""
    others, bots = (
        [player for player in rules.players if (player.kind == "bot") == scripted] for scripted in (False, True)
    )
    branches = [branch for role in rules.roles for branch in role.branches]
    alone = rules.learners == 1
    if not alone and not any("shadow" in branch.among.kinds and branch.ever for branch in branches):
        others = others[: rules.learners]
    listed = [(player, viewer(rules, player)) for player in (*others[alone:], *state.pool.players)]
    if alone or shared(rules):
        listed += [(bot, viewer(rules, bot)) for bot in bots]
    else:
        for learner, name in enumerate(rules.names):
            met = [bot for bot in bots if rules.opposed(learner, bot)]
            listed += [(replace(bot, name=f"{bot.name} ({name})"), learner) for bot in met]
    return tuple(described(state, player, learner) for player, learner in listed)


def shared(rules: Rules) -> bool:
    """Whether learners have roles, and one past."""
    return any(role.name for role in rules.roles)


def viewer(rules: Rules, player: Player) -> int:
    """The learner from whose games a player is described: whose own it is, or the first that can meet it."""
    if shared(rules) or player.learner == NOBODY:
        return next((learner for learner in range(rules.learners) if rules.opposed(learner, player)), 0)
    return player.learner if not rules.sides else rules.opposite(player.learner)


def described(state: LeagueState, player: Player, learner: int) -> Member:
    book, column = state.book, state.book.roll.column[player]
    interval = book.interval(learner, player)
    known = state.pool.players[: len(state.meta.weight_M)]
    return Member(
        player,
        state.pool.rows.get(player),
        interval.count,
        float(book.rates()[learner, column]),
        interval,
        float(book.rating_M[column]),
        float(state.meta.weight_M[known.index(player)]) if player in known else None,
    )


def live_ratings(rules: Rules, state: LeagueState) -> dict[str, float]:
    """Of every learner, above that of an anchor that does not learn: the first bot that it can meet, else the oldest
    past player. By "LEARNER vs ANCHOR"; none where there is no anchor, or it was never met, so that a number would say
    nothing, nor of PSRO's oracles, who start over."""
    if rules.meta is not None:
        return {}
    column, rating_M = state.book.roll.column, state.book.rating_M
    bots = [player for player in rules.players if player.kind == "bot"]
    past = [player for player in state.pool.players if player.kind == "past"]
    found = {}
    for place, name in enumerate(rules.names):
        anchor = next((player for player in (*bots, *past) if rules.opposed(place, player)), None)
        if anchor is not None and state.book.interval(place, anchor).count:
            found[f"{name} vs {anchor.name}"] = float(rating_M[place] - rating_M[column[anchor]])
    return found
