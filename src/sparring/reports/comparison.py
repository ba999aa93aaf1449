"""What a comparison of regimes says, for people and for scripts: tables, a judgement, a picture."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from math import inf, isnan, log
from typing import Any, Literal

import numpy as np
from rich.table import Column, Table
from rich.text import Text

from sparring.evaluation.regimes import (
    AGAINST_BOTS,
    EQUAL_TIME,
    EXPLOITABILITY,
    EXPLOITED,
    POINTS,
    RATING,
    RETURN,
    WORST,
    Candidate,
    Comparison,
)
from sparring.reports.html import png
from sparring.reports.standings import cyclic_text
from sparring.reports.tables import NAMES, interval_text, plain
from sparring.statistics.intervals import Interval, mean_interval
from sparring.statistics.sequential import welch

Verdict = Literal["better", "worse", "unknown"]
SURE: tuple[Verdict, ...] = ("better", "worse")
CONFIDENCE = 0.95
NOTHING = 1e-6
"""Returns that are smaller are what rounding leaves of 0."""
PANELS = 4
"""Of a picture, side by side."""


@dataclass(frozen=True)
class Measure:
    name: str
    better: Literal["low", "high", ""]
    """Which end is the good one; empty: neither is, so it is shown and judges nobody."""
    digits: int
    meaning: str
    least: float = -inf
    most: float = inf
    """What the figure can be at all: an interval ends there."""


MEASURES = (
    Measure(EXPLOITABILITY, "low", 3, "what the best answer to it wins, exactly; 0 is a Nash equilibrium.", least=0.0),
    Measure(POINTS, "high", 2, "share of the points against all bots of the game.", least=0.0, most=1.0),
    Measure(
        EXPLOITED, "low", 3, "what trained responses won from it (sparring exploit): a lower bound of exploitability.",
    ),
    Measure(RATING, "high", 0, "Bradley-Terry on the Elo scale, random is 0; 100 more win 64 % of the points."),
    Measure(
        WORST, "high", 2, "points against its worst opponent of all there; the lowest of many is biased low.",
        least=0.0, most=1.0,
    ),
    Measure(RETURN, "", 2, "mean return of a game among its own kind; more need not be better."),
    Measure(AGAINST_BOTS, "high", 2, "mean return over all bots of the game."),
)  # fmt: skip


def measures(comparison: Comparison) -> list[Measure]:
    """Those that some candidate has, in a fixed order; a side's own figures carry its name. Returns among one's own
    kind are left out where they are 0 for all, as in a contest, where one gains what the other loses."""
    names = dict.fromkeys(
        name
        for one in comparison.candidates
        for name, values in one.figures.items()
        if not name.startswith(RETURN) or np.abs(values).max() > NOTHING
    )
    found = []
    for kind in MEASURES:
        for name in names:
            sides = kind.name in (RETURN, POINTS, AGAINST_BOTS) and name.startswith(f"{kind.name} ")
            if name in (kind.name, kind.name + EQUAL_TIME) or sides:
                found.append(Measure(name, kind.better, kind.digits, kind.meaning, kind.least, kind.most))
    return found


def least_variance(measure: Measure, comparison: Comparison) -> float:
    """Of one seed's figure by the luck of its games: rates of few games are often equal without being the same."""
    games = comparison.games
    if not games or measure.name not in (RATING, WORST):
        return 0.0
    if measure.name == WORST:
        return 0.25 / games
    # Of n even games the logarithm of the odds has the variance 4 / n; bots, whom all meet too, are not counted.
    players = sum(len(one.figures.get(RATING, ())) for one in comparison.candidates)
    return (400.0 / log(10.0)) ** 2 * 4.0 / (games * max(players - 1, 1))


