"""Secret messages: Alice tells Bob which of two colours is the goal; both know a key; Eve listens and knows none.

Equal, step by step, to `simple_crypto_v3` of mpe2 (tests/games/particles). Nobody moves; everybody says one of four
symbols at each step, Alice to be heard, Bob and Eve to name the goal. Eve is side 0, Bob and Alice are side 1. Each row
has zeros in the blocks that its seat does not see.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.spec import Feature
from sparring.games.game import Bots
from sparring.games.particles import physics
from sparring.games.particles.controls import Setting, Wish
from sparring.games.particles.game import Particles, Scenario, check_counts, particle_game
from sparring.games.particles.physics import ParticleState
from sparring.games.particles.views import Blocks

EVE, BOB, ALICE = range(3)
COLOURS, SYMBOLS = 2, 4


class Message(NamedTuple):
    goal_U: Array
    """One-hot: the colour to be told, as the symbol that names it. The last two are never drawn."""
    key_U: Array


class Crypto(Scenario):
    def draw(self, key: Array) -> Message:
        colours = (physics.draw_one(half, COLOURS) for half in jax.random.split(key))
        return Message(*(jnp.concatenate([colour, jnp.zeros(SYMBOLS - COLOURS)]) for colour in colours))

    def see(self, state: ParticleState) -> Blocks:
        who_S1, message = np.arange(3)[:, None], state.secret
        return {
            "goal": jnp.where(who_S1 == ALICE, message.goal_U, 0.0),
            "key": jnp.where(who_S1 != EVE, message.key_U, 0.0),
            "heard": jnp.where(who_S1 != ALICE, state.said_SU[ALICE], 0.0),
        }

    def pay(self, state: ParticleState) -> Array:
        """Each listener is as wrong as the squared distance of what it says to the goal; silence is not wrong."""
        eve, bob = (_error(state.said_SU[s], state.secret.goal_U) for s in (EVE, BOB))
        return jnp.stack([-eve, eve - bob, eve - bob])

    def bots(self) -> Bots:
        """Eve can `repeat` what she hears. The team tells the goal openly, `plain`, or turned by the key, `cipher`."""
        return Bots(("repeat", "plain", "cipher"), jnp.array([[0.0], [0.0], [1.0]]), side=(0, 1, 1))

    def wish(self, parameters_J: Array, seen: Blocks) -> Wish:
        """With two colours, turning by the key twice gives the colour back: Alice and Bob do the same."""
        told_NU = jnp.where(seen["goal"].any(1)[:, None], seen["goal"], seen["heard"])
        turned_NU = told_NU.at[:, :COLOURS].set(told_NU[:, COLOURS - 1 :: -1])
        turns_N1 = (parameters_J[0] * seen["key"][:, 1] > 0.5)[:, None]
        return Wish(word_NU=jnp.where(turns_N1, turned_NU, told_NU))


def crypto(steps: int = 25, continuous: bool = False, time: bool = False) -> Particles:
    """Alice tells Bob a secret that Eve overhears (mpe2 simple_crypto_v3)."""
    check_counts("crypto", steps=steps)
    return particle_game(
        Crypto(
            setting=Setting(moves=(False,) * 3, speaks=(True,) * 3, symbols=SYMBOLS, continuous=continuous),
            bodies=physics.bodies([0.05] * 3, [5.0] * 3, [0.05] * COLOURS),
        ),
        layout=(Feature("goal", (SYMBOLS,)), Feature("key", (SYMBOLS,)), Feature("heard", (SYMBOLS,))),
        steps=steps,
        time=time,
        seat_names=["eve", "bob", "alice"],
        side_of_seat=[0, 1, 1],
    )


def _error(word_U: Array, goal_U: Array) -> Array:
    return jnp.where(word_U.any(), jnp.sum((word_U - goal_U) ** 2), 0.0)
