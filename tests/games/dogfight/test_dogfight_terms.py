"""What a learner is paid besides the outcome, where it changes the task: numbers worked out by hand."""

import jax.numpy as jnp
import numpy as np
from sky import chase, fight, hold, level, paid

from sparring.core.records import Step
from sparring.games.dogfight.game import Dogfight, dogfight, dogfight_2v2
from sparring.games.dogfight.rules import GROUND, TIMEOUT, Fight
from toy_players import quick

DUEL = dogfight()
one_step = quick(lambda game, state, action: game.step(state, action, ()))


def after(state: Fight, game: Dogfight = DUEL) -> Step:
    return one_step(game, state, hold(game))[1]


def test_pursuit_pays_the_posture_of_a_tenth_of_a_second() -> None:
    """Straight behind at 800 m posture is exp(-300 / 3000) = 0.905, and what one is paid the other loses."""
    np.testing.assert_allclose(paid(DUEL, after(fight(chase(800.0))), "pursuit"), [0.0905, -0.0905], atol=1e-4)


def test_flying_into_the_ground_is_a_blunder_and_the_winner_made_none() -> None:
    state = fight(level([(0, 0, 299), (5000, 0, 5000)], [(0, 1), (0, 1)]))
    np.testing.assert_array_equal(paid(DUEL, after(state), "blunder"), [-1.0, 0.0])


def test_being_shot_down_is_no_blunder() -> None:
    step = after(fight(chase(533.0))._replace(health_S=jnp.array([1.0, 0.02])))
    assert step.over
    np.testing.assert_array_equal(paid(DUEL, step, "blunder"), [0.0, 0.0])


def test_a_blunder_is_paid_once() -> None:
    pairs, state = dogfight_2v2(), fight(level([(2000.0 * s, 0, 5000) for s in range(4)], [(0, 1)] * 4))
    gone = state._replace(
        alive_S=jnp.array([False, True, True, True]), cause_S=jnp.array([GROUND] + [TIMEOUT] * 3, jnp.int32)
    )
    np.testing.assert_array_equal(paid(pairs, after(gone, pairs), "blunder"), [0.0, 0.0, 0.0, 0.0])
