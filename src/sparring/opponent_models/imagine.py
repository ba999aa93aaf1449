"""Imagination: from moments of a rollout play goes on for a few steps, not in the game but in a model of the world.

Own choices are the policy's, those of the others what the mind expects of them, and the mind follows what is imagined
as it follows play. A branch ends where its seat's game does, and nothing follows then; where it is only cut, the critic
says what follows. Imagined steps are no experience: they are in no count, result, rating, scale or normaliser.

The model is tested on each rollout before it learns from it, and only while it errs a set share of what a guess errs
(`open_gate`) is there anything imagined. It has random numbers and an optimiser of its own.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from sparring.core.records import Action
from sparring.core.spec import ActionSpec
from sparring.games.game import Game
from sparring.learn.config import PPOConfig
from sparring.learn.imagined import Imagined
from sparring.learn.learner import Learner
from sparring.learn.losses import masked_mean
from sparring.learn.shaping import paid
from sparring.nets.distributions import Distribution
from sparring.nets.minds import telling
from sparring.opponent_models.config import MindConfig, branches
from sparring.opponent_models.mind import BeliefMind, mind_in
from sparring.opponent_models.view import Moment, View, situation_of, transitions
from sparring.opponent_models.world_study import studied_world
from sparring.opponent_models.worlds import Came, Learned, Oracle, World, pay_of
from sparring.play.branches import only_when
from sparring.play.chance import stream
from sparring.play.faults import unusable
from sparring.play.rollout import Rollout, where_first
from sparring.play.witness import Witnessed, mind_of


class Fork(NamedTuple):
    """The moments from which branches begin, leaves [J, ...]."""

    moment: Moment
    beliefs: Any
    present_JN: Array
    side_JK: Array
    seat_JN: Array
    state_J: Any


def forks(rollout: Rollout, view: View, count: int, key: Array) -> Fork:
    """So many moments of a rollout at which one can go on in another way, none of them twice."""
    branch: Any = rollout.branch
    points, worlds = branch.seat.shape[:2]
    every = rollout.start_TW.shape[0] // points
    place_J = jax.random.permutation(key, points * worlds)[:count]

    def at(x: Array) -> Array:
        return x.reshape(points * worlds, *x.shape[2:])[place_J]

    def of_step(x_TW: Array) -> Array:
        return at(x_TW[::every])

    situation = jax.tree.map(of_step, situation_of(rollout, view))
    moment = Moment(situation, of_step(rollout.legal_TWNA), of_step(rollout.acting_TWN))
    beliefs, state_J = jax.tree.map(at, (branch.minds, branch.state))
    side_JK, seat_JN = of_step(rollout.side_TWK), at(branch.seat)
    return Fork(moment, beliefs, of_step(rollout.present_TWN), side_JK, seat_JN, state_J)


class Turn(NamedTuple):
    """One step of all branches, leaves [J, N, ...]."""

    moment: Moment
    action: Action
    distribution: Distribution
    value: Array
    thought: Any
    came: Came
    alive: Array
    """The branch has not ended before it."""
    fault: Array
    """What came of it is no usable number."""


def dream(
    world: World, policy: Any, critic: Any, fork: Fork, key: Array, *, steps: int, length: Array
) -> tuple[Rollout, Array]:
    """Branches as a rollout of their own, of whose steps the first `length` are there; and on average how little the
    models of the world agreed. Probabilities are those of the policy that chooses here."""
    mind, branches = mind_of(policy), fork.present_JN.shape
    assert isinstance(mind, BeliefMind)
    memory, action = policy.initial(*branches), mind.action
    heads = len(action.heads)
    given = (
        jnp.arange(1, steps + 1), jax.random.uniform(stream(key, "own"), (steps, *branches, heads)),
        jax.random.uniform(stream(key, "others"), (steps, *branches, mind.others, heads)),
        world.chance(stream(key, "world"), steps, branches),
    )  # fmt: skip

    def step(carry: tuple[Moment, Any, Array], given: Any) -> tuple[tuple[Moment, Any, Array], Turn]:
        (moment, beliefs, alive_JN), (number, draw, foreign, chance) = carry, given
        seen = moment.situation
        thought, pending = mind.attend(seen, beliefs)
        distribution, _ = policy(seen.features, moment.legal, telling(memory, thought.said_NM))
        own = distribution.sample(draw, jnp.zeros((*branches, 0)))
        others = foreseen(action, thought.log_p_NOA, foreign)
        later, came = world.step(moment, own.discrete_SD, others.discrete_SD, chance)
        held = mind.witness(Witnessed(*others, came.reached, own, came.reward), pending)
        fault = unusable(later.situation.features, 2) | unusable(came.reward[..., None], 2)
        goes_on = alive_JN & ~fault
        later = where_first(goes_on, later, moment)
        turn = Turn(
            moment._replace(state=()), own, distribution, value_of(critic, seen.features), thought, came, alive_JN,
            fault,
        )  # fmt: skip
        return (later, held, goes_on & ~came.over & ~came.cut & (number < length)), turn

    begun = (world.begin(fork.moment, fork.seat_JN, fork.state_J), fork.beliefs, fork.present_JN)
    (last, _, _), turns = lax.scan(step, begun, given)
    rollout = as_rollout(turns, value_of(critic, last.situation.features), fork, length)
    rollout = rollout._replace(memory=(memory, critic.initial(*branches)))  # nobody remembers anything
    return rollout, masked_mean(turns.came.apart, rollout.present_TWN)


def foreseen(action: ActionSpec, log_p_NOA: Array, uniform: Array) -> Action:
    """What the others do, drawn from what is expected of them. Since beliefs follow it, that is as if each had been
    after one goal from the start of the branch."""
    none = jnp.zeros((*log_p_NOA.shape[:-1], 0))
    return Distribution(action, log_p_NOA, none, none).sample(uniform, none)


def value_of(critic: Any, features: Array) -> Array:
    """[J, N]."""
    return critic(features, critic.initial(*features.shape[:-1]))[0]


def as_rollout(turns: Turn, after: Array, fork: Fork, length: Array) -> Rollout:
    """`after`: the values of the last moments. A step that is at fault is absent, and credit stops before it."""
    steps = turns.alive.shape[0]
    present = turns.alive & ~turns.fault
    stops = jnp.concatenate([turns.alive[1:] & turns.fault[1:], jnp.zeros_like(turns.fault[:1])])
    last = jnp.arange(1, steps + 1)[:, None, None] >= length
    over = turns.came.over
    return Rollout(
        features_TWNF=turns.moment.situation.features, legal_TWNA=turns.moment.legal, views_TWVG=None,
        action=turns.action, log_prob_TWN=turns.distribution.log_prob(turns.action), distribution=turns.distribution,
        value_TWN=turns.value, next_value_TWN=jnp.concatenate([turns.value[1:], after[None]]),
        reward_TWN=jnp.where(present, turns.came.reward, 0.0), over_TWN=over,
        ended_TWN=over | turns.came.cut | stops | last, present_TWN=present,
        acting_TWN=present & turns.moment.acting, start_TW=jnp.zeros(turns.alive.shape[:2], bool),
        side_TWK=jnp.broadcast_to(fork.side_JK, (steps, *fork.side_JK.shape)), memory=(), thought=turns.thought,
    )  # fmt: skip


def imagined(
    learner: Learner, policy: Any, rollout: Rollout, game: Game, key: Array, knobs: Any, ppo: PPOConfig,
    config: MindConfig, weight_J: Array | None = None,
) -> tuple[Learner, Imagined, dict[str, Array]]:  # fmt: skip
    """What a learner imagines beside a rollout, with the policy that played it; and the learner, whose model of the
    world was tested on it, used, and then fitted to it. Worlds pay what the learner is paid: its share of common
    rewards and shaping terms too, of weight_J."""
    own, mind = stream(key, "imagined"), mind_in(learner)
    view, found = mind.view(rollout.features_TWNF.shape[-1]), {}
    if mind.world is None:
        world, open_ = Oracle(game, view, pay_of(game, ppo, knobs, weight_J)), None
    else:
        world = Learned(mind.world, view)
        rows = transitions(paid(rollout, weight_J, knobs, ppo), view, cut_ends=ppo.time_limit == "end")
        learner, open_, found = studied_world(learner, rows, stream(own, "study"), config)
    steps, branch = ppo.longest_branch, rollout.branch
    assert branch is not None
    length = jnp.clip(jnp.round(knobs.imagine_length), 1, steps)
    moments = branch.seat.shape[0] * branch.seat.shape[1]
    count = branches(config.imagine_share, steps, rollout.start_TW.size, moments, ppo.minibatches)
    fork = forks(rollout, view, count, stream(own, "forks"))

    def go_on() -> tuple[Rollout, Array]:
        return dream(world, policy, learner.model.judge, fork, stream(own, "branches"), steps=steps, length=length)

    def stay() -> Any:
        return jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(go_on))

    if open_ is None:
        (dreamt, apart), open_ = go_on(), jnp.ones((), bool)
    else:
        dreamt, apart = only_when(open_, go_on, stay)
        found["apart"] = jnp.where(open_, apart, 0.0)
    rows = jnp.where(open_, dreamt.present_TWN.sum(), 0)
    found |= {"rows": rows, "length": jnp.where(open_, length, 0.0), "open": 1.0 * open_}
    return learner, Imagined(dreamt, open_, config.imagine_share), {f"imagined/{name}": x for name, x in found.items()}
