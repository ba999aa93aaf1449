"""Two worlds with one face, through which imagination goes on: the ensemble that learned what comes next (`world`), and
the game itself, which is as good as a model can get.

A branch is one seat's: it chooses, the others do what it expects of them, and the world says what it sees then.
"""

from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.records import Action, Observation, Step
from sparring.games.game import Game
from sparring.games.others import others_SO
from sparring.learn.config import PPOConfig
from sparring.learn.shaping import sharers_SS
from sparring.opponent_models.view import Moment, View
from sparring.opponent_models.world import Transition, Worlds
from sparring.play.chance import game_chance
from sparring.play.witness import Situation


class Came(NamedTuple):
    """What came of a step, leaves [J, N, ...]."""

    reward: Array
    over: Array
    """Nothing follows for the seat."""
    cut: Array
    """Something follows, which is not played."""
    reached: Array
    """[O, G]: goals that the others reached."""
    apart: Array
    """How little the models agree."""


class World(Protocol):
    def begin(self, moment: Moment, seat_JN: Array, state_J: Any) -> Moment:
        """Branches at moments that were played."""
        ...

    def chance(self, key: Array, steps: int, branches: tuple[int, ...]) -> Any:
        """The random numbers of all steps, leaves [K, ...]."""
        ...

    def step(self, moment: Moment, own_D: Array, others_OD: Array, chance: Any) -> tuple[Moment, Came]:
        """What every branch comes to."""
        ...


class Learned(NamedTuple):
    """Each step of a branch is foreseen by one member, drawn anew: it need not agree with the mean of all."""

    worlds: Worlds
    view: View

    def begin(self, moment: Moment, seat_JN: Array, state_J: Any) -> Moment:
        del seat_JN, state_J
        return moment

    def chance(self, key: Array, steps: int, branches: tuple[int, ...]) -> tuple[Array, Array]:
        member, end = jax.random.split(key)
        shape = (steps, *branches)
        return jax.random.randint(member, shape, 0, self.worlds.members), jax.random.uniform(end, shape)

    def step(self, moment: Moment, own_D: Array, others_OD: Array, chance: Any) -> tuple[Moment, Came]:
        member_JN, end_JN = chance
        numbers, none = self.view.numbers_of(moment.situation), jnp.zeros_like(moment.acting)
        found, _, _ = self.worlds.each(Transition(numbers, own_D, others_OD, end_JN, none, numbers, moment.legal))
        chosen = jax.tree.map(lambda x_E: of_member(x_E, member_JN), found)
        later, reached = self.view.moment(chosen.features_F, chosen.legal_A)
        return later, Came(chosen.reward, end_JN < chosen.ended, none, reached, found.features_F.std(0).mean(-1))


class Pay(NamedTuple):
    """What a learner is paid beside what the game pays it; None: nothing of the kind."""

    sharers_SS: np.ndarray | None = None
    share: Array | float = 0.0
    """Of the common reward."""
    weight_J: Array | None = None
    """Of shaping terms, rewards first."""
    discount: Array | float = 1.0
    cut_ends: bool = False
    """Nothing follows a time limit either."""

    def over(self, step: Step) -> Array:
        return step.over | step.cut if self.cut_ends else step.over

    def ends(self, step: Step, seat: Array) -> Array:
        """Who shares goes on sharing when it has left."""
        return self.over(step) if self.sharers_SS is not None else step.left_S[seat] | self.over(step)

    def of(self, game: Game, before: Any, step: Step, after: Any, seat: Array) -> Array:
        reward = step.reward_S[seat]
        if self.sharers_SS is not None:
            reward = (1 - self.share) * reward + self.share * (jnp.asarray(self.sharers_SS)[seat] @ step.reward_S)
        if self.weight_J is None:
            return reward
        terms = jnp.asarray(step.terms_SJ)[seat] if game.spec.terms_of("reward") else jnp.zeros(0)
        later = jnp.where(step.left_S[seat] | self.over(step), 0.0, game.potential(after)[seat])
        return reward + self.weight_J @ jnp.append(terms, self.discount * later - game.potential(before)[seat])


