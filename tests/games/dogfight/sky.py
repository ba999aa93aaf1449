"""Aircraft put where a test wants them."""

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from sparring.core.records import Action, Step
from sparring.games.dogfight.airframe import F16, Airframe, Controls, Flight, fly
from sparring.games.dogfight.game import Dogfight
from sparring.games.dogfight.rules import TIMEOUT, Fight
from sparring.games.dogfight.vectors import Vector
from toy_players import quick


def vector(rows: Sequence[Sequence[float]]) -> Vector:
    return Vector(*(jnp.asarray(column, float) for column in np.transpose(np.asarray(rows, float))))


def rows(vector: Vector) -> np.ndarray:
    """[S, 3]"""
    return np.stack([np.asarray(vector.x_S), np.asarray(vector.y_S), np.asarray(vector.z_S)], axis=-1)


def level(
    places: Sequence[Sequence[float]], headings: Sequence[Sequence[float]], speed: float = 250.0, bank: float = 0.0
) -> Flight:
    """Level flight, banked to the right by `bank` degrees; headings are (east, north)."""
    seats = len(places)
    forward = np.array([(*heading, 0.0) for heading in headings], float)
    forward /= np.linalg.norm(forward, axis=1, keepdims=True)
    right, up = np.cross(forward, [0.0, 0.0, 1.0]), np.array([[0.0, 0.0, 1.0]] * seats)
    lift = up * np.cos(np.radians(bank)) + right * np.sin(np.radians(bank))
    one_S = jnp.ones(seats)
    return Flight(vector(places), vector(forward), vector(lift), speed * one_S, one_S, 0.0 * one_S, one_S)


def fight(flight: Flight, *, played: int = 100, health: Sequence[float] | None = None, missiles: Any = None) -> Fight:
    """Guns work from 20 decisions on."""
    seats = flight.speed_S.shape[0]
    return Fight(
        flight=flight,
        health_S=jnp.ones(seats) if health is None else jnp.asarray(health, float),
        alive_S=jnp.ones(seats, bool),
        control_S=jnp.zeros(seats),
        cause_S=jnp.full(seats, TIMEOUT, jnp.int32),
        played=jnp.asarray(played, jnp.int32),
        missiles=missiles,
    )


def head_on(distance: float, height: float = 5000.0, speed: float = 250.0) -> Flight:
    """Two aircraft that fly at each other, one north, one south."""
    return level([(0, 0, height), (0, distance, height)], [(0, 1), (0, -1)], speed)


def chase(distance: float, height: float = 5000.0, speed: float = 250.0) -> Flight:
    """The first behind the second, both north."""
    return level([(0, 0, height), (0, distance, height)], [(0, 1), (0, 1)], speed)


def hold(game: Dogfight, fire: int = 0) -> Action:
    """Everything centred."""
    action, seats = game.spec.action, game.spec.seats
    heads = [1, 2, 3][: len(action.heads)] if not action.low else []
    choices = [*heads, *([fire] if game.has_missiles else [])]
    return Action(jnp.tile(jnp.array(choices, jnp.int32), (seats, 1)), jnp.zeros((seats, action.dimensions)))


def flown(
    flight: Flight, wish: Callable[[Array], tuple], *, seconds: float, rate: int, frame: Airframe = F16
) -> Flight:
    """The path [T, S] under `wish(time)` = throttle, load, roll rate in rad/s, at `rate` steps a second."""

    def advance(flight: Flight, time: Array) -> tuple[Flight, Flight]:
        throttle, load, roll = (jnp.broadcast_to(x, flight.speed_S.shape) for x in wish(time))
        flight = fly(flight, Controls(throttle, load, roll / frame.roll_rate), 1.0 / rate, frame)
        return flight, flight

    times_T = jnp.arange(round(seconds * rate)) / rate
    return quick(lambda flight: lax.scan(advance, flight, times_T)[1])(flight)


def paid(game: Dogfight, step: Step, term: str) -> np.ndarray:
    """What one shaping term pays each seat."""
    return np.asarray(step.terms_SJ)[:, game.spec.terms_of("reward").index(term)]
