"""A learner's model of the world: tested on each rollout, then fitted to it, on rows of its own.

What it foresaw before it learned from a rollout decides whether anything is imagined beside that rollout.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sparring.learn.learner import Learner
from sparring.opponent_models.config import MindConfig
from sparring.opponent_models.fit import drawn, fit, kept, rule
from sparring.opponent_models.mind import BeliefMind, mind_in
from sparring.opponent_models.view import Row, blank_rows
from sparring.opponent_models.world import open_gate
from sparring.play.chance import stream

LONGEST = 1_000_000
"""Rollouts for which a gate is said to have been shut, at most."""


class WorldStudy(NamedTuple):
    buffer: Row
    """The newest useful rows, [R, ...]: a ring."""
    rows: Array
    optimiser: Any
    updates: Array
    shut: Array
    """Rollouts since the gate was open."""


def new_world_study(mind: BeliefMind, features: int, config: MindConfig) -> WorldStudy | None:
    """None where no world is learned."""
    if mind.world is None:
        return None
    none = jnp.zeros((), jnp.int32)
    buffer = blank_rows(mind.view(features), config.mind_buffer)
    state = rule(config.imagine_rate).init(eqx.filter(mind.world, eqx.is_array))
    return WorldStudy(buffer, none, state, none, none)


def studied_world(
    learner: Learner, sample: Row, key: Array, config: MindConfig
) -> tuple[Learner, Array, dict[str, Array]]:
    """The learner whose model knows these rows too, and whether it foresaw them well enough before that."""
    mind, study = mind_in(learner), learner.study.world
    world = mind.world
    assert world is not None
    rows = drawn(study, sample, stream(key, "rows"))
    judged = world.judged(rows.transition, rows.useful)
    open_ = open_gate(judged, config.imagine_gate) & (study.updates > 0) & rows.useful.any()
    shut = jnp.where(open_, 0, jnp.minimum(study.shut + 1, LONGEST))
    world, study, losses = fit(
        world, kept(study._replace(shut=shut), rows), stream(key, "batches"),
        lambda model, rows, key, _: model.loss(rows.transition, jax.random.fold_in(key, 1)),
        rate=config.imagine_rate, updates=config.imagine_updates, batch=config.mind_batch,
    )  # fmt: skip
    model = eqx.tree_at(lambda m: m.actor.mind, learner.model, mind.with_world(world))
    learner = learner._replace(model=model, study=learner.study._replace(world=study))
    found = {f"error/{name}": x for name, x in judged.items()} | {f"loss/{name}": x for name, x in losses.items()}
    found["kept"] = jnp.minimum(study.rows, config.mind_buffer)
    return learner, open_, found | {"shut": shut, "updates": study.updates}
