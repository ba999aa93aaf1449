"""Scripted players as policies, so that a seat cannot tell who sits opposite."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from sparring.core.errors import ConfigError, unknown
from sparring.games.game import Game
from sparring.nets.distributions import Distribution

RANDOM = "random"
STEADY_LOG_STD = -6.0
"""Continuous bots act practically without noise."""


class Scripted(eqx.Module):
    """A bot of a game, or random play: any legal entry alike, continuous dimensions normal about the middle of their
    range with half of it as deviation. It has no weights, and only the memory that the game gives its bots."""

    game: Game
    parameters_J: Array
    random: Array

    @classmethod
    def make(cls, game: Game, name: str) -> "Scripted":
        bots = game.bots()
        if name not in bot_names(game):
            raise ConfigError(unknown("bot", name, bot_names(game)))
        row = bots.names.index(name) if name in bots.names else 0
        parameters_J = bots.table_PJ[row] if bots.names else jnp.zeros(1)
        return cls(game, parameters_J, jnp.asarray(name == RANDOM))

    def initial(self, *batch: int) -> Any:
        return self.game.bot_memory(*batch)

    def __call__(self, features_NF: Array, legal_NA: Array, memory: Any) -> tuple[Distribution, Any]:
        action = self.game.spec.action
        low_C, high_C = jnp.asarray(action.low, jnp.float32), jnp.asarray(action.high, jnp.float32)
        logits_NA = jnp.zeros(legal_NA.shape)
        mean_NC = jnp.broadcast_to((low_C + high_C) / 2, (*legal_NA.shape[:-1], action.dimensions))
        log_std_C = jnp.log((high_C - low_C) / 2)
        if self.game.bots().names:
            scored_NA, aimed_NC, memory = self.game.bot_turn(self.parameters_J, features_NF, legal_NA, memory)
            logits_NA = jnp.where(self.random, logits_NA, scored_NA)
            mean_NC = jnp.where(self.random, mean_NC, aimed_NC)
            log_std_C = jnp.where(self.random, log_std_C, STEADY_LOG_STD)
        return Distribution.make(action, logits_NA, legal_NA, mean_NC, log_std_C), memory


def bot_names(game: Game) -> tuple[str, ...]:
    return (RANDOM, *game.bots().names)
