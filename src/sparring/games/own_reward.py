"""A reward of one's own, added to any game as one more shaping term.

    def closer(before, action, after, step):
        return -jnp.abs(after.position_SX).sum(-1)

    game = with_reward(make("particles:spread"), closer)
    start(RunConfig(game="particles:spread", shaping=("own=0.1 -> 0",)), path, game=game)

What is shared between people is data, never code: so a reward of one's own is given in Python, not in a config file.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.errors import ConfigError
from sparring.core.records import Action, Observation, Step
from sparring.core.scene import Scene
from sparring.core.spec import GameSpec, Term
from sparring.games.game import Bots, Chance, Game, Rules, State

Reward = Callable[[State, Action, State, Step], Array]
"""reward(before, action, after, step) -> reward_S, in JAX, for one world."""


class OwnReward(Game):
    """Another game with one more term; everything else is that game's."""

    spec: GameSpec = eqx.field(static=True)
    rules: Rules
    game: Game
    reward: Reward = eqx.field(static=True)

    @property
    def inner(self) -> Game:
        """The game under the present rules."""
        return eqx.tree_at(lambda game: game.rules, self.game, self.rules)

    def start(self, key: Array) -> State:
        return self.inner.start(key)

    def chance(self, key: Array) -> Chance:
        return self.inner.chance(key)

    def observe(self, state: State) -> Observation:
        return self.inner.observe(state)

    def step(self, state: State, action: Action, chance: Chance) -> tuple[State, Step]:
        after, step = self.inner.step(state, action, chance)
        own_S = jnp.asarray(self.reward(state, action, after, step), jnp.float32)
        before_SJ = step.terms_SJ if self.game.spec.terms_of("reward") else jnp.zeros((self.spec.seats, 0))
        return after, step._replace(terms_SJ=jnp.concatenate([jnp.asarray(before_SJ), own_S[:, None]], axis=1))

    def central(self, state: State) -> Array:
        return self.inner.central(state)

    def openings(self) -> tuple[State, np.ndarray] | None:
        return self.inner.openings()

    def potential(self, state: State) -> Array:
        return self.inner.potential(state)

    def scene(self, state: State) -> Scene:
        return self.inner.scene(state)

    def permute(self, tree: Any, order_S: Array) -> Any:
        return self.inner.permute(tree, order_S)

    def bots(self) -> Bots:
        return self.inner.bots()

    def bot_memory(self, *batch: int) -> Any:
        return self.inner.bot_memory(*batch)

    def bot_turn(
        self, parameters_J: Array, features_NF: Array, legal_NA: Array, memory: Any
    ) -> tuple[Array, Array, Any]:
        return self.inner.bot_turn(parameters_J, features_NF, legal_NA, memory)


def with_reward(game: Game, reward: Reward, *, name: str = "own", meaning: str = "the user's own reward") -> OwnReward:
    """The game with a term of that name, to be given a weight by `shaping`. It changes the task."""
    if name in [term.name for term in game.spec.terms]:
        raise ConfigError(f"The game has a shaping term {name!r} already. Give the reward another name.")
    term = Term(name, "reward", f"{meaning}; it changes the task")
    return OwnReward(replace(game.spec, terms=(*game.spec.terms, term)), game.rules, game, reward)
