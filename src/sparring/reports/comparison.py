"""A comparison of regimes, for people and for scripts: tables, what their words mean, a picture."""

from collections import Counter
from dataclasses import asdict
from typing import Any

import numpy as np
from rich.table import Column, Table
from rich.text import Text

from sparring.evaluation.regimes import EQUAL_TIME, Candidate, Comparison
from sparring.reports.html import png
from sparring.reports.judgement import judgement, listed, sure_pairs, verdicts
from sparring.reports.measures import interval_of, least_variance, measures
from sparring.reports.standings import cyclic_text
from sparring.reports.tables import NAMES, interval_text, plain

PANELS = 4
"""Of a picture, side by side."""


def equal_time_table(comparison: Comparison) -> Table:
    columns = [measure for measure in measures(comparison) if measure.name.endswith(EQUAL_TIME)]
    table = Table(Column("candidate", overflow=NAMES), box=None, min_width=60, title="At equal time")
    for measure in columns:
        table.add_column(measure.name.removesuffix(EQUAL_TIME), justify="right")
    for one in comparison.candidates:
        cells = [interval_text(interval_of(one, measure, comparison), measure.digits) for measure in columns]
        table.add_row(*map(Text, (one.name, *cells)))
    return table


def strength_table(comparison: Comparison) -> Table:
    columns = [measure for measure in measures(comparison) if not measure.name.endswith(EQUAL_TIME)]
    title = f"Regimes on {comparison.game}, {seeds_text(comparison.seeds)}"
    table = Table(Column("candidate", overflow=NAMES), box=None, min_width=60, title=title)
    for measure in columns:
        table.add_column(measure.name, justify="right")
    if comparison.games:
        table.add_column("against", overflow=NAMES)
    for one in comparison.candidates:
        cells = [interval_text(interval_of(one, measure, comparison), measure.digits) for measure in columns]
        cells += [Counter(one.worst).most_common(1)[0][0] if one.worst else ""] * bool(comparison.games)
        table.add_row(*map(Text, (one.name, *cells)))
    if any(measure.name in comparison.untrained for measure in columns):
        first = [comparison.untrained.get(measure.name) for measure in columns]
        cells = ["" if x is None else f"{x:z.{m.digits}f}" for x, m in zip(first, columns, strict=True)]
        table.add_row(*map(Text, ("untrained", *cells, *[""] * bool(comparison.games))))
    return table


def cost_table(comparison: Comparison) -> Table:
    table = Table(Column("regime", overflow=NAMES), box=None, title="What it cost, all seeds together", min_width=40)
    for column in ("seconds", "first iteration", "steps/s", "peak MiB"):
        table.add_column(column, justify="right", no_wrap=True)
    for regime, cost in comparison.costs.items():
        figures = (cost.seconds, cost.first_seconds, cost.steps_per_second, cost.peak_mib)
        cells = ["" if x is None else f"{x:z,.{digits}f}" for x, digits in zip(figures, (1, 1, 0, 0), strict=True)]
        table.add_row(*map(Text, (regime, *cells)))
    return table


def explanation(comparison: Comparison) -> list[str]:
    """A line on each column, and what is missing."""
    notes = [(one.name, one.meaning) for one in measures(comparison) if not one.name.endswith(EQUAL_TIME)]
    if any(one.name.endswith(".shadow") for one in comparison.candidates):
        notes.append(("NAME.shadow", "the slow average of that regime's policy; NAME is its newest."))
    if comparison.evaluations:
        ranked = "; rating and worst opponent: of the end" * bool(comparison.games)
        notes.append(("figures", f"means over the second half of training, {comparison.evaluations} or more{ranked}."))
    if comparison.clock is not None:
        notes.append(
            ("equal time", f"of the first {comparison.clock:z,.1f} seconds of training: all that the fastest took.")
        )
    if comparison.games:
        notes.append(("against", f"who that mostly was. {comparison.games} games a pair, from both sides."))
    if comparison.cyclic_share is not None and comparison.noise is not None:
        notes.append(("cyclic", cyclic_text(comparison.cyclic_share, comparison.noise)))
    notes += [
        ("seconds", "of the whole process."),
        ("first iteration", "its seconds: mostly compiling."),
        ("steps/s", "of all other iterations, all seeds and learners together."),
        ("peak MiB", "most memory of the host that the process held."),
        ("brackets", f"95 % interval of the mean over seeds (Student){widened(comparison)}."),
        ("surely", "Welch's test at 5 %, after Holm over all figures and candidates."),
    ]
    width = max(len(name) for name, _ in notes)
    lines = [f"{name:<{width}}  {meaning}" for name, meaning in notes]
    lines += [f"{'missing':<{width}}  {remark}" for remark in comparison.remarks]
    return lines + [f"{'failed':<{width}}  {regime}: {reason}" for regime, reason in comparison.failures.items()]


