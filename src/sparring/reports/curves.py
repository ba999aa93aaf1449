"""Curves of a run, read from its lines of metrics: mean over seeds with an interval, against steps."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from sparring.evaluation.scoring import LEARNED, MIXTURE, SHADOW, company
from sparring.evaluation.standing import is_contest
from sparring.reports.html import png
from sparring.statistics.intervals import mean_interval

MOST_POINTS = 400
SMOOTHED = 25
"""Points from which on a curve is drawn smooth over its own pale self, by means over a tenth of it."""
MOST_LINES = 10
"""As many as there are colours."""
FEW_LINES = 2
"""Curves among which a legend finds room; of more it stands beside them."""
FLAT = 1e-3
"""Curves of health that span less are drawn as flat."""
HEALTH = {
    "entropy": "entropy of the policy, nats",
    "approx_kl": "KL of an update, nats",
    "advantage_std": "spread of the advantages",
    "explained_variance": "critic: explained variance (1 = perfect)",
    "value_loss": "critic: value loss",
}
MET, GRADIENT = "met", "grad_norm"
"""In the last place: whom the learner played, or where that is always itself the norm of the gradient."""

KINDS = {
    "self": "itself", "past": "the past", "bot": "bots", "shadow": "its shadow", "rival": "rivals", "guest": "guests",
}  # fmt: skip
Lines = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Curve:
    steps: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def curve(lines: Lines, keys: Sequence[str]) -> Curve | None:
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


def draw_curves(lines: Lines, manifest: Mapping[str, Any], timing: Lines = ()) -> bytes:
    """A PNG: what training games brought and what evaluation showed above, whether learning is healthy and whom the
    learner played below. With `timing` minutes stand above the first row."""
    training = [line for line in lines if line["kind"] == "train"]
    evaluated = [line for line in lines if line["kind"] == "eval"]
    last = max((line["steps"] for line in (*training, *evaluated)), default=1)
    above = ["training", *["seats"] * shows_seats(training, manifest), "evaluation"]
    lowest = MET if kinds_met(training) else GRADIENT
    below = [*HEALTH, lowest]
    rows = (above, below[:3], below[3:])
    figure = Figure(figsize=(13, 10.5), layout="constrained")
    parts: Any = figure.subfigures(len(rows), 1, height_ratios=[3, 2, 2])  # a legend narrows its own row alone
    axes = {
        name: axis
        for part, row in zip(parts, rows, strict=True)
        for name, axis in zip(row, part.subplots(1, len(row)), strict=True)
    }
    draw_training(axes["training"], training, manifest)
    if "seats" in axes:
        draw_seats(axes["seats"], training, manifest)
    draw_evaluation(axes["evaluation"], evaluated, manifest)
    for name, title in {**HEALTH, GRADIENT: "norm of the gradient"}.items():
        if name in axes:
            draw_health(axes[name], name, title, training, manifest)
    if MET in axes:
        draw_met(axes[MET], training)
    for axis in axes.values():
        axis.set_xlabel("steps of a seed" if manifest["seeds"] > 1 else "steps")
        axis.set_xlim(0, last * 1.02)
        axis.xaxis.set_major_formatter(EngFormatter())
        axis.grid(alpha=0.25)
    for name in above:
        add_clock(axes[name], timing, manifest.get("steps_per_iteration", 1))
    seeds = f", {manifest['seeds']} seeds: mean and its 95 % interval" if manifest["seeds"] > 1 else ""
    figure.suptitle(f"{manifest['game']}, {EngFormatter(places=1)(last)} steps{seeds}")
    return png(figure)


def add_clock(axis: Axes, timing: Lines, steps_per_iteration: int) -> None:
    """Time above the picture, without that of compiling, which is most of the first iteration."""
    steps = np.asarray([0, *((line["iteration"] + 1) * steps_per_iteration for line in timing)], float)
    seconds = np.asarray([line["seconds"] for line in timing], float)
    if len(seconds) < 2 or (np.diff(steps) <= 0).any() or (seconds <= 0).any():
        return
    seconds[0] = np.median(seconds)
    unit, words = (60.0, "minutes") if seconds.sum() >= 120 else (1.0, "seconds")
    spent = np.concatenate([[0.0], np.cumsum(seconds)]) / unit
    pace = spent[-1] / steps[-1]  # beyond the ends the axis goes on at the mean pace

    def clock(at: Any) -> Any:
        return np.interp(at, steps, spent) + pace * (np.maximum(at - steps[-1], 0) + np.minimum(at, 0))

    def back(at: Any) -> Any:
        return np.interp(at, spent, steps) + (np.maximum(at - spent[-1], 0) + np.minimum(at, 0)) / pace

    axis.secondary_xaxis("top", functions=(clock, back)).set_xlabel(f"{words} of training", fontsize=8)


def kinds_met(lines: Lines) -> list[str]:
    """Kinds of opponents that were counted; none where the learner only meets itself."""
    there = {key for line in lines for key in line}
    return [kind for kind in KINDS if f"games/{kind}" in there]


def draw_met(axis: Axes, lines: Lines) -> None:
    """Which share of the games was against whom."""
    axis.set_title("whom the learner played, share of games", fontsize=10)
    kinds = kinds_met(lines)
    filled = [{**dict.fromkeys((f"games/{kind}" for kind in kinds), 0), **line} for line in lines]
    games = [found for kind in kinds if (found := curve(filled, [f"games/{kind}"])) is not None]
    count = np.asarray([smooth(found.mean) for found in games])
    share = count / np.maximum(count.sum(axis=0), 1e-9)
    axis.stackplot(games[0].steps, share, labels=[KINDS[kind] for kind in kinds], alpha=0.8)
    axis.set_ylim(0, 1)
    legend(axis)


def shows_seats(lines: Lines, manifest: Mapping[str, Any]) -> bool:
    """Whether returns of seats need a place of their own: where opponents change, but for equals, of whom they say
    nothing."""
    met = any(key.startswith(("points/", "earned/")) for line in lines for key in line)
    return met and not manifest.get("alike")


def draw_training(axis: Axes, lines: Lines, manifest: Mapping[str, Any]) -> None:
    """Where opponents change, points against each kind of them, or returns with each where nobody wins; else returns of
    the seats."""
    axis.set_title("training games")
    keys = {key for line in lines for key in line}
    met = sorted(key for key in keys if key.startswith("points/"))
    earned = sorted(key for key in keys if key.startswith("earned/"))
    if met or earned:
        shown = earned or met  # where both are known the game is judged by what is earned
        axis.set_ylabel("return of the learner's seat in a game" if earned else "points in a game (1 = all won)")
        if met:
            axis.axhline(0.0 if earned else 0.5, color="0.6", linewidth=1)
        for key in shown[:MOST_LINES]:
            kind, _, learner = key.partition("/")[2].partition("/")
            plot(axis, curve(lines, [key]), f"{learner} {'against' if met else 'with'} {KINDS.get(kind, kind)}".strip())
        legend(axis)
    else:
        draw_seats(axis, lines, manifest)


def draw_seats(axis: Axes, lines: Lines, manifest: Mapping[str, Any]) -> None:
    """Returns of the seats; those of a team together, where one policy drives it."""
    axis.set_title("training games, by seat")
    axis.set_ylabel("return of a seat in a game")
    in_teams = len(manifest["sides"]) < len(manifest["seats"])
    by_stem: dict[str, list[str]] = defaultdict(list)
    for seat in manifest["seats"]:
        by_stem[seat.rsplit("_", 1)[0] if in_teams else seat].append(f"return/{seat}")
    for stem, keys in list(by_stem.items())[:MOST_LINES]:
        plot(axis, curve(lines, keys), stem)
    legend(axis)


def draw_evaluation(axis: Axes, lines: Lines, manifest: Mapping[str, Any]) -> None:
    """Exact exploitability where it is known; else the learner against bots, on each side, or once where alike.

    Dashed: the bot that did best in the learner's place. The table of the report has all line-ups.
    """
    if any("exploitability" in line for line in lines):
        axis.set_title("evaluation: exploitability, exact")
        axis.set_ylabel("exploitability (0 = Nash equilibrium)")
        plot(axis, curve(lines, ["exploitability"]), LEARNED, marker="o")
        for team in (SHADOW, MIXTURE):  # with small points, so that what it lies upon is seen below
            plot(axis, curve(lines, [f"exploitability/{team}"]), team, marker=".", line="--")
        bots = {key.partition("/")[2]: value for key, value in lines[-1].items() if key.startswith("exploitability/")}
        bots = {bot: value for bot, value in bots.items() if bot not in (SHADOW, MIXTURE)}
        if bots:
            best = min(bots, key=lambda bot: bots[bot])
            axis.axhline(bots[best], linestyle="--", color="0.4", linewidth=1, label=f"best bot: {best}")
        axis.set_ylim(bottom=0)
        legend(axis)
        return
    score = "points" if manifest["score"] == "outcome" else "return"
    axis.set_title("evaluation: complete games apart from training")
    axis.set_ylabel("points in a game (1 = all won)" if score == "points" else "return of a seat in a game")
    if manifest.get("alike") or manifest.get("many_alike"):
        draw_ladder(axis, lines, manifest, score)
        return
    for number, side in enumerate(manifest["sides"][:MOST_LINES]):
        found = levels(lines, f"{score}/{side}/")
        hardest = hardest_place(found)
        if hardest is None:
            continue
        line = curve(lines, [f"{score}/{side}/{LEARNED} vs {hardest}" if hardest else f"{score}/{side}/{LEARNED}"])
        versus, color = f" vs {company(hardest)}" if hardest else "", f"C{number}"
        plot(axis, line, f"{side}: learned{versus}", marker="o", color=color)
        bots = sorted(((level, team) for (team, place), level in found.items() if place == hardest), reverse=True)
        shown = [(level, team) for level, team in bots if team not in (LEARNED, SHADOW)][
            : 3 if len(manifest["sides"]) == 1 else 1
        ]
        for (level, team), style in zip(shown, ("--", "-.", ":"), strict=False):
            axis.axhline(level, linestyle=style, color=color, label=f"{side}: bot {team}{versus}")
    legend(axis)


def draw_ladder(axis: Axes, lines: Lines, manifest: Mapping[str, Any], score: str) -> None:
    """Against each bot, two sides together, or among several of a kind, one side for all; where there are many, those
    against whom most is left to learn. Its own kind is one of them where not all that one gains another loses."""
    sides = manifest["sides"] if manifest.get("alike") else manifest["sides"][:1]
    last = max((line["steps"] for line in lines), default=0)
    found = levels([line for line in lines if line["steps"] == last], *(f"{score}/{side}/" for side in sides))
    left_out = {SHADOW, LEARNED} if is_contest(manifest) else {SHADOW}
    kinds = {place: {*place.split(", ")} for team, place in found if team == LEARNED}
    bots = [place for place, kind in kinds.items() if len(kind) == 1 and not kind & left_out]
    hardest = sorted(bots, key=lambda bot: found[LEARNED, bot])[:MOST_LINES]
    if len(hardest) < len(bots):
        axis.set_title(f"evaluation: the {len(hardest)} hardest of {len(bots)} opponents; the table has all")
    for bot in sorted(hardest, key=bots.index):
        keys = [f"{score}/{side}/{LEARNED} vs {bot}" for side in sides]
        plot(axis, curve(lines, keys), f"against {company(bot)}", marker="o")
    if not is_contest(manifest):
        draw_best_bot(axis, found, hardest)
    legend(axis)


def draw_best_bot(axis: Axes, found: Mapping[tuple[str, str], float], hardest: Sequence[str]) -> None:
    """What can be had where the learner does worst: the bot that did best there in its place."""
    for place in hardest:
        bots = {team: x for (team, at), x in found.items() if at == place and team not in (LEARNED, SHADOW)}
        if bots:
            best = max(bots, key=lambda team: bots[team])
            label = f"bot {best} in its place\nagainst {company(place)}"
            axis.axhline(bots[best], linestyle="--", color="0.4", linewidth=1, label=label)
            return


def hardest_place(found: Mapping[tuple[str, str], float]) -> str | None:
    """The opponents against whom the learner does worst: bots where there were any. None where nothing learned."""
    places = [place for team, place in found if team == LEARNED]
    against_bots = [place for place in places if LEARNED not in place.split(", ")]
    return min(against_bots or places, key=lambda place: found[LEARNED, place], default=None)


def levels(lines: Lines, *prefixes: str) -> dict[tuple[str, str], float]:
    """The mean over all evaluations of each (team, opponents) of a side, or of several sides that are alike."""
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    for line, prefix in product(lines, prefixes):
        for key, value in line.items():
            if key.startswith(prefix) and value is not None:
                team, _, opponents = key.removeprefix(prefix).partition(" vs ")
                values[team, opponents].append(value)
    return {place: float(np.mean(found)) for place, found in values.items()}


def draw_health(axis: Axes, name: str, title: str, lines: Lines, manifest: Mapping[str, Any]) -> None:
    axis.set_title(title, fontsize=10)
    for learner in manifest["learners"][:MOST_LINES]:
        plot(axis, curve(lines, [f"{learner}/{name}"]), learner)
    low, high = axis.get_ylim()
    if high - low < FLAT:  # else an offset such as 1e-7 stands over the title
        axis.set_ylim((low + high - FLAT) / 2, (low + high + FLAT) / 2)
    axis.ticklabel_format(axis="y", useOffset=False, style="plain")
    if name == "explained_variance":  # where targets hardly differ it means nothing and may be any negative number
        axis.set_ylim(bottom=max(axis.get_ylim()[0], -1.0))
    legend(axis, fewest=2)


def plot(
    axis: Axes, of: Curve | None, label: str, *, marker: str = "", color: str | None = None, line: str = "-"
) -> None:
    """The curve, smooth where it has many points, over its pale self; with its interval over seeds."""
    if of is None:
        return
    many = len(of.steps) >= SMOOTHED and not marker
    middle, low, high = (smooth(x) if many else x for x in (of.mean, of.low, of.high))
    look = {"marker": marker, "markersize": 4, "linestyle": line, "linewidth": 1.6, "color": color}
    (drawn,) = axis.plot(of.steps, middle, label=label, **look)
    if many:
        axis.plot(of.steps, of.mean, linewidth=0.8, color=drawn.get_color(), alpha=0.15, zorder=1)
    if np.isfinite(low).any():
        axis.fill_between(of.steps, low, high, color=drawn.get_color(), alpha=0.2, linewidth=0)


def smooth(values: np.ndarray) -> np.ndarray:
    """The mean over a tenth of the curve about each point. It begins as it is, since much is learned there: as many
    points before as after. At its end the line through what is left counts, lest the few games of the last iteration
    look like a fall."""
    count = len(values)
    if count < SMOOTHED or not np.isfinite(values).any():
        return values
    known, at = np.isfinite(values), np.arange(count)
    before = np.minimum(count // 20, at)
    after = np.minimum(before, at[::-1])
    y, x = np.where(known, values, 0.0), at * known
    sums = (np.concatenate([[0.0], np.cumsum(one)]) for one in (known, y, x, x * y, x * x))
    n, *rest = (sum_[at + after + 1] - sum_[at - before] for sum_ in sums)
    mean_y, mean_x, mean_xy, mean_xx = (total / np.maximum(n, 1.0) for total in rest)
    slope = (mean_xy - mean_x * mean_y) / np.maximum(mean_xx - mean_x**2, 1e-9)
    level = mean_y + np.where(after < before, slope * (at - mean_x), 0.0)
    there = (n > 0) & (at <= np.flatnonzero(known)[-1])
    return np.where(there, np.clip(level, values[known].min(), values[known].max()), np.nan)


def legend(axis: Axes, fewest: int = 1) -> None:
    """Names of the curves, where there are at least so many, or that there are none."""
    drawn = len(axis.get_legend_handles_labels()[0])
    if drawn > FEW_LINES:
        axis.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.0)
    elif drawn >= fewest:
        axis.legend(fontsize=8, loc="best")
    elif not drawn:
        axis.text(0.5, 0.5, "nothing recorded yet", ha="center", transform=axis.transAxes)
