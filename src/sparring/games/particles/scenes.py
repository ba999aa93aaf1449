"""Particles as a viewer draws them. States and rules are NumPy's here, typed as in play."""

from collections.abc import Sequence

from jax import Array

from sparring.core.scene import Body, Line, Scene
from sparring.core.spec import GameSpec
from sparring.games.particles.physics import ParticleState


def particle_scene(
    state: ParticleState, spec: GameSpec, size_S: Array, fixed: Sequence[Body], lines: Sequence[Line] = ()
) -> Scene:
    """Every seat as a disc of its side, among what stands still; `lines` join those that touch."""
    seats = zip(spec.seat_names, spec.side_of_seat, state.position_SX, size_S, strict=True)
    moving = [Body(name=name, at=point(at_X), side=side, size=float(size)) for name, side, at_X, size in seats]
    return Scene(bodies=(*fixed, *moving), lines=tuple(lines))


def point(at_X: Array) -> tuple[float, ...]:
    return tuple(float(x) for x in at_X)
