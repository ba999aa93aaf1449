"""Cross-play: every pair, and everyone with its own copy, meets, and what each earns is measured."""

from collections.abc import Mapping
from itertools import combinations_with_replacement
from typing import Any, Unpack

import numpy as np

from sparring.core.errors import ConfigError
from sparring.evaluation.tournament import Amount, Met, check_two_sides, meetings
from sparring.games.game import Game
from sparring.ratings.cross_play import CrossPlay
from sparring.statistics.intervals import mean_interval


def cross_play(game: Game, entrants: Mapping[str, Any], **amount: Unpack[Amount]) -> CrossPlay:
    """Every pair plays `games` games; with a `precision`, in units of return, pairs whose 95 % intervals are wider than
    that to either side play on, up to `most_games`.

    Games of a player with its own copy are the same from both sides: the mean of the two sides is what it earns.
    """
    check_two_sides(game.spec)
    if len(entrants) < 2:
        raise ConfigError(
            f"Cross-play needs two players or more, found {len(entrants)}. Name more; RUN#all is every seed of a run."
        )
    precision = amount.get("precision")
    if precision is not None and not 0 < precision < np.inf:
        raise ConfigError(f"precision must be above 0, in units of return, found {precision}.")
    names = tuple(entrants)
    pairs = list(combinations_with_replacement(sorted(names), 2))
    mean_MM, variance_MM = np.zeros((2, len(names), len(names)))
    starts_MM = np.zeros((len(names), len(names)), int)
    for (home, away), met in meetings(game, entrants, pairs, half_width, **amount):
        i, j = names.index(home), names.index(away)
        for place, return_G in (((i, j), met.return_2G[0]), ((j, i), met.return_2G[1])):
            mean_MM[place], starts_MM[place] = return_G.mean(), len(return_G)
            variance_MM[place] = return_G.var(ddof=1) if len(return_G) > 1 else np.nan
    return CrossPlay(names, mean_MM, variance_MM, starts_MM)


def half_width(met: Met) -> float:
    """Of the wider of the two intervals; a single start says nothing about its own."""
    widths = [(interval.high - interval.low) / 2 for interval in map(mean_interval, met.return_2G)]
    return np.inf if np.isnan(widths).any() else max(widths)
