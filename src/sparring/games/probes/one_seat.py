"""What games of a single seat are made of: their spec, what the seat sees, what it is paid."""

import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.records import Observation, Step
from sparring.core.spec import ActionSpec, Central, Feature, GameSpec


def one_seat(action: ActionSpec, *layout: Feature, steps: int = 1) -> GameSpec:
    """The spec of a game that lasts exactly that many steps; the critic may see what the seat sees."""
    return GameSpec(
        seats=1,
        side_of_seat=(0,),
        action=action,
        layout=layout,
        central=Central("seat", sum(block.size for block in layout)),
        longest=steps,
        shortest=steps,
    )


def seen(features_F: Array, legal_A: Array) -> Observation:
    here_S = jnp.ones(1, bool)
    return Observation(features_F[None], legal_A[None], here_S, here_S)


def paid(reward: Array, *, over: Array | bool = False, cut: Array | bool = False) -> Step:
    none_S = jnp.zeros(1, bool)
    return Step(reward[None].astype(float), none_S, jnp.asarray(over), jnp.asarray(cut), jnp.zeros(1))


def one_hot(choice: Array, size: int) -> Array:
    return (choice == jnp.arange(size)).astype(float)


def number(key: Array, below: int) -> Array:
    """A whole number from 0 on, all alike."""
    return jax.random.randint(key, (), 0, below, jnp.int32)


def another(key: Array, one: Array, below: int) -> Array:
    """A whole number that is not that one, all alike."""
    return (one + 1 + number(key, below - 1)) % below
