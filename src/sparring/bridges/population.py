"""Population-based training for a loop of one's own: who copies whom, and which coefficients the copy tries.

    population = Population(8, {"learning_rate": 3e-4, "entropy": 0.01, "gamma": 0.99})
    ...                                                   # train member m with population.values(m), then let all meet
    population.report(member, won=40, lost=24)
    for copy in population.round():
        agents[copy.member].load_state_dict(agents[copy.parent].state_dict())   # and the optimiser's state

A face of `league.population`: the same selection, exploration and bounds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from sparring.core.errors import ConfigError, unknown
from sparring.core.plain import from_plain, to_plain
from sparring.core.seeding import Seed
from sparring.core.settings import from_dict
from sparring.league.population import (
    Copied,
    Fitness,
    PopulationConfig,
    check_population,
    copies,
    explore,
    first_factors,
    scaled,
    select,
)

HORIZONS = {"gamma": "discount", "gae_lambda": "decay"}
"""Other names of coefficients whose distance from 1 is what a factor means: 0.99 x 1.2 would be no discount."""
OURS = {"population", "pbt_knobs", "pbt_every", "pbt_against", "pbt_games"}
"""Settings that the loop decides by what it does."""


class Population:
    """Members that train side by side. Each has coefficients of its own; the first keeps those that were given.

    Args:
        members: how many there are, at least 2.
        coefficients: names and values that are explored. A value is multiplied by factors; of `gamma`, `gae_lambda`,
            `discount` and `decay` it is the horizon, 1 / (1 - value), that is.
        seed: of all chance.
        settings: pbt_select, pbt_share, pbt_sure, pbt_factors, pbt_resample, pbt_spread of PopulationConfig.
    """

    def __init__(self, members: int, coefficients: Mapping[str, float], *, seed: int = 0, **settings: Any) -> None:
        known = {field.name for field in fields(PopulationConfig)} - OURS
        for name in settings:
            if name not in known:
                raise ConfigError(unknown("setting of Population", name, known))
        if members < 2:
            raise ConfigError(f"A population has at least 2 members, found {members}. Raise it.")
        self._coefficients = {name: float(value) for name, value in coefficients.items()}
        asked = {name: list(value) if isinstance(value, tuple) else value for name, value in settings.items()}
        asked |= {"population": members, "pbt_knobs": list(self._coefficients)}
        self._config = from_dict(PopulationConfig, asked, where="Population")
        check_population(self._config)
        self._seed = Seed.of(seed)
        self._rounds = 0
        self._factor_MH = first_factors(self._config, tuple(self._coefficients), self._seed)
        self._forget()

    def __len__(self) -> int:
        return self._config.population

    def values(self, member: int) -> dict[str, float]:
        """The coefficients with which a member learns now."""
        factor_H = self._factor_MH[self._checked(member)]
        return {
            name: float(scaled(HORIZONS.get(name, name), value, factor))
            for (name, value), factor in zip(self._coefficients.items(), factor_H.tolist(), strict=True)
        }

    def report(self, member: int, won: int = 0, drawn: int = 0, lost: int = 0) -> None:
        """Count games of a member in this round, against the other members or common opponents. In a game of two
        members report both, each as it saw it."""
        if any(int(games) != games or games < 0 for games in (won, drawn, lost)):
            raise ConfigError(f"Games must be whole numbers from 0, found won={won}, drawn={drawn}, lost={lost}.")
        self._games_M3[self._checked(member)] += (won, drawn, lost)

    def report_returns(self, member: int, returns: Sequence[float]) -> None:
        """The same where games are not won: what each game of a member brought."""
        self._returns[self._checked(member)] += [float(value) for value in returns]

    def round(self, diverged: Collection[int] = ()) -> tuple[Copied, ...]:
        """Compare what was reported since the last round. For each copy that comes back, give `member` the weights and
        the optimiser's state of `parent`; `values(member)` are its new coefficients. Members that have diverged are
        replaced in any case. A member nobody reported is copied by none and copies none that is not surely better."""
        for member in diverged:
            self._checked(member)
        by_return = any(self._returns)
        if by_return and self._games_M3.any():
            raise ConfigError("A round compares games won or returns, found both. Report one of them.")
        if by_return:
            fitness = Fitness.of_returns([np.array(returns, float) for returns in self._returns], diverged)
        else:
            starts_M5 = np.zeros((len(self), 5), int)
            starts_M5[:, [4, 2, 0]] = self._games_M3
            fitness = Fitness.of(starts_M5, diverged)
        generator = (self._seed / "round" / self._rounds).generator()
        parent_M = select(fitness, self._config, generator)
        after_MH = explore(self._factor_MH, parent_M, self._config, generator)
        happened = copies(fitness, parent_M, self._factor_MH, after_MH, tuple(self._coefficients))
        self._factor_MH, self._rounds = after_MH, self._rounds + 1
        self._forget()
        return happened

    def state(self) -> dict[str, Any]:
        """Plain data for JSON, to be saved with the loop's own checkpoint between two rounds."""
        return {"rounds": self._rounds, "factors": to_plain(self._factor_MH), "names": list(self._coefficients)}

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Take up what `state` gave."""
        factor_MH = np.asarray(from_plain(np.ndarray, state["factors"]), float)
        if list(state["names"]) != list(self._coefficients) or factor_MH.shape != self._factor_MH.shape:
            raise ConfigError(
                f"Expected a state of {len(self)} members with {', '.join(self._coefficients)}, found "
                f"{factor_MH.shape[0]} with {', '.join(map(str, state['names']))}. Make the population as it was."
            )
        self._factor_MH, self._rounds = factor_MH, int(state["rounds"])
        self._forget()

    def _forget(self) -> None:
        self._games_M3 = np.zeros((len(self), 3), int)
        self._returns: list[list[float]] = [[] for _ in range(len(self))]

    def _checked(self, member: int) -> int:
        if not 0 <= member < len(self):
            raise ConfigError(f"Members are numbered from 0 to {len(self) - 1}, found {member}.")
        return member
