"""A reward and a bot of one's own for a game that is there: particles:spread.

sparring train particles:spread --shaping 'examples/own/game_parts.py:calm=0.1 -> 0'
sparring train particles:tag --opponent examples/own/game_parts.py:idle --side 0
sparring eval runs/first --against examples/own/game_parts.py:idle
"""

import jax.numpy as jnp
from jax import Array

from sparring.core.records import Action, Step


def calm(before, action: Action, after, step: Step) -> Array:
    """A reward: one number for each seat. It costs to do anything but stand still, which is entry 0."""
    del before, after, step
    return -1.0 * (action.discrete_SD[:, 0] != 0)


def idle(features_NF: Array, legal_NA: Array) -> Array:
    """A bot: a score for each choice of each seat of its side, from what a policy sees. This one prefers entry 0."""
    del features_NF
    return jnp.zeros(legal_NA.shape).at[:, 0].set(9.0)
