"""Population-based training (arXiv:1711.09846) as data: who copies whom, and which coefficients the copy tries.

A member's coefficient is the run's schedule times a factor of its own, `factor_MH` for M members and H explored knobs:
so schedules keep their shape, and a change never recompiles. Factors are floats. Whole numbers (epochs, minibatches)
change the program and cannot be explored, so the trap of rounding (4 x 1.2 is 4 again) does not occur.
Copying carries weights, optimiser state, normaliser, shadow and factors together; training does it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import ceil, inf
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import stdtrit

from sparring.core.errors import ConfigError
from sparring.core.fields import setting
from sparring.core.seeding import Seed
from sparring.core.sizes import MANY
from sparring.league.events import Event
from sparring.statistics.rates import UNKNOWN, moments, of_starts
from sparring.statistics.sequential import welch

LIMIT = 1000.0
"""Factors stay within [1/LIMIT, LIMIT]: far beyond what helps anybody, so that nothing runs away."""
SIGNIFICANT = 0.05
"""welch: the p-value below which the other is better."""
HORIZONS = ("discount", "decay")
"""Coefficients that weigh the future by their powers: their distance from 1 is what a factor means."""
SHAPING = "shaping/"
"""Before the name of a shaping term whose weight is explored, as in the metrics."""


@dataclass(frozen=True, kw_only=True)
class PopulationConfig:
    population: int = setting(0, least=0, most=MANY)
    """Learners that train side by side and copy each other; 0: no population. Usual: 8."""
    pbt_every: int = setting(0, least=0)
    """Steps of a learner between two rounds of copying; 0: a twentieth of the run."""
    pbt_select: Literal["truncation", "welch", "tournament"] = "truncation"
    """Who copies: the lowest share, or each who is worse than a random other, by Welch's t test or by the mean."""
    pbt_share: float = setting(0.2, above=0, most=0.5)
    """truncation: the lowest share, which may be replaced, and the highest share, which is copied; at most 0.5."""
    pbt_sure: bool = True
    """Copy only where the winner's lower bound exceeds the loser's upper bound; welch has its own test instead."""
    pbt_knobs: tuple[str, ...] = ("learning_rate", "entropy", "value_weight")
    """What is explored: coefficients, and weights of shaping terms as shaping/NAME."""
    pbt_factors: tuple[float, ...] = setting((0.8, 1.2), above=0)
    """A copy's coefficients are each multiplied by one of these, all equally likely."""
    pbt_resample: float = setting(0.25, least=0, most=1)
    """Chance that a copy's coefficient is drawn again from the first range instead."""
    pbt_spread: float = setting(3.0, least=1, most=LIMIT)
    """First factors are drawn evenly on a log scale between 1/spread and spread; the first member has the run's own."""
    pbt_against: Literal["each_other", "bots"] = "each_other"
    """Whom members meet to be ranked: each other, or the game's bots. Never what they earned in training."""
    pbt_games: int = setting(64, least=2)
    """Games of each pair in a round."""


class Fitness(NamedTuple):
    """What M members showed against common opponents. A mean that is not finite says that the member diverged."""

    mean_M: np.ndarray
    low_M: np.ndarray
    high_M: np.ndarray
    variance_M: np.ndarray
    """Of single starts, each played from both sides; of single games where those are independent."""
    count_M: np.ndarray

    @classmethod
    def of(cls, starts_M5: np.ndarray, diverged: Collection[int] = ()) -> Fitness:
        """Share of the points, from starts sorted by it. One without any counts one half with bounds of 0 and 1."""
        interval = [of_starts(starts_5) for starts_5 in starts_M5]
        mean_M, variance_M, count_M = moments(starts_M5)
        mean_M[list(diverged)] = np.nan
        low_M, high_M = (np.array([getattr(found, end) for found in interval]) for end in ("low", "high"))
        # One more of which nothing is known: else a member that won everything had no variance, and were certain.
        return cls(mean_M, low_M, high_M, variance_M + UNKNOWN / np.maximum(count_M, 1), count_M.astype(int))

    @classmethod
    def of_returns(cls, values: Sequence[np.ndarray], diverged: Collection[int] = ()) -> Fitness:
        """Mean returns of independent games, for each member its own; of one without games nothing is sure."""
        mean_M = np.array([value.mean() if len(value) else 0.0 for value in values])
        variance_M = np.array([value.var(ddof=1) if len(value) > 1 else inf for value in values])
        count_M = np.array([len(value) for value in values])
        mean_M[list(diverged)] = np.nan
        half_M = stdtrit(np.maximum(count_M - 1, 1), 0.975) * np.sqrt(variance_M / np.maximum(count_M, 1))
        return cls(mean_M, mean_M - half_M, mean_M + half_M, variance_M, count_M)


