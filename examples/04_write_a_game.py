"""A game of one's own: two seats race to ten; each step they add 1 or 2, but adding 2 fails half of the time."""

import os
import tempfile
from pathlib import Path
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.records import Action, Observation, Step
from sparring.core.spec import ActionSpec, Central, Feature, GameSpec
from sparring.games.contract import check_game
from sparring.games.game import Game
from sparring.setup.config import RunConfig
from sparring.training.runs import start


class Track(NamedTuple):
    place_S: Array  # the S tells the contract which axis is the seats'
    played: Array


class Luck(NamedTuple):
    lucky_S: Array


class Rules(NamedTuple):
    goal: Array


class Race(Game):
    rules: Rules
    spec: GameSpec = eqx.field(
        static=True,
        default=GameSpec(
            seats=2, side_of_seat=(0, 1), exchangeable=((0, 1),), action=ActionSpec(heads=(2,)),
            layout=(Feature("own", (1,)), Feature("other", (1, 1), lists="others")), central=Central("seat", 4),
            shortest=5, longest=40, zero_sum=True, score="outcome",
        ),
    )  # fmt: skip

    def start(self, key: Array) -> Track:
        del key  # every race begins alike
        return Track(jnp.zeros(2), jnp.zeros((), jnp.int32))

    def chance(self, key: Array) -> Luck:
        return Luck(jax.random.bernoulli(key, 0.5, (2,)))

    def observe(self, state: Track) -> Observation:
        features_SF = jnp.stack([state.place_S, state.place_S[::-1]], axis=1) / self.rules.goal
        return Observation(features_SF, jnp.ones((2, 2), bool), jnp.ones(2, bool), jnp.ones(2, bool))

    def step(self, state: Track, action: Action, chance: Luck) -> tuple[Track, Step]:
        bold_S = action.discrete_SD[:, 0] == 1
        place_S = state.place_S + jnp.where(bold_S, 2.0 * chance.lucky_S, 1.0)
        played = state.played + 1
        arrived_S = place_S >= self.rules.goal
        over = arrived_S.any() | (played >= self.spec.longest)
        outcome_K = jnp.where(over, arrived_S * 1.0 - arrived_S[::-1] * 1.0, 0.0)
        return Track(place_S, played), Step(outcome_K, jnp.zeros(2, bool), over, jnp.zeros((), bool), outcome_K)


game = Race(Rules(jnp.asarray(10.0)))
check_game(game)  # shapes, masks, symmetry of the seats, zero sums: or a sentence that says what to mend
print("the contract holds")

config = RunConfig(game="race", total_steps=10_000 if os.environ.get("SPARRING_QUICK") else 500_000)
with tempfile.TemporaryDirectory() as folder:
    summary = start(config, Path(folder) / "race", game=game)
learned = next(score for score in summary.scores if (score.team, score.opponents) == ("learned", "random"))
print(f"against random play the learned racer takes {learned.points.mean:.0%} of the points")