def interval_of(candidate: Candidate, measure: Measure, comparison: Comparison) -> Interval | None:
    """Mean over seeds with Student's interval, cut where the figure itself ends."""
    values = candidate.figures.get(measure.name)
    if values is None:
        return None
    found = mean_interval(values, CONFIDENCE, least_variance=least_variance(measure, comparison))
    if isnan(found.low):
        return found
    return Interval(found.mean, max(found.low, measure.least), min(found.high, measure.most), found.count)


def verdicts(comparison: Comparison, measure: Measure) -> dict[str, Verdict]:
    """Each candidate against the yardstick, the first of them: by Welch's test of two sides at 5 %, corrected for the
    number of candidates (Holm 1979), since of twenty equal ones one would otherwise look better."""
    yardstick, *others = comparison.candidates
    base = yardstick.figures.get(measure.name)
    least = least_variance(measure, comparison)
    p = {one.name: two_sided(one.figures.get(measure.name), base, least) for one in others}
    found: dict[str, Verdict] = dict.fromkeys(p, "unknown")
    if base is None or not measure.better:
        return found
    for passed, (name, value) in enumerate(sorted(p.items(), key=lambda item: item[1])):
        if value * (len(p) - passed) >= 1 - CONFIDENCE:
            break
        own = next(one.figures[measure.name] for one in others if one.name == name)
        higher = np.mean(own) > np.mean(base)
        found[name] = "better" if higher == (measure.better == "high") else "worse"
    return found


def sure_pairs(comparison: Comparison, measure: Measure) -> dict[str, list[str]]:
    """Of the candidates after the yardstick, who is surely better than whom: all pairs, by the same test, corrected for
    their number."""
    known = [one for one in comparison.candidates[1:] if measure.name in one.figures]
    least, sign = least_variance(measure, comparison), 1.0 if measure.better == "high" else -1.0
    ranked = sorted(known, key=lambda one: -sign * float(np.mean(one.figures[measure.name])))
    p = {(a.name, b.name): two_sided(a.figures[measure.name], b.figures[measure.name], least)
         for a, b in combinations(ranked, 2)}  # fmt: skip
    found: dict[str, list[str]] = {}
    for passed, ((better, worse), value) in enumerate(sorted(p.items(), key=lambda item: item[1])):
        if value * (len(p) - passed) >= 1 - CONFIDENCE:
            break
        found.setdefault(better, []).append(worse)
    return found


def two_sided(a: Sequence[float] | None, b: Sequence[float] | None, least: float = 0.0) -> float:
    """p-value of Welch's test; 1 where one side has fewer than two values."""
    if a is None or b is None or min(len(a), len(b)) < 2:
        return 1.0
    spread = [(float(np.mean(x)), max(float(np.var(x, ddof=1)), least), len(x)) for x in (a, b)]
    return min(1.0, 2 * min(welch(*spread[0], *spread[1]), welch(*spread[1], *spread[0])))


def judgement(comparison: Comparison) -> list[str]:
    """Sentences on what these seeds show, and no more."""
    if len(comparison.candidates) < 2:
        return ["Only one candidate reached its end: there is nothing to compare with."]
    if comparison.seeds < 2:
        return ["One seed says nothing about the spread between seeds: nobody is judged. Use --seeds 3 or more."]
    yardstick = comparison.candidates[0].name
    judged = [measure for measure in measures(comparison) if measure.better]
    by_measure = {measure.name: verdicts(comparison, measure) for measure in judged}
    said: dict[str, list[str]] = {}
    for one in comparison.candidates[1:]:
        found = {word: [name for name, own in by_measure.items() if own[one.name] == word] for word in SURE}
        parts = [f"surely {word} than {yardstick} in {listed(names)}" for word, names in found.items() if names]
        said.setdefault(", and ".join(parts), []).append(one.name)
    undecided = said.pop("", [])
    lines = [f"{listed(names)} {'is' if len(names) == 1 else 'are'} {what}." for what, names in said.items()]
    if undecided:
        lines.append(f"{comparison.seeds} seeds show no sure difference between {yardstick} and {listed(undecided)}.")
    for measure in judged:
        pairs = [
            f"{better} is surely better than {listed(worse)}"
            for better, worse in sure_pairs(comparison, measure).items()
        ]
        lines += [f"Among the others, by {measure.name}: {'; '.join(pairs)}."] * bool(pairs)
    nowhere = [name for name, own in by_measure.items() if "better" not in own.values() and "worse" not in own.values()]
    if nowhere and said:
        lines.append(f"By {listed(nowhere)}, no regime differs from {yardstick} by more than chance may explain.")
    return lines + no_gain(comparison, judged)