def widened(comparison: Comparison) -> str:
    """Which intervals are no narrower than their few games allow, however equal the seeds are."""
    names = [one.name for one in measures(comparison) if least_variance(one, comparison) > 0.0]
    return f"; of {listed(names)} no narrower than so few games allow" if names else ""


def seeds_text(seeds: int) -> str:
    return "1 seed" if seeds == 1 else f"{seeds} seeds"


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """Plain data; what is unknown is null."""
    columns = measures(comparison)

    def figures(one: Candidate) -> dict[str, Any]:
        found = {measure.name: interval_of(one, measure, comparison) for measure in columns}
        known = {name: plain(asdict(x)) | {"seeds": list(one.figures[name])} for name, x in found.items() if x}
        return {name: {key: one[key] for key in ("mean", "low", "high", "seeds")} for name, one in known.items()}

    judged = comparison.candidates[1:] and comparison.seeds > 1
    return {
        "game": comparison.game,
        "seeds": comparison.seeds,
        "candidates": [
            {"name": one.name, "regime": one.regime, "figures": figures(one), "worst_against": list(one.worst)}
            for one in comparison.candidates
        ],
        "costs": {regime: asdict(cost) for regime, cost in comparison.costs.items()},
        "failures": dict(comparison.failures),
        "games": comparison.games,
        "evaluations": comparison.evaluations,
        "clock": comparison.clock,
        "cyclic_share": comparison.cyclic_share,
        "noise_floor": comparison.noise and comparison.noise.floor,
        "cyclic_p": comparison.noise and comparison.noise.p_value,
        "yardstick": comparison.candidates[0].name if comparison.candidates else None,
        "verdicts": verdicts(comparison) if judged else {},
        "among_the_others": sure_pairs(comparison) if judged else {},
        "largest_exploitability": comparison.largest,
        "judgement": judgement(comparison),
        "remarks": list(comparison.remarks),
    }


def comparison_picture(comparison: Comparison) -> bytes:
    """A panel for each measure, a row for each candidate: every seed as a dot, the mean with its interval; and what
    each regime cost in seconds. PNG."""
    from matplotlib.figure import Figure

    columns, candidates = measures(comparison), comparison.candidates
    rows = np.arange(len(candidates))
    panels, wide = len(columns) + 1, min(len(columns) + 1, PANELS)
    high = -(-panels // wide)
    size = (2.2 + 2.6 * wide, high * (1.6 + 0.35 * len(candidates)))
    figure = Figure(size, layout="constrained")
    grid = figure.subplots(high, wide, sharey=True, squeeze=False)
    axes = grid.ravel()[:panels]
    for empty in grid.ravel()[panels:]:
        empty.axis("off")
    for axis, measure in zip(axes, columns, strict=False):
        for row, one in enumerate(candidates):
            interval = interval_of(one, measure, comparison)
            if interval is None:
                continue
            values = one.figures[measure.name]
            axis.plot(values, np.full(len(values), row), ".", color="C1", zorder=3)
            reach = np.nan_to_num([[interval.mean - interval.low], [interval.high - interval.mean]])
            axis.errorbar([interval.mean], [row], xerr=reach, fmt="o", capsize=3, color="C0", zorder=2)
        arrow = {"low": ", less is better", "high": ", more is better", "": ""}[measure.better]
        axis.set_xlabel(measure.name.replace(EQUAL_TIME, f"\n{EQUAL_TIME.strip()}") + arrow.replace(", ", "\n"))
        axis.grid(alpha=0.3)
    cost = axes[-1]
    seconds = [comparison.costs[one.regime].seconds if one.regime in comparison.costs else None for one in candidates]
    shown = [x if x is not None and one.name == one.regime else 0.0 for x, one in zip(seconds, candidates, strict=True)]
    cost.barh(rows, shown, color="0.75")
    cost.set_xlabel("seconds of the whole process")
    axes[0].set(yticks=rows, yticklabels=[one.name for one in candidates], ylim=(len(rows) - 0.5, -0.5))
    figure.suptitle(f"{comparison.game}, {seeds_text(comparison.seeds)}: mean and 95 % interval, seeds as dots")
    return png(figure)
