"""What cross-play shows: who depends on the partner it grew up with, and which players share a convention.

A convention is a way to play that works with those who play it too: all stag, all hare; all on the left, all on the
right. Self-play settles on one, whichever it happens to be, and two runs need not settle on the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparring.core.seeding import Seed
from sparring.ratings.cross_play import CrossPlay
from sparring.ratings.payoff import RatingError
from sparring.statistics.intervals import Interval, student
from sparring.statistics.sequential import welch

NEAR = 0.05
"""Of the largest mean return of the table, whatever its sign: what is lost with a stranger without being a stranger."""
SURE = 0.025
"""p-value below which a loss is sure: that of one end of a 95 % interval."""
RESAMPLES = 2000
FEWEST = 3
"""Players from whom something can be said about others that were made the same way."""


@dataclass(frozen=True)
class Convention:
    """Players of whom each fits another of the group."""

    names: tuple[str, ...]
    inside: float
    """Mean return of its players with each other, and with themselves."""
    across: float | None
    """Mean return of its players with those of other groups; None where there are none."""
    misfits: int
    """Pairs of the group that do not fit each other: only others between them do."""


@dataclass(frozen=True, eq=False)
class Conventions:
    """The measures of a cross-play table; those that a zero-sum game has not are None."""

    cross: CrossPlay
    near: float
    with_others: tuple[Interval, ...]
    """What each player earns with the others, on average."""
    to_others: tuple[Interval, ...]
    """What the others earn with it: how good a partner it is."""
    self_play: float
    """Mean of the diagonal, D."""
    cross_play: float
    """Mean of the rest, O."""
    gap: Interval | None
    """D - O of these very players; the interval is that of their games."""
    gap_of_others: Interval | None
    """The same with the interval for other players made the same way, by resampling players; None below 3."""
    loss: float | None
    """(D - O) / D, the average proportional loss of arXiv:1711.00832; None unless D is above 0."""
    groups: tuple[Convention, ...] | None

    @property
    def group_M(self) -> list[int]:
        """The number of each player's group, from 0."""
        place = {name: number for number, group in enumerate(self.groups or ()) for name in group.names}
        return [place.get(name, 0) for name in self.cross.names]

    @property
    def order(self) -> list[int]:
        """Rows group by group, and in each from the player that earns most with others."""
        names, group_M = self.cross.names, self.group_M
        return sorted(range(len(names)), key=lambda i: (group_M[i], -self.with_others[i].mean, names[i]))


def conventions(cross: CrossPlay, *, zero_sum: bool = False, near: float | None = None, seed: int = 0) -> Conventions:
    """All measures. `near` is in units of return; `seed` is that of the resampling.

    In a zero-sum game everyone earns 0 with itself and one gains what the other loses, so that gap, loss and groups
    would only say who is stronger.
    """
    count, mean_MM = len(cross.names), cross.mean_MM
    if count < 2:
        raise RatingError(f"cross-play needs two players or more, found {count}: play another one")
    if near is not None and not 0 <= near < np.inf:
        raise RatingError(f"near is a difference of returns and not negative, found {near}")
    near = NEAR * float(np.abs(mean_MM).max()) if near is None else near
    others_MM = ~np.eye(count, dtype=bool)
    own, rest = float(mean_MM.diagonal().mean()), float(mean_MM[others_MM].mean())
    return Conventions(
        cross=cross,
        near=near,
        with_others=tuple(_mean_of(cross, [(i, j) for j in range(count) if j != i]) for i in range(count)),
        to_others=tuple(_mean_of(cross, [(j, i) for j in range(count) if j != i]) for i in range(count)),
        self_play=own,
        cross_play=rest,
        gap=None if zero_sum else _gap(cross),
        gap_of_others=None if zero_sum else _gap_of_others(mean_MM, seed),
        loss=None if zero_sum or own <= 0 else (own - rest) / own,
        groups=None if zero_sum else _groups(cross, fits(cross, near)),
    )


