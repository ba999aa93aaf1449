"""Play a game by hand: one world, then a thousand of them with vmap."""

import jax
import jax.numpy as jnp

import sparring
from sparring.core.records import Action

game = sparring.make("particles:spread", agents=3)
start = jax.jit(lambda key: game.start(key))
play = jax.jit(lambda state, action: game.step(state, action, chance=()))
state = start(jax.random.key(0))
observation = jax.jit(lambda state: game.observe(state))(state)
print("seats", game.spec.seats, " features of each", observation.features_SF.shape[1])

# One action for every seat: 0 stay, 1 left, 2 right, 3 down, 4 up.
right = Action(discrete_SD=jnp.full((3, 1), 2), continuous_SC=jnp.zeros((3, 0)))
state, step = play(state, right)
print("reward of each seat", step.reward_S)

# The rules are written for one world; a thousand worlds are a vmap of them.
worlds = jax.vmap(start)(jax.random.split(jax.random.key(1), 1000))
worlds, steps = jax.vmap(play, in_axes=(0, None))(worlds, right)
print("mean reward over 1000 worlds", float(steps.reward_S.mean()))
