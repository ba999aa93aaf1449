"""What a tournament found, for people and for scripts: the ranking, the matrix of win rates, cycles, a picture."""

import csv
from collections.abc import Sequence
from io import StringIO
from math import isfinite
from typing import Any

import numpy as np
from rich.table import Column, Table
from rich.text import Text

from sparring.evaluation.scoring import SideScore
from sparring.ratings.cycles import Noise
from sparring.ratings.diversity import Diversity
from sparring.ratings.payoff import Payoff
from sparring.ratings.summary import Summary
from sparring.reports.html import png
from sparring.reports.tables import NAMES, interval_text, spread_text

WIDEST_MATRIX = 10
"""Most players whose win rates are printed as a matrix."""


def ranking(summary: Summary) -> list[int]:
    """Rows from the highest rating to the lowest; equal ones, and those without one, by name."""
    rating_M = np.full(len(summary.names), np.nan) if summary.ratings is None else summary.ratings.rating_M
    return sorted(range(len(summary.names)), key=lambda i: (-np.nan_to_num(rating_M[i], nan=-1e9), summary.names[i]))


def standings_table(payoff: Payoff, summary: Summary) -> Table:
    table = Table(
        "",
        Column("player", overflow=NAMES),
        box=None,
        title=f"Tournament of {len(payoff.names)}: {total_games(payoff):,} games",
    )
    for column in ("rating", "Nash", "worst"):
        table.add_column(column, justify="right")
    table.add_column("against", overflow=NAMES)
    for place, i in enumerate(ranking(summary), start=1):
        worst = summary.worst[i]
        weakness = ("", "") if worst is None else (interval_text(worst[1]), worst[0])
        nash = "" if summary.nash_M is None else f"{summary.nash_M[i]:z.2f}"
        cells = (f"{place}", payoff.names[i], rating_text(summary, i), nash, *weakness)
        table.add_row(*map(Text, cells))  # a name is a text, never markup
    return table


def matrix_table(payoff: Payoff, summary: Summary) -> Table:
    """Win rates of row against column, in the order of the ranking."""
    order = ranking(summary)
    table = Table(Column("", overflow=NAMES), box=None, min_width=30, title="Points of row against column")
    for place in range(len(order)):
        table.add_column(f"{place + 1}", justify="right")
    for place, i in enumerate(order, start=1):
        rates = ["" if i == j else f"{payoff.rate_MM[i, j]:z.2f}" if payoff.games_MM[i, j] else "-" for j in order]
        table.add_row(f"{place}", *rates)
    return table


def explanation(payoff: Payoff, summary: Summary) -> list[str]:
    """A line on each figure, and what could not be measured."""
    anchor = "the mean is 0" if summary.anchor is None else f"{summary.anchor} is 0"
    lines = [
        f"rating   Bradley-Terry on the Elo scale, {anchor}; 100 more win 64 % of the points, 400 win 91 %.",
        "Nash     share in the mixture that nobody here beats; copies of a player share one portion.",
        "worst    points against the opponent it does worst against; the lowest of many is somewhat too low.",
    ]
    if summary.cyclic_share is not None and summary.noise is not None:
        lines.append(f"cyclic   {cyclic_text(summary.cyclic_share, summary.noise)}")
    lines.append(f"cycles   triples that beat each other round the loop at 70 % or more: {summary.cycles}.")
    if summary.diversity is not None:
        lines.append(f"diverse  {diversity_text(summary.diversity)}")
    games_MM = payoff.games_MM
    met = games_MM[games_MM > 0]
    if met.size:
        count = f"{met.min()}" if met.min() == met.max() else f"{met.min()} to {met.max()}"
        lines.append(f"games    {count} a pair, each start from both sides. Brackets are 95 % intervals, by starts.")
    return lines + [f"missing  {problem}" for problem in summary.problems]


def cyclic_text(share: float, noise: Noise) -> str:
    """What the cyclic share says: no more than that noise can or cannot be all of it."""
    sign = "there are cycles" if noise.p_value <= 0.05 else "no sign of cycles"
    noisy = f"noise shows up to {noise.floor:.1%} (p = {noise.p_value:z.3f})"
    return f"{share:.1%} of the differences fit no ranking; {noisy}: {sign}."


def diversity_text(found: Diversity) -> str:
    won = f"{found.effective:z.2f}"
    return (
        f"{found.players:z.1f} players share the Nash mixture; they win {won} of each other (0: all alike or one best)."
    )


