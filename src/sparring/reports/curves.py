"""Curves of a run, read from its lines of metrics: mean over seeds with an interval, against steps."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from sparring.statistics.intervals import mean_interval

MOST_POINTS = 400
HEALTH = ("entropy", "approx_kl", "explained_variance")


@dataclass(frozen=True)
class Curve:
    steps: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def curve(lines: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> Curve | None:
    """Mean of several keys, for each step over seeds; stretches of steps are averaged to at most MOST_POINTS."""
    by_step: dict[int, dict[int, float]] = defaultdict(dict)
    for line in lines:
        values = [line[key] for key in keys if line.get(key) is not None]
        if values:
            by_step[line["steps"]][line["seed"]] = float(np.mean(values))
    if not by_step:
        return None
    steps = sorted(by_step)
    stretch = -(-len(steps) // MOST_POINTS)
    points = []
    for first in range(0, len(steps), stretch):
        part = steps[first : first + stretch]
        of_seed: dict[int, list[float]] = defaultdict(list)
        for step in part:
            for seed, value in by_step[step].items():
                of_seed[seed].append(value)
        interval = mean_interval([float(np.mean(values)) for values in of_seed.values()])
        points.append((part[-1], interval.mean, interval.low, interval.high))
    return Curve(*np.asarray(points, float).T)


def draw_curves(lines: Sequence[Mapping[str, Any]], manifest: Mapping[str, Any], path: Path) -> None:
    """Three panels: what training games brought, what evaluation showed, and whether learning is healthy."""
    training = [line for line in lines if line["kind"] == "train"]
    evaluated = [line for line in lines if line["kind"] == "eval"]
    figure, axes = plt.subplots(1, 3, figsize=(16, 4.6), layout="constrained")
    draw_training(axes[0], training, manifest)
    draw_evaluation(axes[1], evaluated, manifest)
    draw_health(axes[2], training, manifest)
    for axis in axes:
        axis.set_xlabel("steps")
        axis.grid(alpha=0.25)
        axis.ticklabel_format(axis="x", style="sci", scilimits=(6, 6))
    seeds = f", {manifest['seeds']} seeds, 95 % interval of the mean" if manifest["seeds"] > 1 else ""
    figure.suptitle(f"{manifest['game']}{seeds}")
    figure.savefig(path, dpi=110)
    plt.close(figure)


def draw_training(axis: Axes, lines: Sequence[Mapping[str, Any]], manifest: Mapping[str, Any]) -> None:
    axis.set_title("return of training games")
    by_stem: dict[str, list[str]] = defaultdict(list)
    for seat in manifest["seats"]:
        by_stem[seat.rsplit("_", 1)[0]].append(f"return/{seat}")
    for stem, keys in by_stem.items():
        plot(axis, curve(lines, keys), stem)
    legend(axis)


def draw_evaluation(axis: Axes, lines: Sequence[Mapping[str, Any]], manifest: Mapping[str, Any]) -> None:
    """Exact exploitability where it is known; else how the learners did against each bot, and the bots alone."""
    if any("exploitability" in line for line in lines):
        axis.set_title("exploitability (0 = Nash equilibrium)")
        plot(axis, curve(lines, ["exploitability"]), "exploitability")
        axis.set_ylim(bottom=0)
        return
    score = "points" if manifest["score"] == "outcome" else "return"
    axis.set_title(f"evaluation: {score}")
    keys = sorted({key for line in lines for key in line if key.startswith(f"{score}/")})
    shown = [key for key in keys if "/learned" in key][:8]
    yardsticks = [key for key in keys if "learned" not in key][:6] if len(manifest["sides"]) == 1 else []
    for key in shown:
        plot(axis, curve(lines, [key]), key.removeprefix(f"{score}/"), marker="o")
    for number, key in enumerate(yardsticks):
        level = curve(lines, [key])
        if level is not None:
            axis.axhline(level.mean.mean(), linestyle="--", color=f"C{len(shown) + number}", label=key.split("/", 1)[1])
    legend(axis)


def draw_health(axis: Axes, lines: Sequence[Mapping[str, Any]], manifest: Mapping[str, Any]) -> None:
    axis.set_title("health of learning")
    for learner in manifest["learners"][:2]:
        for name in HEALTH:
            plot(axis, curve(lines, [f"{learner}/{name}"]), f"{learner} {name.replace('_', ' ')}")
    legend(axis)


def plot(axis: Axes, line: Curve | None, label: str, marker: str = "") -> None:
    if line is None:
        return
    (drawn,) = axis.plot(line.steps, line.mean, label=label, marker=marker, markersize=3)
    if np.isfinite(line.low).any():
        axis.fill_between(line.steps, line.low, line.high, color=drawn.get_color(), alpha=0.2, linewidth=0)


def legend(axis: Axes) -> None:
    if axis.get_legend_handles_labels()[0]:
        axis.legend(fontsize=8)
    else:
        axis.text(0.5, 0.5, "nothing recorded yet", ha="center", transform=axis.transAxes)
