"""Play a game by hand: one world, then a thousand of them with vmap."""

import jax
import jax.numpy as jnp

import sparring
from sparring.core.records import Action

game = sparring.make("particles:spread", agents=3)
state = game.start(jax.random.key(0))
observation = game.observe(state)
print("seats", game.spec.seats, " features of each", observation.features_SF.shape[1])

# One action for every seat: 0 stay, 1 left, 2 right, 3 down, 4 up.
right = Action(discrete_SD=jnp.full((3, 1), 2), continuous_SC=jnp.zeros((3, 0)))
state, step = game.step(state, right, chance=())
print("reward of each seat", step.reward_S)

# The rules are written for one world; a thousand worlds are a vmap of them.
worlds = jax.vmap(game.start)(jax.random.split(jax.random.key(1), 1000))
everyone = jax.tree.map(lambda x: jnp.broadcast_to(x, (1000, *x.shape)), right)
worlds, steps = jax.vmap(game.step)(worlds, everyone, ())
print("mean reward over 1000 worlds", float(steps.reward_S.mean()))