@dataclass(frozen=True)
class Ranked(Event):
    """Members were compared, whether or not anybody was copied."""

    means: tuple[float | None, ...]
    """Fitness of each member; None: it had diverged."""
    leader: int
    factors: tuple[dict[str, float], ...]
    """What each had tried, by knob."""

    def sentence(self) -> str:
        shown = ", ".join("diverged" if mean is None else f"{mean:.3g}" for mean in self.means)
        tried = ", ".join(f"{knob} x{factor:.3g}" for knob, factor in self.factors[self.leader].items())
        return f"Compared the members: {shown}. Member {self.leader} leads ({tried})."


@dataclass(frozen=True)
class Copied(Event):
    """A member became a copy of another, apart from what it tries."""

    member: int
    parent: int
    mean: float | None
    """Fitness of the member before; None: it had diverged."""
    parent_mean: float
    before: dict[str, float]
    """Its factors, by knob."""
    after: dict[str, float]

    def sentence(self) -> str:
        was = "diverged" if self.mean is None else f"{self.mean:.3g}"
        tries = ", ".join(f"{knob} x{self.before[knob]:.3g} -> x{new:.3g}" for knob, new in self.after.items())
        return f"Member {self.member} ({was}) copied member {self.parent} ({self.parent_mean:.3g}); tries {tries}."


def check_population(config: PopulationConfig) -> None:
    """What no range says; the caller knows which coefficients there are."""
    if config.population == 1:
        raise ConfigError("population must be 0 (none) or at least 2, found 1.")
    if config.pbt_games % 2:
        raise ConfigError(f"pbt_games must be even: each start is played from both sides, found {config.pbt_games}.")
    if not config.pbt_factors:
        raise ConfigError("pbt_factors must be numbers above 0, found none. Usual: 0.8 and 1.2.")
    if not config.pbt_knobs or len(set(config.pbt_knobs)) < len(config.pbt_knobs):
        raise ConfigError(
            f"pbt_knobs must name coefficients, each once, found {', '.join(config.pbt_knobs) or 'none'}."
        )


