"""Particles as a viewer draws them. States and rules are NumPy's here, typed as in play."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from jax import Array

from sparring.core.scene import Body, Line, Scene
from sparring.core.spec import GameSpec
from sparring.games.particles.physics import Bodies, ParticleState


def particle_scene(
    state: ParticleState, spec: GameSpec, bodies: Bodies, fixed: Sequence[Body], lines: Sequence[Line] = ()
) -> Scene:
    """Every seat as a disc of its side, among what stands still; the caption tells what was said."""
    seats = zip(spec.seat_names, spec.side_of_seat, state.position_SX, bodies.size_S, strict=True)
    moving = [Body(name=name, at=point(at_X), side=side, size=float(size)) for name, side, at_X, size in seats]
    said = zip(spec.seat_names, state.said_SU, strict=False)
    caption = ", ".join(f"{name} says {spoken(word_U)}" for name, word_U in said if np.any(word_U))
    return Scene(bodies=(*fixed, *moving), lines=tuple(lines), caption=caption)


def landmarks(
    state: ParticleState, bodies: Bodies, name: str = "landmark", shape: Literal["mark", "disc"] = "mark",
    part: slice = slice(None),
) -> list[Body]:  # fmt: skip
    """Some of the landmarks, counted from the first of them."""
    rows = zip(state.landmark_EX[part], bodies.landmark_size_E[part], strict=True)
    return [
        Body(name=f"{name}_{e}", at=point(at_X), shape=shape, size=float(size)) for e, (at_X, size) in enumerate(rows)
    ]


def with_goal(state: ParticleState, spec: GameSpec, bodies: Bodies, side: int) -> Scene:
    """Seats and landmarks, of which the goal has the colour of the side that seeks it."""
    marks = zip(landmarks(state, bodies), state.secret.goal_E, strict=True)
    return particle_scene(state, spec, bodies, [replace(mark, side=side if goal else -1) for mark, goal in marks])


def point(at_X: Array) -> tuple[float, ...]:
    return tuple(float(x) for x in at_X)


def spoken(word_U: Array) -> str:
    """The number of a symbol, or the strength of each where they were mixed."""
    plain = np.sum(word_U) == np.max(word_U) == 1
    return str(int(np.argmax(word_U))) if plain else "(" + ", ".join(f"{float(x):.2f}" for x in word_U) + ")"
