"""Runners on a track, each alone. Each step a runner walks one place or sprints two.

After a sprint a runner is tired until it walks; one that sprints when tired may fall, and is out. The first to arrive
wins, or the last one standing.

    sparring games FILE:runners                 describe it, and check that it keeps the contract of games
    sparring train FILE:runners --name first
    sparring resume runs/first --code FILE

A game is a handful of pure functions on one world, in JAX: jnp.where instead of if. Thousands are played at once.
Letters at the end of a name are the axes of an array: S seats, K sides, F features, O the other seats. They matter in
records such as Track: the S in place_S says which axis belongs to the seats.
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
from sparring.games.game import Bots, Game
from sparring.games.others import others


class Track(NamedTuple):
    """All that changes in a game."""

    place_S: Array
    standing_S: Array
    tired_S: Array
    played: Array
    """Steps so far."""


class Luck(NamedTuple):
    """All random numbers of one step. They are drawn before it, so that step() itself leaves nothing to chance."""

    stumble_S: Array


class Rules(NamedTuple):
    """Numbers that a user may change by name, also in stages (--stages): arrays, so that nothing compiles again."""

    goal: Array
    risk: Array
    """How likely a tired runner falls when it sprints."""


class RunnersGame(Game):
    spec: GameSpec = eqx.field(static=True)
    rules: Rules

    def start(self, key: Array) -> Track:
        """A fresh state. `key` is for games that begin by chance."""
        del key
        seats = self.spec.seats
        return Track(jnp.zeros(seats), jnp.ones(seats, bool), jnp.zeros(seats, bool), jnp.zeros((), jnp.int32))

    def chance(self, key: Array) -> Luck:
        return Luck(jax.random.uniform(key, (self.spec.seats,)))

    def observe(self, state: Track) -> Observation:
        """What each seat sees and may do. The features of a seat, one after another, are those of `spec.layout`."""
        standing_S = state.standing_S
        own_SX = jnp.stack([state.place_S / self.rules.goal, state.tired_S * 1.0, standing_S * 1.0], axis=1)
        features_SF = jnp.concatenate([own_SX, others(own_SX).reshape(self.spec.seats, -1)], axis=1)
        # One column for each choice. A seat that does not act has choice 0 alone.
        legal_SA = jnp.stack([jnp.ones_like(standing_S), standing_S], axis=1)
        return Observation(features_SF, legal_SA, present_S=standing_S, acting_S=standing_S)

    def step(self, state: Track, action: Action, chance: Luck) -> tuple[Track, Step]:
        before_S = state.standing_S
        sprint_S = before_S & (action.discrete_SD[:, 0] == 1)
        falls_S = sprint_S & state.tired_S & (chance.stumble_S < self.rules.risk)
        standing_S = before_S & ~falls_S
        place_S = state.place_S + jnp.where(sprint_S, 2.0, 1.0) * standing_S
        played = state.played + 1

        arrived_S = standing_S & (place_S >= self.rules.goal)
        over = arrived_S.any() | (standing_S.sum() <= 1)
        # A time limit that is not part of the rules. What would have followed is then guessed, not counted as nothing.
        cut = ~over & (played >= self.spec.longest)

        best_S = jnp.where(arrived_S.any(), arrived_S, standing_S)
        ranked_S = jnp.where(best_S.sum() > 1, 0.0, 1.0) * best_S - 1.0 * ~best_S
        outcome_S = jnp.where(over, ranked_S, 0.0)  # 1 won, 0 drawn, -1 lost; every side is one seat here
        # A seat that has left earns nothing more, so it is paid in the step in which it leaves.
        reward_S = jnp.where(before_S, jnp.where(falls_S, -1.0, outcome_S), 0.0)
        return Track(place_S, standing_S, sprint_S, played), Step(reward_S, falls_S, over, cut, outcome_S)

    def scene(self, state: Track) -> Scene:
        """What a replay draws of one state, in NumPy: a lane for each runner."""
        place_S, standing_S = np.asarray(state.place_S), np.asarray(state.standing_S)
        bodies = tuple(
            Body(name=name, at=(float(place_S[s]), float(s)), side=s, size=0.4, gone=not standing_S[s])
            for s, name in enumerate(self.spec.seat_names)
        )
        return Scene(bodies=bodies, low=(-1.0, -1.0), high=(float(self.rules.goal) + 1.0, float(self.spec.seats)))

    def bots(self) -> Bots:
        """Scripted players to measure by: a name and a row of parameters each. `random` is always there."""
        return Bots(("walker", "sprinter"), jnp.array([[-9.0], [9.0]]))

    def bot_scores(self, parameters_J: Array, features_NF: Array, legal_NA: Array) -> tuple[Array, Array]:
        """Of a bot with these parameters, a score for each choice of each seat, and nothing for continuous actions."""
        del legal_NA  # what is not legal is masked afterwards
        scores_A = jnp.stack([jnp.zeros(()), parameters_J[0]])
        return jnp.broadcast_to(scores_A, (len(features_NF), 2)), jnp.zeros((len(features_NF), 0))


def runners(seats: int = 3, goal: float = 9.0, risk: float = 0.5) -> RunnersGame:
    """Runners walk or sprint, and fall when tired: the first to arrive wins, or the last one standing."""
    layout = (Feature("own", (3,)), Feature("rivals", (seats - 1, 3), lists="others"))
    spec = GameSpec(
        seats=seats,
        side_of_seat=tuple(range(seats)),  # every seat is a side of its own; (0, 0, 1, 1) are two teams of two
        exchangeable=(tuple(range(seats)),),  # the seats are alike, so that one policy can drive them all
        action=ActionSpec(heads=(2,)),  # one choice out of two; low= and high= add continuous dimensions
        layout=layout,
        central=Central("seat", seats * sum(block.size for block in layout)),  # what a central critic may see
        shortest=1,
        longest=30,
        score="outcome",  # won, drawn or lost; "return" where it is the sum of rewards that counts
        seat_names=tuple(f"runner_{s}" for s in range(seats)),
        suits=(("worlds", 32 * seats),),  # settings where the user says nothing; worlds are divided among alike sides
    )
    return RunnersGame(spec, Rules(jnp.asarray(goal), jnp.asarray(risk)))
