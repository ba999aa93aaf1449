"""L2, its arithmetic: returns of seats that should be alike, pair by pair under every probe. No JAX.

If seats are exchangeable, a difference within a game is as likely as its opposite, and nothing else is assumed;
evidence may be looked at after every batch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, exp

import numpy as np

from sparring.audit.findings import Finding
from sparring.audit.seats.levels import ALPHA, L2
from sparring.statistics.intervals import Interval
from sparring.statistics.permutation import holm
from sparring.statistics.sequential import games_to_see, running_half_width, symmetry_evidence

Pair = tuple[tuple[int, ...], tuple[int, ...]]
"""Two seats, or two whole sides, that should earn the same."""
MARGIN = 0.01
"""A difference below this share of what a seat earns counts as none. What a seat earns is the mean absolute return
under the probe that earns most: a share of what chance earns would often be a share of nothing."""
SEEN = 0.05
"""The difference, as a share of what a seat earns, of which the report says how many games show it."""
USUAL = 500
"""Games for which the evidence is sharpest; it stays valid for any number."""


@dataclass
class Tally:
    """Differences of one pair under one probe so far."""

    probe: str
    pair: Pair
    scale: float
    count: int = 0
    total: float = 0.0
    squares: float = 0.0
    evidence: float = 0.0
    """The largest so far, in logarithms."""

    def add(self, difference_G: np.ndarray) -> None:
        self.count += len(difference_G)
        self.total += float(difference_G.sum())
        self.squares += float((difference_G**2).sum())
        self.evidence = max(self.evidence, symmetry_evidence(self.total, self.squares, self.scale))

    @property
    def mean(self) -> float:
        return self.total / max(self.count, 1)

    @property
    def spread(self) -> float:
        return float(np.sqrt(max(self.squares / max(self.count, 1) - self.mean**2, 0.0)))

    @property
    def p_value(self) -> float:
        return min(1.0, exp(-self.evidence))

    def interval(self, alpha: float) -> Interval:
        half = running_half_width(self.spread, self.count, alpha, USUAL) if self.spread else 0.0
        return Interval(self.mean, self.mean - half, self.mean + half, self.count)


@dataclass
class Played:
    """All tests of a level, and the returns of each probe."""

    tallies: list[Tally]
    size: float
    """What a seat earns, in games that are not tested."""
    returns: dict[str, list[np.ndarray]] = field(default_factory=dict)
    seconds: float = 0.0
    """Of all games but the first batch; 0: somebody else played them."""

    @classmethod
    def begun(cls, first: Mapping[str, np.ndarray], pairs: Sequence[Pair]) -> "Played":
        """Before any game that is tested: the first ones of each probe, return_GS, set the scales."""
        seats = sorted({seat for pair in pairs for seat in pair[0] + pair[1]})
        scales = (
            (probe, pair, USUAL * float((apart(return_GS, pair) ** 2).mean()) or 1.0)
            for probe, return_GS in first.items()
            for pair in pairs
        )
        size = max(float(np.abs(return_GS[:, seats]).mean()) for return_GS in first.values())
        return cls([Tally(*scale) for scale in scales], size)

    def add(self, batch: Mapping[str, np.ndarray]) -> None:
        """More games of each probe."""
        for probe, return_GS in batch.items():
            self.returns.setdefault(probe, []).append(return_GS)
            for one in (one for one in self.tallies if one.probe == probe):
                one.add(apart(return_GS, one.pair))

    @property
    def p_values(self) -> list[float]:
        return holm([one.p_value for one in self.tallies])

    @property
    def worst(self) -> Tally:
        return max(self.tallies, key=lambda one: (one.evidence, abs(one.mean)))

    def within_margin(self) -> bool:
        intervals = [one.interval(ALPHA / len(self.tallies)) for one in self.tallies]
        return all(max(abs(found.low), abs(found.high)) <= MARGIN * self.size for found in intervals)


def apart(return_GS: np.ndarray, pair: Pair) -> np.ndarray:
    one, two = (return_GS[:, list(seats)].mean(axis=1) for seats in pair)
    return one - two


def pair_name(names: Sequence[str], pair: Pair) -> str:
    one, two = ("+".join(names[seat] for seat in seats) for seats in pair)
    return f"{one} against {two}"


def judged(names: Sequence[str], played: Played, *, by_place: str = "") -> Finding:
    """What the games show; `names` are those of the seats, and `by_place` is added to the meaning of a fault."""
    worst, tests, p_value = played.worst, len(played.tallies), min(played.p_values)
    span = worst.interval(ALPHA / tests)
    share = f" ({abs(worst.mean) / played.size:.1%} of the {played.size:.3g} that a seat earns)" if played.size else ""
    shown = f"{pair_name(names, worst.pair)} under {worst.probe}: {worst.mean:+.3g} [{span.low:.3g}, {span.high:.3g}]"
    needed = max(games_to_see(SEEN * played.size, one.spread, ALPHA / tests, USUAL) for one in played.tallies)
    numbers = {
        "games": worst.count, "tests": tests, "p_value": p_value, "difference": worst.mean, "low": span.low,
        "high": span.high, "size": played.size, "margin": MARGIN, "games_for_5_percent": needed,
        "means": {probe: np.concatenate(x).mean(0).tolist() for probe, x in played.returns.items()},
    }  # fmt: skip
    told = f"{worst.count:,} games of each of {len(played.returns)} probes; {needed:,} would show a difference of 5 %."
    if p_value < ALPHA:
        return L2.found(
            False, f"{shown}{share}, p = {p_value:.1g} over {tests} tests and all looks. {told}",
            f"The game pays seats unlike that should be alike. {by_place}".strip(),
            "Look at ties, at the order in which moves are carried out, and at where games begin.", **numbers,
        )  # fmt: skip
    if not any(one.squares for one in played.tallies):
        text = "Seats that should be alike are always paid the same." if played.size else "Nobody earned anything."
        return L2.found(True if played.size else None, f"{text} {told}", **numbers)
    if played.within_margin():
        text = f"No difference beyond {MARGIN:.0%} of what a seat earns. Largest: {shown}. {told}"
        return L2.found(True, text, **numbers)
    more = max(more_games(one, tests, MARGIN * played.size) for one in played.tallies)
    enough = ceil(1.2 * played.seconds * (1 + more / worst.count))  # a machine may be busier the next time
    flags = f", with --games {worst.count + more} --seconds {enough}"
    return L2.found(
        None, f"No difference shown. Largest: {shown}{share}. {told}",
        f"That it is below {MARGIN:.0%} of what a seat earns is not shown either.",
        f"About {more:,} more games of each probe would show it{flags if played.seconds else ''}.",
        **numbers, more_games=more,
    )  # fmt: skip


def more_games(one: Tally, tests: int, margin: float) -> int:
    """Games until the interval would lie within the margin, if there is no difference."""
    count = max(one.count, 2)
    while count < 10**9 and margin and running_half_width(one.spread, count, ALPHA / tests, USUAL) > margin:
        count = int(count * 1.2) + 1
    return max(0, count - one.count)