def rating_text(summary: Summary, i: int) -> str:
    if summary.ratings is None or not isfinite(summary.ratings.rating_M[i]):
        return ""
    rating, low, high = (x[i] for x in (summary.ratings.rating_M, summary.ratings.low_M, summary.ratings.high_M))
    if not isfinite(low) or low == high:
        return f"{round(rating)}"
    return f"{round(rating)} [{round(low)}, {round(high)}]"


def total_games(payoff: Payoff) -> int:
    return int(payoff.games_MM.sum()) // 2


def standings_json(payoff: Payoff, summary: Summary) -> dict[str, Any]:
    """Plain data; what is unknown is null."""
    ratings = summary.ratings

    def at(array: np.ndarray | None, i: int) -> float | None:
        return None if array is None or not isfinite(array[i]) else float(array[i])

    players = [
        {
            "name": payoff.names[i],
            "rating": at(ratings and ratings.rating_M, i),
            "rating_low": at(ratings and ratings.low_M, i),
            "rating_high": at(ratings and ratings.high_M, i),
            "nash": at(summary.nash_M, i),
            "alpha_rank": at(summary.alpha_rank_M, i),
            "worst": None if (worst := summary.worst[i]) is None else worst[0],
            "worst_points": None if worst is None else worst[1].mean,
        }
        for i in ranking(summary)
    ]
    return {
        "anchor": summary.anchor,
        "players": players,
        "payoff": payoff.to_dict(),
        "cyclic_share": summary.cyclic_share,
        "noise_floor": summary.noise and summary.noise.floor,
        "cyclic_p": summary.noise and summary.noise.p_value,
        "cycles": summary.cycles,
        "diversity": summary.diversity and summary.diversity.effective,
        "nash_players": summary.diversity and summary.diversity.players,
        "problems": list(summary.problems),
    }


def standings_csv(payoff: Payoff) -> str:
    """One line for each pair, from the view of the first."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["player", "opponent", "games", "won", "drawn", "lost", "points", "low", "high"])
    for i, player in enumerate(payoff.names):
        for j, opponent in enumerate(payoff.names):
            if payoff.games_MM[i, j]:
                rate = payoff.interval(i, j)
                counts = (payoff.games_MM[i, j], payoff.won_MM[i, j], payoff.drawn_MM[i, j], payoff.won_MM[j, i])
                figures = [f"{x:z.4f}" for x in (rate.mean, rate.low, rate.high)]
                writer.writerow([player, opponent, *map(int, counts), *figures])
    return text.getvalue()


def standings_picture(payoff: Payoff, summary: Summary) -> bytes:
    """Ratings with intervals beside the matrix of win rates, as PNG."""
    from matplotlib.figure import Figure

    order = ranking(summary)
    names = [payoff.names[i].replace("$", r"\$") for i in order]  # a dollar sign would begin a formula
    rows = np.arange(len(order))
    side = max(3.0, 0.3 * len(order))
    figure = Figure((5 + side, 1 + side), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, side), sharey=True)
    if summary.ratings is not None:
        rating_M, low_M, high_M = (
            x[order] for x in (summary.ratings.rating_M, summary.ratings.low_M, summary.ratings.high_M)
        )
        left.errorbar(rating_M, rows, xerr=np.nan_to_num([rating_M - low_M, high_M - rating_M]), fmt="o", capsize=3)
    left.set(yticks=rows, yticklabels=names, xlabel=f"rating, {summary.anchor or 'mean'} = 0")
    left.grid(alpha=0.3)
    rate_MM = np.where(payoff.games_MM > 0, payoff.rate_MM, np.nan)[np.ix_(order, order)]
    image = right.imshow(rate_MM, vmin=0, vmax=1, cmap="RdBu", aspect="auto")
    right.set_xticks(rows, names, rotation=90)
    figure.colorbar(image, ax=right, label="points of row against column")
    return png(figure)


def against_table(scores: Sequence[SideScore], title: str) -> Table:
    """A run's learner against named opponents, from the learner's view."""
    won = any(score.points is not None for score in scores)
    sides = len({score.side for score in scores}) > 1
    table = Table(
        Column("against", overflow=NAMES), title=title, caption="With 95 % intervals.", caption_justify="left"
    )
    for column in ["side"] * sides + ["games"] + ["won", "drawn", "lost", "points"] * won + ["return"]:
        table.add_column(column, justify="right")
    for score in scores:
        side = [f"{score.side}"] if sides else []
        counts = [f"{count}" for count in (score.wins, score.draws, score.losses)] if won else []
        points = [] if score.points is None else [interval_text(score.points)]
        cells = (score.opponents, *side, f"{score.games}", *counts, *points, spread_text(score.mean_return))
        table.add_row(*map(Text, cells))
    return table
