"""What cross-play found, for people and for scripts: who earns what with whom, the gap, conventions, a picture."""

import csv
from io import StringIO
from math import isfinite
from typing import Any

import numpy as np
from rich.table import Column, Table
from rich.text import Text

from sparring.ratings.conventions import Conventions
from sparring.reports.html import png
from sparring.reports.tables import NAMES, spread_text
from sparring.statistics.intervals import Interval

WIDEST_MATRIX, WIDEST_WITH_INTERVALS = 10, 5
"""Most players whose returns are printed as a matrix, and with intervals."""
MOST_NUMBERS = 12
"""Most players for whom the picture has a number in each field."""


def earnings_table(found: Conventions) -> Table:
    """A row for each player: what it earns with itself and with others, and what others earn with it."""
    cross, groups = found.cross, found.groups
    table = Table(
        "", Column("player", overflow=NAMES), box=None, title=f"Cross-play of {len(cross.names)}: {cross.games:,} games"
    )
    for column in ("with itself", "with others", "others earn", "least"):
        table.add_column(column, justify="right")
    table.add_column("with", overflow=NAMES)
    if groups is not None:
        table.add_column("convention", justify="right")
    for place, i in enumerate(found.order, start=1):
        least, partner = hardest(found, i)
        cells = (
            f"{place}", cross.names[i], spread_text(cross.interval(i, i)), spread_text(found.with_others[i]),
            spread_text(found.to_others[i]), f"{least:z.2f}", partner,
        )  # fmt: skip
        number = () if groups is None else (f"{found.group_M[i] + 1}",)
        table.add_row(*map(Text, (*cells, *number)))  # a name is a text, never markup
    return table


def hardest(found: Conventions, row: int) -> tuple[float, str]:
    """The other with whom a player earns least."""
    mean_M = np.array(found.cross.mean_MM[row])
    mean_M[row] = np.inf
    return float(mean_M.min()), found.cross.names[int(mean_M.argmin())]


def returns_table(found: Conventions) -> Table:
    """What row itself earns with column, in the order of the other table."""
    cross, order = found.cross, found.order
    table = Table(Column("", overflow=NAMES), box=None, min_width=30, title="Return of row with column")
    for place in range(len(order)):
        table.add_column(f"{place + 1}", justify="right")
    for place, i in enumerate(order, start=1):
        intervals = [cross.interval(i, j) for j in order]
        close = len(order) > WIDEST_WITH_INTERVALS
        table.add_row(f"{place}", *(f"{own.mean:z.2f}" if close else spread_text(own) for own in intervals))
    return table


def conventions_table(found: Conventions) -> Table:
    table = Table("", Column("players", overflow=NAMES), box=None, min_width=30, title="Conventions")
    for column in ("inside", "across"):
        table.add_column(column, justify="right")
    for number, group in enumerate(found.groups or (), start=1):
        across = "" if group.across is None else f"{group.across:z.2f}"
        table.add_row(*map(Text, (f"{number}", ", ".join(group.names), f"{group.inside:z.2f}", across)))
    return table


def explanation(found: Conventions) -> list[str]:
    """A line on each figure, and what could not be measured."""
    fewest, most = found.cross.starts_MM.min(), found.cross.starts_MM.max()
    games = f"{2 * fewest}" if fewest == most else f"{2 * fewest} to {2 * most}"
    last = f"games       {games} a pair, each start from both sides. ± and brackets are 95 % intervals."
    if found.groups is None:
        return ["zero-sum    one side gains what the other loses: there is no gap, and there are no conventions.", last]
    lines = [
        f"self-play   {found.self_play:z.2f}, what players earn with their own copies, on average.",
        f"cross-play  {found.cross_play:z.2f}, what they earn with each other.",
        *gap_lines(found),
        "loss        " + loss_text(found),
        "partners    " + partners_text(found),
        f"convention  links those of whom neither surely earns {found.near:.2g} less with the other than with itself.",
    ]
    for number, group in enumerate(found.groups, start=1):
        if group.misfits:
            pairs = len(group.names) * (len(group.names) - 1) // 2
            lines.append(
                f"mixed       in convention {number}, {group.misfits} of {pairs} pairs are linked only by others."
            )
    return [*lines, last]


def gap_lines(found: Conventions) -> list[str]:
    assert found.gap is not None
    others = found.gap_of_others
    wider = "two players say nothing about others that were made the same way."
    if others is not None:
        wider = (
            f"roughly between {others.low:z.2f} and {others.high:z.2f} for other players that were made the same way."
        )
    return [
        f"gap         {spread_text(found.gap)}, self-play less cross-play of these very players;",
        f"            {wider}",
    ]


