"""Studying: after a learner's own update, its mind is tested on the new rollout, keeps some of it, and is fitted.

It has an optimiser, a memory and random numbers of its own, which follow from the player's identity: to switch it on
moves nobody else's. All of its state is in the learner, so it is stacked, copied and resumed like everything.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from sparring.learn.learner import Learner
from sparring.nets.actor_critic import Actor
from sparring.opponent_models.config import MindConfig
from sparring.opponent_models.fit import drawn, fit, kept, rule
from sparring.opponent_models.metrics import action_measures, frequencies, goal_measures, work_measures
from sparring.opponent_models.mind import BeliefMind, mind_in
from sparring.opponent_models.replies import influence, reply_measures
from sparring.opponent_models.sample import Replies, Sample
from sparring.opponent_models.world_study import WorldStudy, new_world_study
from sparring.play.chance import stream
from sparring.play.rollout import Rollout

MEMORY = 0.9
"""Share of the counts of actions, against which models are compared, that one rollout leaves."""


class Study(NamedTuple):
    buffer: Sample
    """The newest useful rows, [K, ...]: a ring."""
    rows: Array
    """How many were put in so far."""
    optimiser: Any
    updates: Array
    frequency_OA: Array
    """How often each entry was chosen by each of the others, older rollouts counting less."""
    world: WorldStudy | None = None
    """Of the model of the world, where one is learned."""


def new_study(mind: BeliefMind, features: int, config: MindConfig) -> Study:
    shape = (config.mind_buffer, mind.others)
    goals, kinds, entries = len(mind.kinds), max(mind.kinds) + 1, mind.action.entries
    buffer = Sample(
        features_F=jnp.zeros((config.mind_buffer, features)),
        discrete_OD=jnp.zeros((*shape, len(mind.action.heads)), jnp.int32),
        legal_OA=jnp.zeros((*shape, entries), bool), acting_O=jnp.zeros(shape, bool),
        open_OG=jnp.zeros((*shape, goals), bool), steps_OG=jnp.zeros((*shape, goals)),
        about_OGZ=jnp.zeros((*shape, goals, mind.about)), leaning_OK=jnp.zeros((*shape, kinds)),
        label_O=jnp.zeros(shape, jnp.int32), useful=jnp.zeros(config.mind_buffer, bool),
        track_KOGZ=jnp.zeros((config.mind_buffer, mind.recall, mind.others, goals, mind.about)) if mind.recall else (),
        replies=() if mind.replies is None else blank_replies(config.mind_buffer, mind),
        held_OG=() if mind.reader is None else jnp.zeros((*shape, goals)),
    )  # fmt: skip
    if mind.finder is not None:
        buffer = buffer._replace(**mind.finder.kept(config.mind_buffer, mind.others))
    none = jnp.zeros((), jnp.int32)
    frequency_OA = jnp.zeros((mind.others, entries))
    state = rule(config.mind_rate).init(eqx.filter(mind.with_world(None), eqx.is_array))
    return Study(buffer, none, state, none, frequency_OA, new_world_study(mind, features, config))


def blank_replies(rows: int, mind: BeliefMind) -> Replies:
    heads = len(mind.action.heads)
    own, others = (jnp.zeros((rows, *shape), jnp.int32) for shape in ((heads,), (mind.others, heads)))
    return Replies(own, others, jnp.zeros((rows, mind.others), bool))


def studied(learner: Learner, rollout: Rollout, key: Array, config: MindConfig) -> tuple[Learner, dict[str, Array]]:
    """The learner with a mind that knows this rollout too, and what its mind was worth on it before."""
    mind, study = mind_in(learner), learner.study
    rollout, sample = mind.lived(rollout)
    found = action_measures(rollout, mind.action, study.frequency_OA) | work_measures(rollout)
    if mind.named:
        others: Any = rollout.others
        label_TWNO = sample.label_O.reshape(others.acting.shape)
        found |= goal_measures(rollout, label_TWNO, listed=mind.listed)
    if mind.finder is not None:
        found |= mind.finder.measures()
    if mind.replies is not None:
        found |= reply_measures(mind.replies, rollout, study.frequency_OA)
    found |= fusion_measures(learner.model.actor, rollout)
    own = stream(key, "study")
    study = kept(study, drawn(study, sample, stream(own, "rows")))
    frequency_OA = MEMORY * study.frequency_OA + frequencies(rollout, mind.action)
    mind, study, losses = fitted(mind, study._replace(frequency_OA=frequency_OA), stream(own, "batches"), config)
    model = eqx.tree_at(lambda m: m.actor.mind, learner.model, mind)
    found |= {f"loss/{name}": x for name, x in losses.items()}
    found |= {"rows": jnp.minimum(study.rows, config.mind_buffer), "updates": study.updates}
    return learner._replace(model=model, study=study), found


def own_influence(learner: Learner, rollout: Rollout) -> Array | None:
    """How much each own action moves the others, by the model that has not learned from this rollout yet. None for a
    learner without one, beside others that are paid for theirs."""
    mind = learner.model.actor.mind
    model = None if mind is None else mind_in(learner).replies
    return None if model is None else influence(model, rollout)


def fitted(mind: BeliefMind, study: Study, key: Array, config: MindConfig) -> tuple[BeliefMind, Study, dict]:
    """The mind after gradient steps on what is kept. Its model of the world is fitted on rows of its own."""
    plain, study, losses = fit(
        mind.with_world(None), study, key, lambda m, rows, key, taken: m.loss(rows, key, taken), BeliefMind.settled,
        rate=config.mind_rate, updates=config.mind_updates, batch=config.mind_batch,
    )  # fmt: skip
    return plain.with_world(mind.world), study, losses


def fusion_measures(actor: Actor, rollout: Rollout) -> dict[str, Array]:
    """How much of what the policy's head sees comes from the mind, as the share of the variance that it adds; on a part
    of the steps. Of a recurrent policy the memory is taken as blank."""
    if actor.fusion is None:
        return {}
    steps = rollout.features_TWNF.shape[0]
    features, said = (x[:: max(1, steps // 8)] for x in (rollout.features_TWNF, rollout.thought.said_NM))
    hidden = actor.unfused(features, actor.initial(*features.shape[:-1]))
    change = actor.fusion(hidden, said) - hidden
    spread = [((x - x.mean((0, 1, 2))) ** 2).sum() for x in (hidden, change)]
    return {"fused": spread[1] / jnp.maximum(sum(spread, jnp.zeros(())), 1e-12)}