def pay_of(game: Game, config: PPOConfig, knobs: Any, weight_J: Array | None) -> Pay:
    common = sharers_SS(game.spec, config.shared_with) if config.on("shared_reward") else None
    return Pay(common, knobs.shared_reward, weight_J, knobs.discount, config.time_limit == "end")


class Oracle(NamedTuple):
    """The game as a model of itself. Every branch has a copy of the world; the state of a moment is that, and the
    branch's seat."""

    game: Game
    view: View
    pay: Pay = Pay()

    def begin(self, moment: Moment, seat_JN: Array, state_J: Any) -> Moment:
        branches = seat_JN.shape
        state_JN = jax.tree.map(lambda x: jnp.broadcast_to(x[:, None], (*branches, *x.shape[1:])), state_J)
        return moment._replace(state=(state_JN, seat_JN))

    def chance(self, key: Array, steps: int, branches: tuple[int, ...]) -> Any:
        drawn = game_chance(self.game, key, steps, branches[0] * branches[1])
        return jax.tree.map(lambda x: x.reshape(steps, *branches, *x.shape[2:]), drawn)

    def step(self, moment: Moment, own_D: Array, others_OD: Array, chance: Any) -> tuple[Moment, Came]:
        state, seat_JN = moment.state
        branches = seat_JN.shape
        given = (state, seat_JN, own_D, others_OD, chance)  # in a line: some games compute worlds on the last axis
        found = jax.vmap(self.of_one)(*jax.tree.map(lambda x: x.reshape(seat_JN.size, *x.shape[2:]), given))
        (after, seen), came = jax.tree.map(lambda x: x.reshape(*branches, *x.shape[1:]), found)
        return Moment(*seen, state=(after, seat_JN)), came

    def of_one(
        self, state: Any, seat: Array, own_D: Array, others_OD: Array, chance: Any
    ) -> tuple[tuple[Any, tuple[Situation, Array, Array]], Came]:
        """The state after a step of one world and what its seat knows then, and what came of it."""
        game, action = self.game, of_all(self.game, seat, own_D, others_OD)
        after, step = game.step(state, action, chance)
        over = self.pay.ends(step, seat)
        reached_OG = game.reached(state, action, after)[others_of(game, seat)][:, : self.view.goals]
        came = Came(self.pay.of(game, state, step, after, seat), over, step.cut & ~over, reached_OG, jnp.zeros(()))
        return (after, self.known(after, seat)), came

    def known(self, state: Any, seat: Array) -> tuple[Situation, Array, Array]:
        """What a seat sees of a state and knows of the others, and what it may do."""
        seen = self.game.observe(state)
        situation = situation_in(self.game, state, seen, seat)
        return self.view.seen(situation), seen.legal_SA[seat], seen.acting_S[seat]


def others_of(game: Game, seat: Array) -> Array:
    """The numbers of all other seats."""
    return jnp.asarray(others_SO(game.spec.seats))[seat]


def of_all(game: Game, seat: Array, own_D: Array, others_OD: Array) -> Action:
    """What a seat and all others chose, as a game receives it."""
    discrete_SD = jnp.zeros((game.spec.seats, own_D.shape[-1]), jnp.int32)
    discrete_SD = discrete_SD.at[seat].set(own_D).at[others_of(game, seat)].set(others_OD)
    return Action(discrete_SD, jnp.zeros((game.spec.seats, 0)))


def situation_in(game: Game, state: Any, seen: Observation, seat: Array) -> Situation:
    """What a seat knows in a state of a game that goes on; `seen` is what all see of it."""
    other_O = others_of(game, seat)
    goals = (jnp.nan_to_num(jnp.asarray(x), posinf=0.0, neginf=0.0)[other_O] for x in game.goals(state))
    open_OG, steps_OG, about_OGZ = goals
    return Situation(
        seen.features_SF[seat], jnp.zeros((), bool), seen.acting_S[other_O], seen.legal_SA[other_O], open_OG > 0,
        steps_OG, about_OGZ,
    )  # fmt: skip


def of_member(x_EJN: Array, member_JN: Array) -> Array:
    place = member_JN.reshape(1, *member_JN.shape, *[1] * (x_EJN.ndim - 3))
    return jnp.take_along_axis(x_EJN, place, axis=0)[0]