def loss_text(found: Conventions) -> str:
    if found.loss is None:
        return "is a share of self-play, which must be above 0 for that."
    return f"{found.loss:.0%} of self-play is lost with strangers (joint-policy correlation)."


def partners_text(found: Conventions) -> str:
    """With whom the others do best and worst; nobody where it makes no difference."""
    given = [one.mean for one in found.to_others]
    best, worst = int(np.argmax(given)), int(np.argmin(given))
    if given[best] - given[worst] <= found.near:
        return f"others earn nearly the same with everybody, {np.mean(given):z.2f}."
    names = found.cross.names
    return f"others earn most with {names[best]} ({given[best]:z.2f}), least with {names[worst]} ({given[worst]:z.2f})."


def cross_play_json(found: Conventions) -> dict[str, Any]:
    """Plain data; what is unknown is null."""

    def plain(interval: Interval | None) -> dict[str, float | None] | None:
        if interval is None:
            return None
        ends = {"mean": interval.mean, "low": interval.low, "high": interval.high}
        return {key: value if isfinite(value) else None for key, value in ends.items()}

    names = found.cross.names
    players = [
        {
            "name": names[i],
            "with_itself": plain(found.cross.interval(i, i)),
            "with_others": plain(found.with_others[i]),
            "others_with_it": plain(found.to_others[i]),
            "least": hardest(found, i)[0],
            "least_with": hardest(found, i)[1],
            "convention": None if found.groups is None else found.group_M[i] + 1,
        }
        for i in found.order
    ]
    groups = None if found.groups is None else [
        {"players": list(group.names), "inside": group.inside, "across": group.across, "misfits": group.misfits}
        for group in found.groups
    ]  # fmt: skip
    return {
        "players": players,
        "returns": found.cross.to_dict(),
        "self_play": found.self_play,
        "cross_play": found.cross_play,
        "gap": plain(found.gap),
        "gap_of_others": plain(found.gap_of_others),
        "loss": found.loss,
        "near": found.near,
        "conventions": groups,
    }


def cross_play_csv(found: Conventions) -> str:
    """One line for each player with each partner, itself too."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["player", "partner", "games", "return", "low", "high"])
    for i, player in enumerate(found.cross.names):
        for j, partner in enumerate(found.cross.names):
            own = found.cross.interval(i, j)
            figures = [f"{x:z.4f}" if isfinite(x) else "" for x in (own.mean, own.low, own.high)]
            writer.writerow([player, partner, 2 * own.count, *figures])
    return text.getvalue()


def cross_play_picture(found: Conventions) -> bytes:
    """What each earns with itself and with others beside the matrix of returns, as PNG; lines part conventions."""
    from matplotlib.figure import Figure

    order, cross = found.order, found.cross
    names = [cross.names[i].replace("$", r"\$") for i in order]  # a dollar sign would begin a formula
    rows = np.arange(len(order))
    side = max(3.0, 0.45 * len(order))
    figure = Figure((5 + side, 1.5 + side), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, side), sharey=True)
    for label, marker, own in (
        ("with itself", "o", [cross.interval(i, i) for i in order]),
        ("with others", "s", [found.with_others[i] for i in order]),
    ):
        half = [0.0 if np.isnan(one.low) else one.high - one.mean for one in own]
        left.errorbar([one.mean for one in own], rows, xerr=half, fmt=marker, capsize=3, label=label)
    left.set(yticks=rows, yticklabels=names, xlabel="return in a game")
    left.grid(alpha=0.3)
    left.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
    mean_MM = cross.mean_MM[np.ix_(order, order)]
    image = right.imshow(mean_MM, cmap="viridis", aspect="auto")
    right.set_xticks(rows, names, rotation=90)
    for row in np.flatnonzero(np.diff([found.group_M[i] for i in order])) + 0.5:
        right.axhline(row, color="white", linewidth=3)
        right.axvline(row, color="white", linewidth=3)
    middle = (mean_MM.min() + mean_MM.max()) / 2
    for i, j in np.ndindex(mean_MM.shape) if len(order) <= MOST_NUMBERS else ():
        right.text(j, i, f"{mean_MM[i, j]:z.2f}", ha="center", va="center", color="wk"[int(mean_MM[i, j] > middle)])
    figure.colorbar(image, ax=right, label="return of row with column")
    return png(figure)
