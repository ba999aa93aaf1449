"""A batch of games played by a plain function from what is seen to what is done: for notebooks and other loops."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from sparring.core.records import Action, Observation
from sparring.core.sizes import check_size
from sparring.games.game import Game
from sparring.play.decide import within_bounds
from sparring.play.rollout import where_first

Act = Callable[[Observation, Array], Action]


class Batch(NamedTuple):
    """T steps of W worlds with S seats; a world whose game ends begins another one."""

    observation: Observation
    """What every seat saw before it acted: features_SF, legal_SA, present_S and acting_S with T and W in front."""
    action: Action
    reward_TWS: Array
    ended_TW: Array
    """The step was the last of its game."""
    outcome_TWK: Array
    """1 won, 0 drawn, -1 lost for each side, where a game ended."""
    return_TWS: Array
    """Rewards of the game so far."""

    @property
    def games(self) -> int:
        """Games that ended."""
        return int(self.ended_TW.sum())

    @property
    def mean_return_S(self) -> np.ndarray:
        """What each seat earned in a game, the mean over those that ended; not a number where none did."""
        return (
            np.asarray(self.return_TWS, float)[np.asarray(self.ended_TW)].mean(axis=0)
            if self.games
            else np.full(self.reward_TWS.shape[-1], np.nan)
        )


def rollout(game: Game, act: Act, *, worlds: int = 64, steps: int = 100, seed: int = 0) -> Batch:
    """Play `steps` steps in `worlds` worlds side by side. `act(observation, key)` chooses for all seats of one world;
    `policy.act` of a loaded run does, and so does any function that JAX can trace."""
    check_size("worlds", worlds, least=1)
    check_size("steps", steps, least=1)
    return _rollout(game, act, jax.random.key(seed), worlds, steps)


@eqx.filter_jit
def _rollout(game: Game, act: Act, key: Array, worlds: int, steps: int) -> Batch:
    def one_step(carry: tuple[Any, Array], key: Array) -> tuple[tuple[Any, Array], Batch]:
        state, earned_S = carry
        key_act, key_chance, key_start = jax.random.split(key, 3)
        seen = game.observe(state)
        action = act(seen, key_act)
        later, step = game.step(state, within_bounds(action, game.spec.action), game.chance(key_chance))
        earned_S = earned_S + step.reward_S
        ended = step.over | step.cut
        left = Batch(seen, action, step.reward_S, ended, step.outcome_K, earned_S)
        return where_first(ended, (game.start(key_start), jnp.zeros_like(earned_S)), (later, earned_S)), left

    def one_world(key: Array) -> Batch:
        key_start, key_play = jax.random.split(key)
        first = game.start(key_start), jnp.zeros(game.spec.seats)
        return lax.scan(one_step, first, jax.random.split(key_play, steps))[1]

    return jax.vmap(one_world, out_axes=1)(jax.random.split(key, worlds))
