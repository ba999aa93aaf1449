"""L6 and L7: is the order the same in every seed, and with which module does it come? The seed is the unit: a symmetric
game may have equilibria that are not, so one run always shows some order. No JAX."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import ceil, factorial
from typing import Any

import numpy as np

from sparring.audit.findings import Finding, Picture
from sparring.audit.pictures import boxes, curves, ladder
from sparring.audit.seats.levels import ALPHA, L6, L7
from sparring.reports.curves import curve
from sparring.statistics.intervals import Interval, mean_interval
from sparring.statistics.permutation import friedman, holm, page

LAST = 0.2
"""The part of training that is judged."""
TESTS = 3
"""Falling, rising, any order."""
EQUAL, CONFIDENCE = 0.05, 0.9
"""Seats are alike where they differ by less than this share of what a seat earns, shown twice one-sidedly at 5 %."""


def table_of(lines: Iterable[Mapping[str, Any]], seats: Sequence[str]) -> np.ndarray:
    """return_RS: for each seed what seats earned in the last part of training, from the lines of metrics."""
    by_seed: dict[int, list[tuple[int, list[float]]]] = {}
    for line in lines:
        values = [float(x) for name in seats if (x := line.get(f"return/{name}")) is not None]
        if line.get("kind") == "train" and len(values) == len(seats):
            by_seed.setdefault(line["seed"], []).append((line["iteration"], values))
    rows = []
    for _, own in sorted(by_seed.items()):
        own.sort()
        rows.append(np.mean([values for _, values in own[-max(1, round(LAST * len(own))) :]], axis=0))
    return np.asarray(rows).reshape(len(rows), len(seats))


def consistency(return_RS: np.ndarray, seats: Sequence[str]) -> Finding:
    """L6: Page's test of the order of the seats' numbers, which is named here and therefore beforehand, and Friedman's
    test of any order. That nothing is rejected shows nothing: seats are alike where every difference of two of them
    surely lies within the margin (two one-sided tests; Schuirmann 1987, doi:10.1007/BF01068419)."""
    seeds, least = len(return_RS), least_seeds(len(seats))
    falling, rising, some = holm([page(return_RS), page(return_RS[:, ::-1]), friedman(return_RS)])
    mean_S, size = return_RS.mean(axis=0), float(np.abs(return_RS).mean()) or 1.0
    told = ", ".join(f"{name} {mean:.3g}" for name, mean in zip(seats, mean_S, strict=True))
    slope, widest = slope_of(return_RS), furthest(return_RS)
    reach = max(abs(widest.low), abs(widest.high)) / size
    text = (
        f"{seeds} seeds, last {LAST:.0%} of training: {told}. Falling with the number: p = {falling:.2g}; rising: p = "
        f"{rising:.2g}; any order: p = {some:.2g}. Slope {slope.mean:+.3g} a seat [{slope.low:.3g}, {slope.high:.3g}]. "
        f"Two seats differ by {reach:.1%} of what a seat earns at most."
    )
    numbers = {
        "table": return_RS.tolist(), "seats": list(seats), "falling_p": falling, "rising_p": rising, "any_p": some,
        "slope": slope.mean, "low": slope.low, "high": slope.high, "margin": EQUAL, "apart_at_most": reach,
        "least_to_most": float(mean_S.min() / mean_S.max()) if mean_S.max() > 0 else None,
    }  # fmt: skip
    if min(falling, rising, some) < ALPHA:
        return L6.found(
            False, text, "The order repeats from seed to seed: it is no accident of one run.",
            "L1 to L5 and L8 say what makes it, where they can; else leave modules out one by one: --full (L7).",
            **numbers,
        )  # fmt: skip
    if reach <= EQUAL:
        return L6.found(True, text, **numbers)
    needed = max(least, seeds_within(widest, EQUAL * size))
    few = f"One run always shows some order, and {seeds} cannot show that it repeats. " if seeds < least else ""
    meaning = f"{few}That seats are alike within {EQUAL:.0%} is not shown either."
    remedy = (
        f"With {len(seats)} seats, {least} seeds can show an order that is the same in all; about {needed:,} can show "
        f"that there is none (--training-seeds, or more runs)."
    )
    return L6.found(None, text, meaning, remedy, **numbers, seeds_needed=needed)


def furthest(return_RS: np.ndarray) -> Interval:
    """Of all pairs of seats the difference whose interval reaches furthest from 0; without two seeds there is none."""
    if len(return_RS) < 2:
        return Interval(0.0, -np.inf, np.inf, len(return_RS))
    pairs = combinations(return_RS.T, 2)
    found = (mean_interval(one - two, CONFIDENCE) for one, two in pairs)
    return max(found, key=lambda one: max(abs(one.low), abs(one.high)))


def seeds_within(found: Interval, margin: float) -> int:
    """Seeds with which an interval of this spread, about 0, lies within the margin."""
    half = (found.high - found.low) / 2
    return ceil(max(2, found.count) * (half / margin) ** 2) if np.isfinite(half) and margin else 100


def least_seeds(seats: int) -> int:
    """Seeds of which one perfect order, named beforehand, is rarer than ALPHA allows of all tests together."""
    return next(seeds for seeds in range(1, 100) if TESTS * factorial(seats) ** -float(seeds) < ALPHA)


def slope_of(return_RS: np.ndarray, confidence: float = 0.95) -> Interval:
    """What a seat earns more than the one before it, over seeds."""
    place_S = np.arange(return_RS.shape[1]) - (return_RS.shape[1] - 1) / 2
    return mean_interval(return_RS @ place_S / (place_S @ place_S), confidence)


def localised(tables: Mapping[str, np.ndarray], shared: str = "") -> Finding:
    """L7: tables of rungs, the full training first, then with one thing after another left out; `shared` names the
    control in which one policy drives all seats."""
    level = 1.0 - ALPHA / len(tables)
    slopes = {name: slope_of(table, level) for name, table in tables.items()}
    biased = {name: one.low > 0.0 or one.high < 0.0 for name, one in slopes.items()}
    text = "; ".join(f"{name} {one.mean:+.3g} [{one.low:.3g}, {one.high:.3g}]" for name, one in slopes.items())
    numbers = {"slopes": {name: [one.low, one.mean, one.high] for name, one in slopes.items()}, "culprit": ""}
    names = [name for name in tables if name != shared]
    if not any(biased.values()):
        return L7.found(True, f"No rung has a slope over seats that is not 0: {text}.", **numbers)
    if shared and biased.get(shared):
        culprit, why = "the game or the books", "Even one policy for all seats shows it, so no learner is at fault."
    else:
        clean = next((name for name in names if not biased[name]), "")
        culprit = clean.removeprefix("without ").removeprefix("no ") or "independent learning"
        why = f"The slope goes with the rung {clean!r}: what is left out there makes it."
        if not clean:
            why = "It goes only where one policy drives all seats: what the learners get is not the same."
        if clean == names[0]:
            culprit, why = "", "The full training shows none; what the ladder leaves out hid it."
    return L7.found(
        False, f"Slope over seats: {text}.", why, "Look at what that module is given for each agent, and how much.",
        **{**numbers, "culprit": culprit},
    )  # fmt: skip


def pictures_of(
    return_RS: np.ndarray, lines: Sequence[Mapping[str, Any]], seats: Sequence[str],
    slopes: Mapping[str, Interval] | None,
) -> list[Picture]:  # fmt: skip
    """Boxes of each seat over seeds, its curve, and the ladder of rungs."""
    by_seat = dict(zip(seats, return_RS.T, strict=True))
    found = [boxes(f"Last {LAST:.0%} of training, one dot a seed", by_seat, "return")]
    train = [line for line in lines if line.get("kind") == "train"]
    shown = {name: (one.steps, one.mean) for name in seats if (one := curve(train, [f"return/{name}"]))}
    found.append(curves("Return of each seat over training, mean over seeds", shown, "steps", "return of a game"))
    if slopes:
        found.append(ladder("Slope over seats, rung by rung", slopes, "return of a seat less that of the one before"))
    return found
