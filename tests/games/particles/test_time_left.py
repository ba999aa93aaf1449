"""Particle games with the option `time`: all see how much of the game is left. The rest stays as it was."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.records import Action
from sparring.games.contract import check_game
from sparring.games.registry import GAMES, make

PARTICLES = [name for name in GAMES if name.startswith("particles:")]


@pytest.mark.parametrize("name", PARTICLES)
def test_the_last_feature_of_every_seat_falls_from_one_by_a_step(name):
    game, plain = make(name, time=True, steps=4), make(name, steps=4)
    assert game.spec.features == plain.spec.features + 1
    assert plain.spec.layout == game.spec.layout[:-1] and game.spec.layout[-1].name == "time_left"
    state = jax.jit(lambda key: game.start(key))(jax.random.key(0))
    views = jax.jit(lambda s: (game.observe(s).features_SF, plain.observe(s).features_SF, game.central(s)))
    nothing = Action(
        jnp.zeros((game.spec.seats, len(game.spec.action.heads)), jnp.int32),
        jnp.zeros((game.spec.seats, game.spec.action.dimensions)),
    )
    stepped = jax.jit(lambda s: game.step(s, nothing, ()))
    for left in (1.0, 0.75, 0.5, 0.25):
        seen_SF, old_SF, central = map(np.asarray, views(state))
        np.testing.assert_array_equal(seen_SF[:, :-1], old_SF)
        np.testing.assert_allclose(seen_SF[:, -1], left)
        np.testing.assert_allclose(central[:, -1], left)
        state, step = stepped(state)
    assert bool(step.cut), "nothing is left"


def test_a_game_that_shows_the_time_keeps_the_contract():
    check_game(make("particles:spread", time=True, steps=5), worlds=4, games=2, eager=False)
