"""Pictures of audits: boxes for each seat, ladders of rungs with intervals, curves. Each is a PNG."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Literal

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from sparring.audit.findings import Picture
from sparring.statistics.intervals import Interval

Numbers = Sequence[float] | np.ndarray


def boxes(title: str, values: Mapping[str, Numbers], what: str) -> Picture:
    """A box for each name, such as a seat: median, quartiles, and every value as a dot where there are few."""
    figure, axis = plt.subplots(figsize=(1.6 + 1.2 * len(values), 3.8), layout="constrained")
    rows = [np.asarray(value, float) for value in values.values()]
    axis.boxplot(rows, showmeans=True, showfliers=False)
    axis.set_title("line: median, triangle: mean, box: half of all", fontsize=8, loc="left", color="#666")
    axis.set_xticks(range(1, len(values) + 1), list(values))
    for place, row in enumerate(rows, 1):
        if len(row) <= 50:
            axis.plot(np.linspace(place - 0.15, place + 0.15, len(row)), row, ".", color="#1d62d1", alpha=0.6)
    axis.set_ylabel(what)
    return _picture(title, figure, "y")


def ladder(title: str, rungs: Mapping[str, Interval], what: str, margin: float = 0.0) -> Picture:
    """A row for each rung with its interval; zero, and the margin around it that counts as nothing, are marked."""
    figure, axis = plt.subplots(figsize=(8, 1.2 + 0.42 * len(rungs)), layout="constrained")
    for place, one in enumerate(rungs.values()):
        axis.plot([one.low, one.high], [place, place], color="#1d62d1", linewidth=2)
        axis.plot(one.mean, place, "o", color="#1d62d1")
    axis.axvline(0.0, color="#888", linewidth=1)
    if margin:
        axis.axvspan(-margin, margin, color="#1a7f37", alpha=0.12)
        axis.set_title("green: too small to count, or to be seen", fontsize=8, loc="left", color="#666")
    axis.set_yticks(range(len(rungs)), list(rungs))
    axis.set_ylim(len(rungs) - 0.5, -0.5)
    axis.set_xlabel(what)
    return _picture(title, figure, "x")


def curves(title: str, values: Mapping[str, tuple[Numbers, Numbers]], across: str, up: str) -> Picture:
    """A line for each name: where it is measured, and what is measured there."""
    figure, axis = plt.subplots(figsize=(8, 3.8), layout="constrained")
    for name, (at, measured) in values.items():
        axis.plot(at, measured, label=name)
    axis.set_xlabel(across)
    axis.set_ylabel(up)
    if len(values) > 1:
        axis.legend(fontsize=8)
    return _picture(title, figure, "both")


def _picture(title: str, figure: Figure, across: Literal["x", "y", "both"]) -> Picture:
    data = BytesIO()
    figure.gca().grid(alpha=0.25, axis=across)
    figure.savefig(data, dpi=110, format="png")
    plt.close(figure)
    return Picture(title, data.getvalue())
