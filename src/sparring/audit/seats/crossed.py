"""L3: learners change seats from game to game. What stays with the seat is in the game or in the books; what goes with
the learner is in the training. No JAX."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import root_scalar
from scipy.stats import chi2, ncx2

from sparring.audit.findings import Finding
from sparring.audit.seats.levels import ALPHA, L3
from sparring.statistics.permutation import two_way


class Crossed(NamedTuple):
    return_GS: np.ndarray
    learner_GS: np.ndarray
    """Who sat there, numbered."""


def crossed_finding(found: Crossed, learners: Sequence[str], seats: Sequence[str]) -> Finding:
    """The two effects, each with the other taken out."""
    both = two_way(found.return_GS, found.learner_GS)
    by_seat, by_learner = (dict(zip(*own, strict=True)) for own in ((seats, both.column_N), (learners, both.label_L)))
    left_GS = found.return_GS - both.label_L[found.learner_GS]
    spread = float((left_GS - left_GS.mean(axis=1, keepdims=True)).std(ddof=1)) * (1 - 1 / len(seats)) ** -0.5
    detectable = seen_with(len(left_GS), spread, len(seats))
    text = (
        f"{len(found.return_GS):,} games. By seat: {spelled(by_seat)}, p = {both.column_p:.2g}. By learner: "
        f"{spelled(by_learner)}, p = {both.label_p:.2g}. A seat that earns {detectable:.3g} more is seen in 4 of 5 "
        "such audits."
    )
    fair = both.column_p >= ALPHA
    if fair and both.label_p < ALPHA:
        text += (
            " The learners differ, wherever they sit: that came from training. One run always shows some order; "
            "whether it is the same in every seed is for L6 to say."
        )
    return L3.found(
        fair, text, seat_p=both.column_p, learner_p=both.label_p, by_seat=by_seat, by_learner=by_learner,
        detectable=detectable,
    )  # fmt: skip


def seen_with(games: int, spread: float, seats: int, power: float = 0.8) -> float:
    """What one seat must earn more to be seen in so many games: returns spread by this much in a game, learners apart.
    Squares of the seats' means, added up, are about chi-square."""
    limit = chi2.isf(ALPHA, seats - 1)
    shift = root_scalar(lambda x: ncx2.sf(limit, seats - 1, x) - power, bracket=(0.0, 1000.0)).root
    return spread * float(shift / (games * (1 - 1 / seats))) ** 0.5


def spelled(values: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:+.3g}" for name, value in values.items())