def fits(cross: CrossPlay, near: float) -> np.ndarray:
    """fits_MM: neither of the two surely loses more than `near` with the other, against what it earns with itself."""
    mean_MM, variance_MM, starts_MM = cross.mean_MM, cross.variance_MM, cross.starts_MM

    def loses(i: int, j: int) -> bool:
        own = (mean_MM[i, i] - near, variance_MM[i, i], starts_MM[i, i])
        return i != j and welch(*own, mean_MM[i, j], variance_MM[i, j], starts_MM[i, j]) < SURE

    rows = range(len(cross.names))
    loses_MM = np.array([[loses(i, j) for j in rows] for i in rows])
    return ~(loses_MM | loses_MM.T)


def _groups(cross: CrossPlay, fits_MM: np.ndarray) -> tuple[Convention, ...]:
    """Connected components of who fits whom, those that earn most inside first."""
    left, groups = set(range(len(cross.names))), []
    while left:
        group, reached = set(), {min(left)}
        while reached:
            group |= reached
            reached = {int(j) for i in reached for j in np.flatnonzero(fits_MM[i])} - group
        left -= group
        groups.append(_convention(cross, fits_MM, sorted(group)))
    return tuple(sorted(groups, key=lambda group: -group.inside))


def _convention(cross: CrossPlay, fits_MM: np.ndarray, rows: list[int]) -> Convention:
    inside = np.ix_(rows, rows)
    outside = [j for j in range(len(cross.names)) if j not in rows]
    across = float(cross.mean_MM[np.ix_(rows, outside)].mean()) if outside else None
    misfits = int((~fits_MM[inside]).sum()) // 2
    return Convention(tuple(cross.names[i] for i in rows), float(cross.mean_MM[inside].mean()), across, misfits)


def _mean_of(cross: CrossPlay, places: list[tuple[int, int]]) -> Interval:
    """The mean of entries that come from different games."""
    rows, columns = (list(axis) for axis in zip(*places, strict=True))
    error = np.sqrt((cross.error_MM[rows, columns] ** 2).sum()) / len(places)
    return _interval(float(cross.mean_MM[rows, columns].mean()), error, cross.starts_MM[rows, columns])


def _gap(cross: CrossPlay) -> Interval:
    """The two returns of a pair come from the same games. Their errors are added, as if they always went together: true
    where both earn the same, and else too wide, never too narrow."""
    count, error_MM = len(cross.names), cross.error_MM
    own = (error_MM.diagonal() ** 2).sum() / count**2
    both_MM = np.triu(error_MM + error_MM.T, k=1)
    rest = (both_MM**2).sum() / (count * (count - 1)) ** 2
    return _interval(_difference(cross.mean_MM), np.sqrt(own + rest), cross.starts_MM)


def _interval(mean: float, error: float, starts: np.ndarray) -> Interval:
    """Student's, with the freedom of the entry of fewest starts, which is never too narrow."""
    fewest = int(starts.min())
    return student(mean, float(error) ** 2 * fewest, fewest)


def _difference(mean_MM: np.ndarray) -> float:
    count = len(mean_MM)
    own = mean_MM.trace()
    return float(own / count - (mean_MM.sum() - own) / (count * (count - 1)))


def _gap_of_others(mean_MM: np.ndarray, seed: int) -> Interval | None:
    """A bootstrap over players (Efron 1979, doi:10.1214/aos/1176344552): what other players, drawn as these were, show.

    A player that is drawn twice fits itself perfectly, which shrinks the gap by 1 / M on average; so it is scaled by
    M / (M - 1). With few players the interval is too narrow.
    """
    count = len(mean_MM)
    if count < FEWEST:
        return None
    drawn_BM = (Seed.of(seed) / "cross-play").generator().multinomial(count, [1 / count] * count, size=RESAMPLES)
    own_B = drawn_BM @ mean_MM.diagonal()
    rest_B = np.einsum("bi,ij,bj->b", drawn_BM, mean_MM, drawn_BM) - own_B
    gap_B = (own_B / count - rest_B / (count * (count - 1))) * count / (count - 1)
    low, high = np.quantile(gap_B, [0.025, 0.975])
    return Interval(_difference(mean_MM), float(low), float(high), count)
