"""Parts of one's own in any game: a reward, as one more shaping term, bots, and where games begin.

    def closer(before, action, after, step):
        return -jnp.abs(after.position_SX).sum(-1)

    game = with_reward(make("particles:spread"), closer)
    start(RunConfig(game="particles:spread", shaping=("own=0.1 -> 0",)), path, game=game)

By name the same is said in settings: shaping=("mine.py:closer=0.1 -> 0",), opponent="mine.py:chaser".
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.errors import ConfigError
from sparring.core.records import Action, Observation, Step
from sparring.core.scene import Scene
from sparring.core.spec import GameSpec, Term
from sparring.games.game import Bots, Chance, Game, Rules, State
from sparring.games.trial import Noise, random_action

Reward = Callable[[State, Action, State, Step], Array]
"""reward(before, action, after, step) -> reward_S, in JAX, for one world."""
Opening = Callable[[State, Array], State]
"""opening(state, key) -> state: where a game begins instead."""
Script = Callable[[Array, Array], Any]
"""bot(features_NF, legal_NA) -> logits_NA of one side's seats, or (logits_NA, mean_NC) where actions are continuous."""


class OwnParts(Game):
    """Another game with one more term, one more bot, or other beginnings; everything else is that game's."""

    spec: GameSpec = eqx.field(static=True)
    rules: Rules
    game: Game
    reward: Reward | None = eqx.field(static=True, default=None)
    bot: tuple[str, Script] | None = eqx.field(static=True, default=None)
    opening: Opening | None = eqx.field(static=True, default=None)

    @property
    def inner(self) -> Game:
        """The game under the present rules."""
        return eqx.tree_at(lambda game: game.rules, self.game, self.rules)

    def start(self, key: Array) -> State:
        state = self.inner.start(key)
        return state if self.opening is None else self.opening(state, jax.random.fold_in(key, 1))

    def chance(self, key: Array) -> Chance:
        return self.inner.chance(key)

    def observe(self, state: State) -> Observation:
        return self.inner.observe(state)

    def step(self, state: State, action: Action, chance: Chance) -> tuple[State, Step]:
        after, step = self.inner.step(state, action, chance)
        if self.reward is None:
            return after, step
        own_S = jnp.asarray(self.reward(state, action, after, step), jnp.float32)
        before_SJ = step.terms_SJ if self.game.spec.terms_of("reward") else jnp.zeros((self.spec.seats, 0))
        return after, step._replace(terms_SJ=jnp.concatenate([jnp.asarray(before_SJ), own_S[:, None]], axis=1))

    def central(self, state: State) -> Array:
        return self.inner.central(state)

    def openings(self) -> tuple[State, np.ndarray] | None:
        return self.inner.openings() if self.opening is None else None

    def potential(self, state: State) -> Array:
        return self.inner.potential(state)

    def scene(self, state: State) -> Scene:
        return self.inner.scene(state)

    def permute(self, tree: Any, order_S: Array) -> Any:
        return self.inner.permute(tree, order_S)

    def bots(self) -> Bots:
        """Those of the game, then one's own: a last column of parameters says which row is whose."""
        bots = self.inner.bots()
        if self.bot is None:
            return bots
        table_PJ = jnp.pad(bots.table_PJ, ((0, 1), (0, 1))).at[-1, -1].set(1.0)
        side = None if bots.side is None else (*bots.side, None)
        return Bots((*bots.names, self.bot[0]), table_PJ, side)

    def bot_memory(self, *batch: int) -> Any:
        return self.inner.bot_memory(*batch)

    def bot_turn(
        self, parameters_J: Array, features_NF: Array, legal_NA: Array, memory: Any
    ) -> tuple[Array, Array, Any]:
        if self.bot is None:
            return self.inner.bot_turn(parameters_J, features_NF, legal_NA, memory)
        logits_NA, mean_NC = scores_of(self.bot[1], self.spec, features_NF, legal_NA)
        if self.inner.bots().names:
            *theirs, memory = self.inner.bot_turn(parameters_J[:-1], features_NF, legal_NA, memory)
            own = parameters_J[-1] > 0
            logits_NA, mean_NC = jnp.where(own, logits_NA, theirs[0]), jnp.where(own, mean_NC, theirs[1])
        return logits_NA, mean_NC, memory


def scores_of(bot: Script, spec: GameSpec, features_NF: Array, legal_NA: Array) -> tuple[Array, Array]:
    """What a bot of one's own gives, with the part that it may leave out."""
    given = bot(features_NF, legal_NA)
    logits_NA, mean_NC = given if isinstance(given, tuple) else (given, None)
    seats = features_NF.shape[:-1]
    return (
        jnp.asarray(logits_NA, jnp.float32),
        jnp.zeros((*seats, spec.action.dimensions)) if mean_NC is None else jnp.asarray(mean_NC, jnp.float32),
    )


def with_reward(game: Game, reward: Reward, *, name: str = "own", meaning: str = "the user's own reward") -> OwnParts:
    """The game with a term of that name, to be given a weight by `shaping`. It changes the task."""
    if name in [term.name for term in game.spec.terms]:
        raise ConfigError(f"The game has a shaping term {name!r} already. Give the reward another name.")
    key, spec = jax.random.key(0), game.spec
    noise = Noise(np.zeros((spec.seats, spec.action.entries)), np.zeros((spec.seats, spec.action.dimensions)))

    def paid() -> Array:
        state, legal_SA = game.start(key), jnp.ones((spec.seats, spec.action.entries), bool)
        action = random_action(noise, spec.action, legal_SA)
        return jnp.asarray(reward(state, action, *game.step(state, action, game.chance(key))))

    if (found := jax.eval_shape(paid).shape) != (spec.seats,):
        raise ConfigError(f"The reward {name!r} must give one number for each of {spec.seats} seats, found {found}.")
    term = Term(name, "reward", f"{meaning}; it changes the task")
    return OwnParts(replace(spec, terms=(*spec.terms, term)), game.rules, game, reward=reward)


def with_bot(game: Game, bot: Script, *, name: str) -> OwnParts:
    """The game with one more bot. It plays any side, from what a policy sees, and remembers nothing."""
    if name in game.bots().names:
        raise ConfigError(f"The game has a bot {name!r} already. Give this one another name.")
    spec = game.spec
    for seats in sorted({len(seats) for seats in spec.seats_of_side}):
        given = jax.eval_shape(
            lambda f, a: scores_of(bot, spec, f, a),
            jax.ShapeDtypeStruct((seats, spec.features), jnp.float32),
            jax.ShapeDtypeStruct((seats, spec.action.entries), jnp.bool_),
        )
        wanted = (seats, spec.action.entries), (seats, spec.action.dimensions)
        if (found := tuple(part.shape for part in given)) != wanted:
            raise ConfigError(
                f"The bot {name} must give scores of shape {wanted[0]} (and means of shape {wanted[1]} where actions "
                f"are continuous) for a side of {seats}, found {found}."
            )
    return OwnParts(spec, game.rules, game, bot=(name, bot))
