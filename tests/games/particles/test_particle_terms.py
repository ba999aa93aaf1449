"""Shaping terms of particle games: potentials worked out by hand."""

import jax
import jax.numpy as jnp
import numpy as np

from sparring.games.game import Game
from sparring.games.particles.spread import spread
from sparring.games.particles.tag import tag


def potential(game: Game, places: list[tuple[float, float]], landmarks: list[tuple[float, float]]) -> np.ndarray:
    state = game.start(jax.random.key(0))
    at = state._replace(position_SX=jnp.array(places, float), landmark_EX=jnp.array(landmarks, float).reshape(-1, 2))
    return np.asarray(game.potential(at))


def test_spread_approaches_landmarks_and_covers_them() -> None:
    """Agents at (0, 0) and (3, 4); landmarks at (0, 1) and (0, 2). Nearest landmarks: 1 and sqrt(9 + 4) away; nearest
    agents of the landmarks: the first, 1 and 2 away."""
    found = potential(spread(agents=2), [(0, 0), (3, 4)], [(0, 1), (0, 2)])
    np.testing.assert_allclose(found, [[-1.0, -3.0], [-np.sqrt(13.0), -3.0]], rtol=1e-6)


def test_predators_pursue_and_prey_escapes_as_far_as_it_matters() -> None:
    """Predators at (0, 0) and (0, 1), prey at (0.6, 0.8) and (0, 9)."""
    game = tag(predators=2, prey=2, obstacles=0)
    found = potential(game, [(0, 0), (0, 1), (0.6, 0.8), (0, 9)], [])
    near = np.hypot(0.6, 0.2)
    np.testing.assert_allclose(found, [[-1.0, 0.0], [-near, 0.0], [0.0, near], [0.0, 2.0]], rtol=1e-6)
