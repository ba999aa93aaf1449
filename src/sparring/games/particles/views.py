"""What particles see: blocks of numbers, each for all seats at once. Letter: O the other seats."""

from collections.abc import Mapping, Sequence

import jax.numpy as jnp
from jax import Array

from sparring.core.spec import Feature
from sparring.games.others import others
from sparring.games.particles.physics import ParticleState

Blocks = Mapping[str, Array]
"""What seats see, by the names of the layout, each block [S, *shape]; or what rows of features say, [N, *shape]."""


def surroundings(state: ParticleState) -> dict[str, Array]:
    """Own velocity and position, then landmarks and other seats relative to the own position."""
    own_S1X = state.position_SX[:, None]
    return {
        "velocity": state.velocity_SX,
        "position": state.position_SX,
        "landmarks": state.landmark_EX - own_S1X,
        "others": others(state.position_SX) - own_S1X,
    }


def rows(layout: Sequence[Feature], seen: Blocks, seats: int) -> Array:
    """features_SF: the blocks in the order of the layout, with zeros for one that nobody sees."""
    parts = [seen[block.name] if block.name in seen else jnp.zeros((seats, block.size)) for block in layout]
    return jnp.concatenate([part.reshape(seats, -1) for part in parts], axis=1)


def blocks(layout: Sequence[Feature], features_NF: Array) -> dict[str, Array]:
    """The blocks of rows of features, [N, *shape] each."""
    found, begin = {}, 0
    for feature in layout:
        part = features_NF[:, begin : begin + feature.size]
        found[feature.name] = part.reshape(features_NF.shape[0], *feature.shape)
        begin += feature.size
    return found


def full_view(state: ParticleState, anyone_moves: bool) -> Array:
    """central_CG, one view for each seat: nothing is hidden. Where nobody moves, places do not matter."""
    seats = len(state.position_SX)
    bodies = [*surroundings(state).values(), others(state.velocity_SX)] if anyone_moves else []
    hidden = {"said_SU": state.said_SU, **(state.secret._asdict() if state.secret else {})}
    told = [
        own_first(leaf) if name.endswith(("_SU", "_SE")) else jnp.broadcast_to(leaf, (seats, *leaf.shape))
        for name, leaf in hidden.items()
        if not isinstance(leaf, tuple)
    ]
    return jnp.concatenate([part.reshape(seats, -1) for part in [*bodies, *told]], axis=1)


def own_first(rows_SX: Array) -> Array:
    """For each seat its own row, then those of the others: [S, S, X]."""
    return jnp.concatenate([rows_SX[:, None], others(rows_SX)], axis=1)