def steps_between(config: PopulationConfig, total_steps: int) -> int:
    return config.pbt_every or max(1, total_steps // 20)


def scaled(name: str, value: np.ndarray | float, factor: np.ndarray | float) -> np.ndarray:
    """A coefficient times a factor. A factor of 1 leaves the value exactly as it was.

    A discount of 0.99 times 1.2 means nothing. What matters is how far it looks, 1 / (1 - discount) = 100 steps; the
    factor multiplies that: 120 steps, 0.99167. The same for GAE's lambda.
    """
    if name not in HORIZONS:
        return np.multiply(value, factor)
    return np.clip(value + np.subtract(1.0, value) * (1.0 - np.divide(1.0, factor)), 0.0, 1.0)


def first_factors(config: PopulationConfig, knobs: Sequence[str], seed: Seed) -> np.ndarray:
    """factor_MH. Each member and knob has its own chance, so more members or knobs leave the others as they were.

    The first member keeps the run's own coefficients (a choice of ours): what a person has tuned takes part.
    """
    spread_MH = [
        [(seed / "factor" / member / knob).generator().uniform(-1.0, 1.0) if member else 0.0 for knob in knobs]
        for member in range(config.population)
    ]
    return config.pbt_spread ** np.array(spread_MH, np.float64).reshape(config.population, len(knobs))


def select(fitness: Fitness, config: PopulationConfig, generator: np.random.Generator) -> np.ndarray:
    """parent_M: whom each member becomes a copy of, itself where it stays.

    Nobody who is copied is replaced in the same round. Diverged members are always replaced where a finite one exists.
    """
    finite_M = np.isfinite(fitness.mean_M)
    if len(finite_M) < 2 or not finite_M.any():
        return np.arange(len(finite_M))
    known = fitness._replace(mean_M=np.where(finite_M, fitness.mean_M, np.nan))  # an infinite mean beats nobody
    rule = _truncation if config.pbt_select == "truncation" else _comparison
    return rule(known, config, generator)


def explore(
    factor_MH: np.ndarray, parent_M: np.ndarray, config: PopulationConfig, generator: np.random.Generator
) -> np.ndarray:
    """factor_MH after copying. Those who stay keep theirs to the last bit; a copy changes each of its parent's.

    Chance is drawn for everybody, so what one copy tries does not depend on who else was replaced.
    """
    shape = factor_MH.shape
    perturbed_MH = factor_MH[parent_M] * generator.choice(np.asarray(config.pbt_factors), shape)
    anew_MH = config.pbt_spread ** generator.uniform(-1.0, 1.0, shape)
    tried_MH = np.where(generator.random(shape) < config.pbt_resample, anew_MH, perturbed_MH)
    replaced_M1 = (parent_M != np.arange(len(parent_M)))[:, None]
    return np.where(replaced_M1, np.clip(tried_MH, 1.0 / LIMIT, LIMIT), factor_MH)


def ranked(fitness: Fitness, factor_MH: np.ndarray, knobs: Sequence[str]) -> Ranked:
    """A round as plain data: how all did, and who leads."""
    finite_M = np.isfinite(fitness.mean_M)
    means = [float(mean) if finite else None for mean, finite in zip(fitness.mean_M, finite_M, strict=True)]
    factors = tuple(dict(zip(knobs, factor_H.tolist(), strict=True)) for factor_H in factor_MH)
    return Ranked(tuple(means), int(np.argmax(np.where(finite_M, fitness.mean_M, -inf))), factors)


def copies(
    fitness: Fitness, parent_M: np.ndarray, before_MH: np.ndarray, after_MH: np.ndarray, knobs: Sequence[str]
) -> tuple[Copied, ...]:
    """A round as plain data: who copied whom, from which factors to which."""
    return tuple(
        Copied(
            member,
            parent,
            float(fitness.mean_M[member]) if np.isfinite(fitness.mean_M[member]) else None,
            float(fitness.mean_M[parent]),
            dict(zip(knobs, before_MH[member].tolist(), strict=True)),
            dict(zip(knobs, after_MH[member].tolist(), strict=True)),
        )
        for member, parent in enumerate(parent_M.tolist())
        if parent != member
    )


def _truncation(fitness: Fitness, config: PopulationConfig, generator: np.random.Generator) -> np.ndarray:
    """The lowest share copies a uniform member of the highest share.

    Where bounds are asked for, it is a uniform one of those that are surely better (a choice of ours: a winner that is
    only probably better should not stand in the way of one that surely is). An equal is never copied.
    """
    members = len(fitness.mean_M)
    finite_M = np.isfinite(fitness.mean_M)
    count = min(ceil(config.pbt_share * members - 1e-9), members // 2)  # 0.07 of 100 is 7, though the product is not
    shuffled_M = generator.permutation(members)  # ties are broken by chance, not by who comes first
    order_M = shuffled_M[np.argsort(np.where(finite_M, fitness.mean_M, -inf)[shuffled_M], kind="stable")]
    highest = order_M[members - count :].tolist()
    parent_M = np.arange(members)
    for place, member in enumerate(order_M):
        if place < count or not finite_M[member]:
            better = [other for other in highest if _better(fitness, other, member, config)]
            if better:
                parent_M[member] = generator.choice(better)
    return parent_M


def _comparison(fitness: Fitness, config: PopulationConfig, generator: np.random.Generator) -> np.ndarray:
    """Each member looks at one other, drawn uniformly, and copies it where it is better.

    In the paper members act one after another. Here a round is one step from the best downwards (a choice of ours):
    whoever meets a member that is itself being replaced gets its new weights, those at the end of the chain. A chain
    climbs strictly, so it ends, and its end has a higher mean and, with bounds, is surely better.
    """
    members, finite_M = len(fitness.mean_M), np.isfinite(fitness.mean_M)
    parent_M = np.arange(members)
    for member in np.argsort(np.where(finite_M, -fitness.mean_M, inf), kind="stable"):
        # One that diverged looks at finite ones only, since it must be replaced.
        others = np.flatnonzero((np.arange(members) != member) & (finite_M | finite_M[member]))
        other = generator.choice(others)
        if _better(fitness, other, member, config):
            parent_M[member] = parent_M[other]
    return parent_M


def _better(fitness: Fitness, other: int, member: int, config: PopulationConfig) -> bool:
    if not np.isfinite(fitness.mean_M[member]):
        return bool(np.isfinite(fitness.mean_M[other]))
    if not fitness.mean_M[other] > fitness.mean_M[member]:
        return False
    if config.pbt_select == "welch":
        one, two = ((fitness.mean_M[m], fitness.variance_M[m], fitness.count_M[m]) for m in (other, member))
        return welch(*one, *two) < SIGNIFICANT
    return not config.pbt_sure or bool(fitness.low_M[other] > fitness.high_M[member])
