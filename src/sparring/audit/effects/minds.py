"""What the parameters of a mind reach. No loss of the policy's moves them, and no minibatch of the policy's has them in
it: so the losses of their own study are asked, and what the policy does where the mind says something else."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax import Array

from sparring.audit.graph import named
from sparring.audit.minds import thought_again
from sparring.games.trial import quick_jit
from sparring.learn.batch import to_rows, unroll
from sparring.learn.config import knobs_of
from sparring.learn.learner import Learner, behaviour, trainable
from sparring.learn.losses import masked_mean
from sparring.learn.ppo import cut_of
from sparring.opponent_models.mind import mind_in
from sparring.opponent_models.view import transitions
from sparring.play.rollout import Rollout
from sparring.setup import program
from sparring.setup.build import Built
from sparring.setup.program import Plan, TrainState
from sparring.setup.rows import taken

PLACE = "actor.mind."
"""How names of its parameters begin in a model."""
FLOOR = 1e-9
"""Numbers below this are rounding."""


@dataclass(frozen=True)
class Minded:
    """A learner that has learned once, and what it then lived."""

    learner: Learner
    beliefs: Any
    """Before the first step."""
    rollout: Rollout
    knobs_H: Array
    plan: Plan
    group: int

    @property
    def mind(self) -> Any:
        return mind_in(self.learner)

    @property
    def studies(self) -> dict[str, tuple[Any, Callable]]:
        """By the place of its models, these and what they are fitted by: the losses, by name, of what this learner
        lived."""
        mind, study, key = self.mind, self.learner.study, jax.random.key(0)
        rows = mind.lived(self.rollout)[1]
        found: dict[str, tuple[Any, Callable]] = {
            PLACE: (mind.with_world(None), lambda models: models.loss(rows, key, study.updates)[1])
        }
        if mind.world is not None:
            steps = transitions(self.rollout, mind.view(self.rollout.features_TWNF.shape[-1])).transition
            found[f"{PLACE}world."] = mind.world, lambda world: world.loss(steps, key)[1]
        return found

    def heard(self, learner: Learner, said_TWNM: Array) -> tuple[Array, Any]:
        """Of the policy that is told this: its mean KL from the one that played, and the slope of the likelihood of
        what was done. Where what is told has no part in what is done yet, only the slope shows that it can have."""
        ppo = self.plan.kinds[self.group].ppo
        told: Any = self.rollout.thought
        rollout = self.rollout._replace(thought=told._replace(said_NM=said_TWNM))
        rows = to_rows(program.as_trained(self.plan, rollout, ppo), cut_of(rollout, ppo))
        trained, untrained = trainable(learner.model)

        def likely(trained: Any) -> tuple[Array, Array]:
            model = eqx.combine(trained, untrained)
            given = unroll(behaviour(model.actor, knobs_of(self.knobs_H), ppo), model.judge, rows)
            return masked_mean(given.log_prob, rows.acting), masked_mean(given.kl, rows.acting)

        slope, kl = jax.grad(likely, has_aux=True)(trained)
        return kl, slope.actor


def minded(built: Built, state: TrainState, group: int) -> Minded | None:
    """The first learner of a group in this state, which has learned; None where it has no mind."""
    if not built.plan.kinds[group].mind.on:
        return None
    state, orders = taken(state, 0), jax.tree.map(lambda x: x[0], built.standing)
    knobs, key = tuple(map(jnp.asarray, built.knobs(0))), jax.random.key(int(built.seeds_R[0]))

    def lived(game: Any, state: Any, key: Any) -> tuple:
        learners, rollouts, *_ = program.play(built.plan, game, state, built.rosters, orders, knobs, key)
        return jax.tree.map(lambda x: x[0], learners[group]), jax.tree.map(lambda x: x[:, 0], rollouts[group])

    learner, rollout = quick_jit(lived)(built.game_of(0), state, jax.random.fold_in(key, 1))
    beliefs: Any = state.cursor.minds
    beliefs = taken(beliefs[built.plan.seating.learning[group]], 0)
    return Minded(learner, beliefs, rollout, knobs[group][0], built.plan, group)


def studied_by(found: Minded, reached: Callable[[Callable, Any], set[str]]) -> tuple[dict[str, set[str]], dict]:
    """By loss of the study the parameters of the mind that its gradient reaches, and the gradient of each parameter."""
    flows, slopes = {}, {}
    for place, (models, losses) in found.studies.items():
        for term in jax.eval_shape(losses, models):
            names = reached(lambda tree, losses=losses, term=term: losses(tree)[term], models)
            flows[f"{place.removeprefix('actor.').replace('.', '/')}{term}"] = {f"{place}{name}" for name in names}
        gradient = jax.jit(jax.grad(lambda tree, losses=losses: sum(losses(tree).values())))(models)
        slopes |= {f"{place}{name}": x for name, x in named(("",), (gradient,)).items()}
    return flows, slopes


@jax.jit
def drift(mine: Any, other: Any) -> Array:
    """How far a gradient is from another one, as a share of that one's length."""
    gap = optax.global_norm(jax.tree.map(jnp.subtract, mine, other))
    return gap / jnp.maximum(optax.global_norm(other), FLOOR)


def policy_changes(
    found: Minded, model: Any, parts: Mapping[str, Iterable[str]], changed: Callable[[Any, set[str]], Iterable[Any]]
) -> dict[str, tuple[float, float]]:
    """Of each part of the mind, given by the names of its parameters, what becomes of the policy of this model where it
    is replaced: its KL, and the change of its slope as a share of that. The largest of what `changed` makes of it."""

    @jax.jit
    def told(learner: Learner) -> tuple[Array, Any]:
        return found.heard(learner, thought_again(mind_in(learner), found.rollout, found.beliefs)[0])

    kl, slope = told(found.learner._replace(model=model))

    def change(other_model: Any) -> tuple[float, float]:
        other_kl, other = told(found.learner._replace(model=other_model))
        return abs(float(other_kl) - float(kl)), float(drift(other, slope))

    ways = {part: [change(one) for one in changed(model, {*names})] for part, names in parts.items()}
    return {part: (max(kl for kl, _ in own), max(gap for _, gap in own)) for part, own in ways.items()}
