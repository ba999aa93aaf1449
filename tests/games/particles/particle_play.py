"""Games between the scripted players of particles."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.games.game import Game
from sparring.games.particles.physics import ParticleState
from sparring.games.trial import quick_jit
from sparring.play.scripted import Scripted


@quick_jit
def total_reward(game: Game, table_KJ: Array, random_K: Array, keys_W: Array) -> Array:
    """Return [W, S] of games in which each side is played by its bot's row, or at random."""
    spec = game.spec

    def advance(state: ParticleState, key: Array) -> tuple[ParticleState, Array]:
        seen = game.observe(state)
        uniform_SD, normal_SC = jax.random.uniform(key, (spec.seats, 2)), jax.random.normal(key, (spec.seats, 15))
        actions = []
        for k, seats in enumerate(spec.seats_of_side):
            rows = slice(seats[0], seats[-1] + 1)
            player = Scripted(game, table_KJ[k], random_K[k])
            choice, _ = player(seen.features_SF[rows], seen.legal_SA[rows], ())
            actions.append(choice.sample(uniform_SD[rows], normal_SC[rows, : spec.action.dimensions]))
        action = jax.tree.map(lambda *parts: jnp.concatenate(parts), *actions)
        after, step = game.step(state, action._replace(continuous_SC=jnp.clip(action.continuous_SC, 0.0, 1.0)), ())
        return after, step.reward_S

    def one(key: Array) -> Array:
        key_start, key_steps = jax.random.split(key)
        return jax.lax.scan(advance, game.start(key_start), jax.random.split(key_steps, spec.longest))[1].sum(axis=0)

    return jax.vmap(one)(keys_W)


def mean_return(game: Game, *names: str | None) -> np.ndarray:
    """Mean over 64 games of the return of each seat; None is a side that acts at random."""
    bots = game.bots()
    rows = jnp.array([0 if name is None else bots.names.index(name) for name in names])
    random_K = jnp.array([name is None for name in names])
    keys_W = jax.random.split(jax.random.key(0), 64)
    return np.asarray(total_reward(game, bots.table_PJ[rows], random_K, keys_W)).mean(axis=0)
