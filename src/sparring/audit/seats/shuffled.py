"""A game whose places are dealt out anew before each game: does a difference follow the name or the place?"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.audit.seats.claims import orders_of
from sparring.core.records import Action, Observation, Step
from sparring.core.spec import GameSpec
from sparring.games.game import Bots, Chance, Game, Rules, State


class Shuffled(Game):
    """Another game that begins with its seats in an order drawn by chance; everything else is that game's."""

    spec: GameSpec = eqx.field(static=True)
    rules: Rules
    game: Game
    orders_OS: Array

    def start(self, key: Array) -> State:
        order_S = self.orders_OS[jax.random.randint(jax.random.fold_in(key, 1), (), 0, len(self.orders_OS))]
        return self.game.permute(self.game.start(key), order_S)

    def chance(self, key: Array) -> Chance:
        return self.game.chance(key)

    def observe(self, state: State) -> Observation:
        return self.game.observe(state)

    def step(self, state: State, action: Action, chance: Chance) -> tuple[State, Step]:
        return self.game.step(state, action, chance)

    def bots(self) -> Bots:
        return self.game.bots()

    def bot_memory(self, *batch: int) -> Any:
        return self.game.bot_memory(*batch)

    def bot_turn(
        self, parameters_J: Array, features_NF: Array, legal_NA: Array, memory: Any
    ) -> tuple[Array, Array, Any]:
        return self.game.bot_turn(parameters_J, features_NF, legal_NA, memory)


def shuffled(game: Game) -> Shuffled:
    orders = np.stack([np.arange(game.spec.seats), *orders_of(game.spec)])
    return Shuffled(game.spec, game.rules, game, jnp.asarray(orders))
