"""A population in training: members are compared in games apart from it, and the weak become copies of the strong.

What is decided stands in league/population.py; this plays the games, copies rows of the stack of learners and gives
every member its own coefficients. A round reads the weights as they are before an iteration: a resumed run repeats it.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import jax.numpy as jnp
import numpy as np

from sparring.core.errors import ConfigError
from sparring.core.fields import RANGE
from sparring.core.seeding import Seed
from sparring.core.spec import GameSpec
from sparring.evaluation.cross_play import half_width
from sparring.evaluation.match import Match, prepare_match
from sparring.evaluation.tournament import meetings, play_pairs
from sparring.league.events import Event
from sparring.league.population import (
    HORIZONS,
    SHAPING,
    Fitness,
    copies,
    explore,
    first_factors,
    ranked,
    scaled,
    select,
    steps_between,
)
from sparring.learn.config import COEFFICIENTS, INHERITED, PPOConfig, coefficient
from sparring.learn.learner import Learner
from sparring.play.scripted import RANDOM, Scripted
from sparring.setup.build import Built
from sparring.setup.named_arrays import to_arrays
from sparring.setup.program import TrainState
from sparring.setup.rows import descended, taken, with_blank_memory


@dataclass
class Population:
    """What the members of every seed try, and who leads. Empty where there is none."""

    built: Built
    factors: list[np.ndarray] = field(default_factory=list)
    """factor_MH for each seed."""
    leaders: list[int] = field(default_factory=list)
    """The member of each seed that did best in the last round."""
    match: Match | None = None
    """Of games that are judged by returns, compiled at the first round."""

    @classmethod
    def begin(cls, built: Built) -> "Population":
        config = built.config.population
        if not config.population:
            return cls(built)
        seeds = [Seed.of(int(seed)) / "population" for seed in built.seeds_R]
        drawn = [first_factors(config, config.pbt_knobs, seed) for seed in seeds]
        return cls(built, [with_each(built, factor_MH) for factor_MH in drawn], [0] * len(seeds))

    @classmethod
    def restored(cls, built: Built, saved: dict[str, Any]) -> "Population":
        return cls(built, [np.asarray(factor_MH, np.float64) for factor_MH in saved["factors"]], list(saved["leaders"]))

    def state(self) -> dict[str, Any]:
        return {"factors": [factor_MH.tolist() for factor_MH in self.factors], "leaders": list(self.leaders)}

    def knobs(self, iteration: int) -> tuple[np.ndarray, ...]:
        """knobs_LH of the run, or knobs_RLH with every member's factors in them."""
        common = self.built.knobs(iteration)
        if not self.factors:
            return common
        (knobs_LH,), progress = common, self.built.progress(iteration)
        stacks = [with_factors(self.built, knobs_LH, factor_MH, progress) for factor_MH in self.factors]
        return (np.stack(stacks),)

    @property
    def members(self) -> int:
        """The first of the learners."""
        return self.built.config.population.population

    def due(self, iteration: int) -> bool:
        if not self.factors or iteration == 0:
            return False
        config, learners = self.built.config, len(self.built.lineup.names)
        every = learners * steps_between(config.population, config.total_steps // learners)
        before, now = ((i * self.built.steps_per_iteration) // every for i in (iteration - 1, iteration))
        return now > before

    def round(self, state: TrainState, iteration: int) -> tuple[TrainState, list[list[Event]]]:
        """Compare, copy, and try something else; for each seed what happened."""
        config, events_R = self.built.config.population, []
        (learners,) = state.learners
        for r, seed in enumerate(self.built.seeds_R):
            own = Seed.of(int(seed)) / "population" / iteration
            fitness = self.fitness(taken(learners, r), (own / "games").word())
            parent_M = select(fitness, config, (own / "select").generator())
            after_MH = explore(self.factors[r], parent_M, config, (own / "explore").generator())
            found = ranked(fitness, self.factors[r], config.pbt_knobs)
            copied = copies(fitness, parent_M, self.factors[r], after_MH, config.pbt_knobs)
            events_R.append([found, *copied])
            self.leaders[r], self.factors[r] = found.leader, after_MH
            if copied:
                others = np.arange(self.members, len(self.built.lineup.names))  # exploiters copy nobody
                learners = descended(learners, jnp.asarray(r), jnp.asarray(np.concatenate([parent_M, others])))
                group = self.built.plan.seating.learning[0]
                state = with_blank_memory(state, group, r, [event.member for event in copied])
        return state._replace(learners=(learners,)), events_R

    def fitness(self, learners: Learner, seed: int) -> Fitness:
        """Points, or returns of zero-sum games, against each other or against bots; else the mean return."""
        game, config, names = self.built.game, self.built.config.population, self.built.lineup.names[: self.members]
        members = {name: taken(learners.model.actor, row) for row, name in enumerate(names)}
        diverged = [row for row, name in enumerate(names) if not finite(members[name])]
        sound = {name: actor for row, (name, actor) in enumerate(members.items()) if row not in diverged}
        if not in_pairs(game.spec):
            return self.returns(members, diverged, seed)
        bots = (RANDOM, *game.bots().names) if config.pbt_against == "bots" else ()
        pairs = [(name, bot) for name in sound for bot in bots] or list(combinations(sorted(sound), 2))
        players = {**sound, **{bot: Scripted.make(game, bot) for bot in bots}}
        if not pairs:
            return Fitness.of(np.zeros((len(names), 5), int), diverged)
        if game.spec.score == "return":
            return Fitness.of_returns(self.earned(players, pairs, seed), diverged)
        most = max(config.pbt_games, 1024)
        payoff = play_pairs(game, players, pairs, games=config.pbt_games, seed=seed, most_games=most)
        starts_M5 = np.array([payoff.starts_MM5[payoff.place(n)].sum(0) if n in sound else [0] * 5 for n in names])
        return Fitness.of(starts_M5, diverged)

    def earned(self, players: dict[str, Any], pairs: list[tuple[str, str]], seed: int) -> list[np.ndarray]:
        """What each member earned from others, start by start: in zero-sum games, where returns among equals are 0."""
        found: dict[str, list[np.ndarray]] = defaultdict(lambda: [np.zeros(0)])
        games = self.built.config.population.pbt_games
        most = max(games, 1024)
        for pair, met in meetings(self.built.game, players, pairs, half_width, games=games, seed=seed, most_games=most):
            for name, return_G in zip(pair, met.return_2G, strict=True):
                found[name].append(return_G)
        return [np.concatenate(found[name]) for name in self.built.lineup.names[: self.members]]

    def returns(self, members: dict[str, Any], diverged: Sequence[int], seed: int) -> Fitness:
        """What each member earns with copies of itself: where all share what they earn, or nobody wins."""
        built, games = self.built, self.built.config.population.pbt_games
        sides = built.plan.seating.seats_of_side
        if self.match is None:
            lineups = [(name,) * len(sides) for name in members]
            self.match = prepare_match(built.game, lineups, members, games=games, seats_of_side=sides)
        played = self.match(members, seed=seed)
        return Fitness.of_returns([one.return_GS.mean(axis=1) for one in played], diverged)


def in_pairs(spec: GameSpec) -> bool:
    """Whether two members can meet and one of them win."""
    return spec.has_winners and spec.sides == 2 and spec.exchangeable_sides


def with_each(built: Built, factor_MH: np.ndarray) -> np.ndarray:
    """The first factors. Where the setting `each` gives a member a coefficient of its own, that is its factor, instead
    of one drawn by chance."""
    said = {text.partition("=")[0].strip().replace("-", "_") for text in built.config.each}
    factor_MH = factor_MH.copy()
    for column, knob in coefficients(built):
        base = coefficient(built.config.ppo, knob)
        for member, ppo in enumerate(built.settings[0][: len(factor_MH)] if knob in said else ()):
            own = coefficient(ppo, knob)
            first, last, own_first, own_last = (
                1 - value if knob in HORIZONS else value for value in (base.start, base.end, own.start, own.end)
            )
            if own_first <= 0 or abs(first * own_last - last * own_first) > 1e-9 * first * own_first:
                raise ConfigError(
                    f"each gives {knob} of {built.lineup.names[member]} as {own}, which is not a multiple of the run's "
                    f"{base}: a population explores factors. Give it the same shape, or leave it out of pbt_knobs."
                )
            factor_MH[member, column] = first / own_first if knob in HORIZONS else own_first / first
    return factor_MH


def with_factors(built: Built, knobs_LH: np.ndarray, factor_MH: np.ndarray, progress: float) -> np.ndarray:
    """knobs_LH of the members. A coefficient that follows another one has its factor too, unless it is explored."""
    explored, common, found_LH = built.config.population.pbt_knobs, built.config.ppo, knobs_LH.copy()
    members, spec = slice(len(factor_MH)), built.game.spec
    terms = [SHAPING + name for name in (*spec.terms_of("reward"), *spec.terms_of("potential"))]
    for column, knob in enumerate(explored):
        if knob in terms:
            found_LH[members, len(COEFFICIENTS) + terms.index(knob)] *= factor_MH[:, column]
    for column, knob in coefficients(built):
        followers = [name for name, root in INHERITED.items() if root == knob and name not in explored]
        for name in (knob, *followers):
            value_M = np.minimum(scaled(name, coefficient(common, knob).at(progress), factor_MH[:, column]), most(name))
            settings = built.settings[0][members]
            own_M = np.array([name in followers and getattr(ppo, name) is not None for ppo in settings])
            place = COEFFICIENTS.index(name)
            found_LH[members, place] = np.where(own_M, knobs_LH[members, place], value_M)
    return found_LH


def coefficients(built: Built) -> list[tuple[int, str]]:
    """What is explored besides weights of shaping terms, with its column."""
    knobs = built.config.population.pbt_knobs
    return [(column, knob) for column, knob in enumerate(knobs) if not knob.startswith(SHAPING)]


def most(name: str) -> float:
    """The largest value of a coefficient; a policy that only guesses cannot learn."""
    return 0.99 if name == "epsilon" else PPOConfig.__dataclass_fields__[name].metadata[RANGE].most


def finite(policy: Any) -> bool:
    return all(np.isfinite(array).all() for array in to_arrays(policy).values())
