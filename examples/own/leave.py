"""A bomb ticks. Each step every player stays and earns a coin, or leaves with its coins; the bang takes the others'.

sparring games examples/own/leave.py:leave
sparring train examples/own/leave.py:leave --total-steps 200000
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.records import Action, Observation, Step
from sparring.core.scene import Body, Scene
from sparring.core.spec import ActionSpec, Central, Feature, GameSpec
from sparring.games.game import Game
from sparring.games.others import others

LONGEST = 12


class Table(NamedTuple):
    coins_S: Array
    here_S: Array
    played: Array


class Tick(NamedTuple):
    spark: Array


class Rules(NamedTuple):
    risk: Array


class Leave(Game):
    spec: GameSpec = eqx.field(static=True)
    rules: Rules

    def start(self, key: Array) -> Table:
        del key
        seats = self.spec.seats
        return Table(jnp.zeros(seats), jnp.ones(seats, bool), jnp.zeros((), jnp.int32))

    def chance(self, key: Array) -> Tick:
        return Tick(jax.random.uniform(key))

    def observe(self, state: Table) -> Observation:
        coins_S, here_S = state.coins_S / LONGEST, state.here_S
        others_SF = others(jnp.stack([coins_S, here_S * 1.0], axis=1)).reshape(self.spec.seats, -1)
        features_SF = jnp.concatenate([coins_S[:, None], others_SF], axis=1)
        legal_SA = jnp.stack([jnp.ones_like(here_S), here_S], axis=1)  # entry 0 alone for those who have left
        return Observation(features_SF, legal_SA, present_S=here_S, acting_S=here_S)

    def step(self, state: Table, action: Action, chance: Tick) -> tuple[Table, Step]:
        leaves_S = state.here_S & (action.discrete_SD[:, 0] == 1)
        stays_S = state.here_S & ~leaves_S
        bang, played = chance.spark < self.rules.risk, state.played + 1
        coins_S = jnp.where(stays_S, jnp.where(bang, 0.0, state.coins_S + 1.0), state.coins_S)
        over = bang | ~stays_S.any() | (played >= LONGEST)
        most = coins_S.max()
        first_S, shared = coins_S == most, (coins_S == most).sum() > 1
        rank_S = jnp.where(first_S, jnp.where(shared, 0.0, 1.0), -1.0)
        # A seat is paid what it has in the step in which it leaves, or at the end.
        reward_S = jnp.where(leaves_S | (stays_S & over), coins_S / LONGEST, 0.0)
        step = Step(reward_S, leaves_S, over, jnp.zeros((), bool), jnp.where(over, rank_S, 0.0))
        return Table(coins_S, stays_S, played), step

    def scene(self, state: Table) -> Scene:
        coins_S, here_S = np.asarray(state.coins_S), np.asarray(state.here_S)
        bodies = tuple(
            Body(name=name, at=(float(coins_S[s]), float(s)), side=s, size=0.4, gone=not here_S[s])
            for s, name in enumerate(self.spec.seat_names)
        )
        return Scene(bodies=bodies, low=(-1.0, -1.0), high=(LONGEST + 1.0, float(self.spec.seats)))


def leave(seats: int = 3, risk: float = 0.1) -> Leave:
    """Stay for more coins or leave in time: at the bang all who stayed lose theirs."""
    layout = (Feature("own coins", (1,)), Feature("rivals", (seats - 1, 2), lists="others"))
    spec = GameSpec(
        seats=seats, side_of_seat=tuple(range(seats)), exchangeable=(tuple(range(seats)),),
        action=ActionSpec(heads=(2,)), layout=layout, central=Central("seat", seats * (2 * seats - 1)),
        shortest=1, longest=LONGEST, score="outcome", suits=(("worlds", 32 * seats),),
    )  # fmt: skip
    return Leave(spec, Rules(jnp.asarray(risk)))
