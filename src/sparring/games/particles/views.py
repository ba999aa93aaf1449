"""What particles see: rows built from static slices, seat by seat, because slices cost less than gathers."""

from collections.abc import Mapping, Sequence

import jax.numpy as jnp
from jax import Array

from sparring.core.spec import Feature
from sparring.games.particles.physics import ParticleState

Blocks = Mapping[str, Array]
"""What one seat sees, by the names of the layout; or what rows of features say, each block [N, *shape]."""


def others(rows_SX: Array, seat: int) -> Array:
    """The rows of all other seats, in seat order."""
    return jnp.concatenate([rows_SX[:seat], rows_SX[seat + 1 :]])


def surroundings(state: ParticleState, seat: int) -> dict[str, Array]:
    """Own velocity and position, then landmarks and other seats relative to the own position."""
    own_X = state.position_SX[seat]
    return {
        "velocity": state.velocity_SX[seat],
        "position": own_X,
        "landmarks": state.landmark_EX - own_X,
        "others": others(state.position_SX, seat) - own_X,
    }


def rows(layout: Sequence[Feature], seen: Sequence[Blocks]) -> Array:
    """features_SF, the blocks of each seat in the order of the layout.

    Zeros stand for a block that a seat lacks, and for the end of a block that it has less of than others.
    """

    def block(of_seat: Blocks, feature: Feature) -> list[Array]:
        found = of_seat[feature.name].reshape(-1) if feature.name in of_seat else jnp.zeros(0)
        missing = feature.size - found.size
        return [found, jnp.zeros(missing)] if missing else [found]

    parts = [[part for feature in layout for part in block(of_seat, feature)] for of_seat in seen]
    return jnp.stack([jnp.concatenate(row) for row in parts])


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
    return jnp.stack([jnp.concatenate(_everything(state, s, anyone_moves)) for s in range(state.position_SX.shape[0])])


def _everything(state: ParticleState, seat: int, anyone_moves: bool) -> list[Array]:
    bodies = [*surroundings(state, seat).values(), others(state.velocity_SX, seat)] if anyone_moves else []
    hidden = {"said_SU": state.said_SU, **(state.secret._asdict() if state.secret else {})}
    told = [_own_first(leaf, seat) if name.endswith(("_SU", "_SE")) else leaf for name, leaf in hidden.items()]
    return [part.reshape(-1) for part in [*bodies, *told] if not isinstance(part, tuple)]


def _own_first(rows_SX: Array | tuple, seat: int) -> Array | tuple:
    return rows_SX if isinstance(rows_SX, tuple) else jnp.concatenate([rows_SX[seat : seat + 1], others(rows_SX, seat)])
