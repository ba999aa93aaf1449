"""What a comparison of regimes shows, in sentences: who is ahead, what is sure of it, and what no seed can tell."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Literal, NamedTuple, TypeVar

import numpy as np

from sparring.evaluation.findings import settled
from sparring.evaluation.regimes import EXPLOITABILITY, Candidate, Comparison
from sparring.reports.measures import CONFIDENCE, Measure, in_circles, judging, least_variance, measures
from sparring.statistics.sequential import welch

K = TypeVar("K", bound=Hashable)
Verdict = Literal["better", "worse", "unknown"]
SURE: tuple[Verdict, ...] = ("better", "worse")
NEAR = 0.9
"""Of the largest exploitability that there can be: what is above it has hardly begun to fall."""


class Ahead(NamedTuple):
    """Who is the best by the figure that leads."""

    measure: Measure
    best: Candidate
    beaten: tuple[str, ...]
    """Those that it is surely better than."""
    others: tuple[str, ...]

    @property
    def mean(self) -> str:
        return f"{mean(self.best, self.measure):z.{self.measure.digits}f}"


def verdicts(comparison: Comparison) -> dict[str, dict[str, Verdict]]:
    """By measure, each candidate against the yardstick, the first of them: by Welch's test of two sides at 5 %. It is
    corrected for all candidates and figures together (Holm 1979), since of twenty differences that are none, one would
    otherwise look sure, and be told."""
    yardstick, *others = comparison.candidates
    named = {one.name: one for one in others}
    judges = judging(comparison)
    p = {(measure, one.name): p_of(comparison, measure, one, yardstick) for measure in judges for one in others}
    sure = holm({pair: value for pair, value in p.items() if value is not None})
    found: dict[str, dict[str, Verdict]] = {one.name: dict.fromkeys(named, "unknown") for one in measures(comparison)}
    for measure, name in sure:
        found[measure.name][name] = "better" if gain(measure, named[name], yardstick) > 0 else "worse"
    return found


def sure_pairs(comparison: Comparison) -> dict[str, dict[str, list[str]]]:
    """By measure, who of the candidates after the yardstick is surely better than whom: all pairs by the same test,
    corrected for all of them in all figures together."""
    p = {}
    for measure in judging(comparison):
        pairs = combinations(ranked(comparison.candidates[1:], measure), 2)
        p |= {(measure.name, a.name, b.name): p_of(comparison, measure, a, b) for a, b in pairs}
    found: dict[str, dict[str, list[str]]] = {}
    for name, better, worse in holm({pair: value for pair, value in p.items() if value is not None}):
        found.setdefault(name, {}).setdefault(better, []).append(worse)
    return found


def holm(p: Mapping[K, float]) -> list[K]:
    """The tests that pass together at 5 %, the surest first."""
    found = []
    for passed, (key, value) in enumerate(sorted(p.items(), key=lambda item: item[1])):
        if value * (len(p) - passed) >= 1 - CONFIDENCE:
            break
        found.append(key)
    return found


def p_of(comparison: Comparison, measure: Measure, a: Candidate, b: Candidate) -> float | None:
    """p-value of a difference; None where one of them does not have the figure."""
    if measure.name not in a.figures or measure.name not in b.figures:
        return None
    return two_sided(a.figures[measure.name], b.figures[measure.name], least_variance(measure, comparison))


def two_sided(a: Sequence[float] | None, b: Sequence[float] | None, least: float = 0.0) -> float:
    """p-value of Welch's test; 1 where one side has fewer than two values."""
    if a is None or b is None or min(len(a), len(b)) < 2:
        return 1.0
    spread = [(float(np.mean(x)), max(float(np.var(x, ddof=1)), least), len(x)) for x in (a, b)]
    return min(1.0, 2 * min(welch(*spread[0], *spread[1]), welch(*spread[1], *spread[0])))


def mean(one: Candidate, measure: Measure) -> float:
    return float(np.mean(one.figures[measure.name]))


def gain(measure: Measure, one: Candidate, other: Candidate) -> float:
    """How far one is better than the other."""
    return (mean(one, measure) - mean(other, measure)) * (1.0 if measure.better == "high" else -1.0)


def ranked(candidates: Iterable[Candidate], measure: Measure) -> list[Candidate]:
    """Those that have the figure, the best first."""
    known = [one for one in candidates if measure.name in one.figures]
    return sorted(known, key=lambda one: mean(one, measure), reverse=measure.better == "high")


def tells_little(comparison: Comparison) -> bool:
    """Whether all are about as exploitable as can be, as in games where one mistake loses."""
    known = [float(np.mean(x)) for one in comparison.candidates if (x := one.figures.get(EXPLOITABILITY))]
    return bool(known) and comparison.largest is not None and min(known) >= NEAR * comparison.largest


def ahead(comparison: Comparison) -> Ahead | None:
    """By exploitability where that is exactly known and tells anything, else by the first figure that judges. None
    where seeds or candidates are too few, or nothing judges."""
    if len(comparison.candidates) < 2 or comparison.seeds < 2:
        return None
    passed_over = tells_little(comparison)
    for measure in judging(comparison):
        order = ranked(comparison.candidates, measure)
        if len(order) < 2 or (passed_over and measure.name.startswith(EXPLOITABILITY)):
            continue
        best, others = order[0], tuple(one.name for one in order[1:])
        yardstick, own = comparison.candidates[0].name, verdicts(comparison)[measure.name]
        pairs = sure_pairs(comparison).get(measure.name, {}).get(best.name, [])
        beaten = [yardstick] * (own.get(best.name) == "better") + pairs
        if best.name == yardstick:
            beaten = [name for name, verdict in own.items() if verdict == "worse"]
        return Ahead(measure, best, tuple(name for name in others if name in beaten), others)
    return None