def recommended(comparison: Comparison) -> str:
    """Of the regimes that are surely better than the yardstick the best, by the first measure that shows any; empty
    where none is."""
    if len(comparison.candidates) < 2 or comparison.seeds < 2:
        return ""
    for measure in (measure for measure in measures(comparison) if measure.better):
        sure = {name for name, verdict in verdicts(comparison, measure).items() if verdict == "better"}
        ranked = sorted(
            (one for one in comparison.candidates if one.name in sure),
            key=lambda one: float(np.mean(one.figures[measure.name])),
        )
        if ranked:
            return ranked[0 if measure.better == "low" else -1].regime
    return ""


def no_gain(comparison: Comparison, judged: Sequence[Measure]) -> list[str]:
    """Where nobody is better than the policy before training."""
    lines = []
    for measure in judged:
        start, known = (
            comparison.untrained.get(measure.name),
            [one.figures.get(measure.name) for one in comparison.candidates],
        )
        means = [float(np.mean(values)) for values in known if values is not None]
        if start is None or not means:
            continue
        best = min(means) if measure.better == "low" else max(means)
        if best >= start if measure.better == "low" else best <= start:
            lines.append(
                f"By {measure.name}, none is better than the policy before training ({start:z.{measure.digits}f}): "
                "where random play is nearly an equilibrium there is nothing to gain."
            )
    return lines


def listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


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
        notes.append(("NAME.shadow", "the slow average of that regime's policy; NAME alone is its newest policy."))
    if comparison.evaluations:
        count, ranked = comparison.evaluations, "; rating and worst opponent are of the end" * bool(comparison.games)
        mean = f"means over a run's evaluations in the second half of its steps, {count} or more"
        notes.append(("figures", f"{mean}{ranked}."))
    if comparison.clock is not None:
        begun = f"the same of the first {comparison.clock:z,.1f} seconds of training, compiling left out"
        notes.append(("equal time", f"{begun}: what the fastest took for all its steps."))
    if comparison.games:
        notes.append(("against", f"the most frequent such opponent. {comparison.games} games a pair, from both sides."))
    if comparison.cyclic_share is not None and comparison.noise is not None:
        notes.append(("cyclic", cyclic_text(comparison.cyclic_share, comparison.noise)))
    notes += [
        ("seconds", "of the whole process: start, compiling, training, evaluations, report."),
        ("first iteration", "seconds of it: mostly compiling, and less where programs were kept from before."),
        ("steps/s", "of all other iterations; steps are those that a learner learns from, of all seeds and learners."),
        ("peak MiB", "most memory of the host that the process held; an accelerator's own is not in it."),
        ("brackets", "95 % interval of the mean over seeds (Student). Surely: Welch's test at 5 %, after Holm."),
    ]
    width = max(len(name) for name, _ in notes)
    lines = [f"{name:<{width}}  {meaning}" for name, meaning in notes]
    lines += [f"{'missing':<{width}}  {remark}" for remark in comparison.remarks]
    return lines + [f"{'failed':<{width}}  {regime}: {reason}" for regime, reason in comparison.failures.items()]


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
        "verdicts": {measure.name: verdicts(comparison, measure) for measure in columns} if judged else {},
        "among_the_others": {
            measure.name: sure_pairs(comparison, measure) for measure in columns if judged and measure.better
        },
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
