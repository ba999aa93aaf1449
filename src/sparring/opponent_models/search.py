"""The tree of a search: the game played on in thought, the others after the goals that they are taken to have.

It is written for one tree. The own actions branch; what the others and chance do is drawn where a branch is first
taken, and stays so in that tree: other trees draw anew. The game is its own model here, so a tree knows more than its
seat sees. Letters: O the other seats, G goals, A entries of the one head of an action.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sparring.games.game import Game, State
from sparring.nets.actor_critic import Actor, Critic
from sparring.nets.minds import Told
from sparring.opponent_models.beliefs import NEVER
from sparring.opponent_models.mind import BeliefMind
from sparring.opponent_models.sample import aims
from sparring.opponent_models.worlds import of_all, situation_in


class Node(NamedTuple):
    """A moment that a tree has come to."""

    state: State
    goal_O: Array
    """What each of the others is after."""
    log_p_OA: Array
    """What it will do, being after that."""
    ended: Array
    """Nothing follows for the own seat: from here on the state stays."""


class Arrived(NamedTuple):
    """What is made of a node: how likely the own policy is to choose each entry there, and what it is worth."""

    log_p_A: Array
    value: Array


class Rules(eqx.Module):
    """All that a tree is grown by."""

    game: Game
    actor: Actor
    critic: Critic
    discount: Array
    cut_ends: bool = eqx.field(static=True, default=False)
    """Nothing follows a time limit either."""

    def arrive(self, key: Array, seat: Array, leaning_OK: Array, node: Node) -> tuple[Arrived, Node]:
        """A node, of which the state and the goals so far are known, with all the rest. Whoever can no longer have what
        it was after draws another goal, as likely as before anything was done."""
        observed, mind = self.game.observe(node.state), self.actor.mind
        assert isinstance(mind, BeliefMind)
        known = jax.tree.map(lambda x: x[None], situation_in(self.game, node.state, observed, seat))  # N of 1
        situation = aims(known, listed=mind.listed)
        log_prior_OG = mind.at_first(situation, leaning_OK[None])[0]
        open_OG, goals = situation.open[0], situation.open.shape[-1]
        still_O = jnp.take_along_axis(open_OG, node.goal_O[:, None], axis=-1)[:, 0]
        goal_O = jnp.where(still_O, node.goal_O, jax.random.categorical(key, log_prior_OG))
        chosen_OG = goal_O[:, None] == jnp.arange(goals)
        about_NO1Z = jnp.take_along_axis(situation.about, goal_O[None, :, None, None], axis=-2)
        log_p_NOA = mind.answers(situation.features, about_NO1Z, situation.legal)[..., 0, :]
        said_NM = mind.tell(situation, jnp.where(chosen_OG, 0.0, NEVER)[None], log_p_NOA)
        legal_NA = observed.legal_SA[seat][None]
        own, _ = self.actor(situation.features, legal_NA, Told(self.actor.initial(1), said_NM))
        arrived = Arrived(own.log_p_A[0], self.value(node.state, situation.features, seat))
        return arrived, node._replace(goal_O=goal_O, log_p_OA=log_p_NOA[0])

    def step(self, key: Array, seat: Array, leaning_OK: Array, action: Array, node: Node) -> tuple[Any, Arrived, Node]:
        """Reward and discount of a choice in a node, and the node that it leads to."""
        others_key, chance_key, goals_key = jax.random.split(key, 3)
        did_O = jax.random.categorical(others_key, node.log_p_OA)
        played = of_all(self.game, seat, action[None].astype(jnp.int32), did_O[:, None].astype(jnp.int32))
        after, step = self.game.step(node.state, played, self.game.chance(chance_key))
        after = jax.tree.map(lambda old, new: jnp.where(node.ended, old, new), node.state, after)
        final = step.left_S[seat] | step.over | (step.cut & self.cut_ends)
        # A moment after which nothing follows is worth the same however often it is looked at again.
        reward = jnp.where(node.ended, 0.0, step.reward_S[seat])
        discount = jnp.where(node.ended, 1.0, jnp.where(final, 0.0, self.discount))
        arrived, later = self.arrive(goals_key, seat, leaning_OK, node._replace(state=after))
        return (reward, discount), arrived, later._replace(ended=node.ended | final | step.cut)

    def value(self, state: State, features_NF: Array, seat: Array) -> Array:
        """Of a state for the own seat, in units of reward. What a central critic sees, a tree has."""
        view_NG = features_NF
        if self.critic.sees == "central":
            kind, sides = self.game.spec.central.kind, jnp.asarray(self.game.spec.side_of_seat)
            row = {"world": 0, "side": sides[seat], "seat": seat}[kind]
            view_NG = self.game.central(state)[row][None]
        return self.critic(view_NG, self.critic.initial(1))[0].reshape(())


def first_node(state: State, goal_O: Array, entries: int) -> Node:
    """The root of a tree, before anything is made of it."""
    return Node(state, goal_O, jnp.zeros((*goal_O.shape, entries)), jnp.zeros((), bool))