def recommended(comparison: Comparison) -> str:
    """The regime of the one that is ahead, if that is surely better than the yardstick, or being of the yardstick's own
    regime, than all other regimes; else empty."""
    found = ahead(comparison)
    if found is None:
        return ""
    yardstick = comparison.candidates[0]
    rivals = {one.name for one in comparison.candidates if one.regime != found.best.regime and one.name in found.others}
    sure = yardstick.name in found.beaten if found.best.regime != yardstick.regime else rivals <= {*found.beaten}
    return found.best.regime if sure and rivals else ""


def judgement(comparison: Comparison) -> list[str]:
    """Sentences on what these seeds show, and no more; first who is ahead."""
    if len(comparison.candidates) < 2:
        return ["Only one candidate reached its end: there is nothing to compare with."]
    if comparison.seeds < 2:
        return ["One seed says nothing about the spread between seeds: nobody is judged. Use --seeds 3 or more."]
    found = ahead(comparison)
    lines = [*who_leads(comparison, found), *beside_the_start(comparison)]
    if in_circles(comparison):
        lines.append(f"Ratings judge nobody: {comparison.cyclic_share:.0%} of the differences fit no ranking.")
    return lines + against_the_yardstick(comparison) + among_the_others(comparison)


def who_leads(comparison: Comparison, found: Ahead | None) -> list[str]:
    lines = []
    if tells_little(comparison):
        rest = f"; look at {found.measure.name}" if found else ""
        lines = [
            f"All are near the largest exploitability there is ({comparison.largest:g}): it tells little yet{rest}."
        ]
    if found is None:
        return lines
    low = found.measure.better == "low"
    said = f"{found.best.name} has the {'lowest' if low else 'highest'} {found.measure.name} ({found.mean})"
    open_ = [name for name in found.others if name not in found.beaten]
    if not open_:
        return [*lines, f"{said}, surely."]
    if not found.beaten:
        return [*lines, f"{said}; with {comparison.seeds} seeds that is not sure."]
    unsure = f"whether than {listed(open_)} too, {comparison.seeds} seeds do not show"
    return [*lines, f"{said}, surely better than {listed(found.beaten)}; {unsure}."]


def beside_the_start(comparison: Comparison) -> list[str]:
    """Who is no better than the policy before training. The exact figure is told of each, others where nobody is."""
    lines = []
    for measure in judging(comparison):
        start, order = comparison.untrained.get(measure.name), ranked(comparison.candidates, measure)
        exact = measure.name == EXPLOITABILITY
        if start is None or not order or (exact and tells_little(comparison)):
            continue
        sign = 1.0 if measure.better == "high" else -1.0
        behind = [one for one in order if sign * (mean(one, measure) - start) <= 0]
        was = f"before training ({start:z.{measure.digits}f})"
        if len(behind) == len(order):
            known = [start, *(mean(one, measure) for one in order)]
            why = exact and settled(start, [comparison.largest or max(known)])
            rest = ": random play is nearly an equilibrium, so there is nothing to gain" if why else ""
            lines.append(f"By {measure.name}, none is better than the policy {was}{rest}.")
        elif behind and exact:
            lines.append(f"{listed([one.name for one in behind])} {are(behind)} more exploitable than {was}.")
    return lines


def against_the_yardstick(comparison: Comparison) -> list[str]:
    yardstick = comparison.candidates[0].name
    judges = {measure.name for measure in judging(comparison)}
    by_measure = {name: own for name, own in verdicts(comparison).items() if name in judges}
    said: dict[str, list[str]] = {}
    for one in comparison.candidates[1:]:
        found = {word: [name for name, own in by_measure.items() if own[one.name] == word] for word in SURE}
        parts = [f"surely {word} than {yardstick} in {listed(names)}" for word, names in found.items() if names]
        said.setdefault(", and ".join(parts), []).append(one.name)
    undecided = said.pop("", [])
    lines = [f"{listed(names)} {are(names)} {what}." for what, names in said.items()]
    if undecided:
        lines.append(f"{comparison.seeds} seeds show no sure difference between {yardstick} and {listed(undecided)}.")
    nowhere = [name for name, own in by_measure.items() if "better" not in own.values() and "worse" not in own.values()]
    if nowhere and said:
        lines.append(f"Nobody surely differs from {yardstick} in {listed(nowhere)}.")
    return lines


def among_the_others(comparison: Comparison) -> list[str]:
    said: dict[str, list[str]] = {}
    for name, found in sure_pairs(comparison).items():
        pairs = [f"{better} is surely better than {listed(worse)}" for better, worse in found.items()]
        said.setdefault("; ".join(pairs), []).append(name)
    return [f"Among the others, by {listed(names)}: {pairs}." for pairs, names in said.items()]


def are(names: Sequence) -> str:
    return "is" if len(names) == 1 else "are"


def listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
