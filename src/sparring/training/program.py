"""One iteration of training, play and learning, as one compiled program. The one place that jits the loop."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from sparring.games.game import Game
from sparring.learn.batch import Batch
from sparring.learn.config import Knobs, PPOConfig
from sparring.learn.learner import Learner, behaviour, ready
from sparring.learn.ppo import UpdateStats, update
from sparring.play.chance import stream
from sparring.play.collect import collect
from sparring.play.rollout import Cursor, Driver, Tally, tally
from sparring.play.roster import take
from sparring.play.seating import Seating


class TrainState(NamedTuple):
    """All that an iteration changes. Every leaf has a leading axis R, one entry for each seed that trains."""

    learners: tuple[Learner, ...]
    """One stack [L, ...] for each learning group."""
    cursor: Cursor


class Frozen(NamedTuple):
    """The roster of one family that does not learn here."""

    policy: Any
    ids_P: Array


class Report(NamedTuple):
    tally: Tally
    stats: tuple[UpdateStats, ...]
    """For each learning group, leaves [L]."""
    suspects: tuple[Batch, ...]
    """For each learning group the first minibatch that was not finite, leaves [L, M, ...]; any one where all were."""


@dataclass(frozen=True)
class Plan:
    """The static part of a run: what recompiles when it changes."""

    seating: Seating
    ppo: PPOConfig
    """Of all learners: what it says of coefficients only decides which terms exist."""
    steps: int
    keep: int
    """Steps from one memory that is kept for training to the next."""


def iterate(
    plan: Plan,
    game: Game,
    state: TrainState,
    rosters: dict[str, Frozen],
    rows: tuple[Array, ...],
    knobs: tuple[Array, ...],
    key: Array,
) -> tuple[TrainState, Report]:
    """Play, then let every learner learn from what it played. rows: for each frozen group the roster rows it seats."""
    seating = plan.seating
    learners = tuple(
        jax.vmap(lambda learner, knobs_H: ready(learner, key, Knobs(*knobs_H)))(*pair)
        for pair in zip(state.learners, knobs, strict=True)
    )
    drivers = seat_players(plan, learners, rosters, rows, knobs)
    rollouts, cursor, games = collect(
        game, seating, drivers, state.cursor, stream(key, "play"), steps=plan.steps, sequence=plan.keep
    )

    def learn(learner: Learner, rollout: Any, knobs_H: Array) -> tuple[Learner, UpdateStats, Batch]:
        own = jax.random.fold_in(stream(key, "minibatches"), learner.player)
        return update(learner, rollout, own, Knobs(*knobs_H), plan.ppo)

    # Rollouts are time-major, so learners are their second axis.
    learned = [
        jax.vmap(learn, in_axes=(0, 1, 0))(*arguments) for arguments in zip(learners, rollouts, knobs, strict=True)
    ]
    learners, stats, suspects = zip(*learned, strict=True)
    return TrainState(learners, cursor), Report(tally(games), stats, suspects)


def seat_players(
    plan: Plan,
    learners: tuple[Learner, ...],
    rosters: dict[str, Frozen],
    rows: tuple[Array, ...],
    knobs: tuple[Array, ...],
) -> list[Driver]:
    """A driver for each group: its learners as they explore, or the rows of a roster."""
    live, chosen = iter(zip(learners, knobs, strict=True)), iter(rows)
    drivers = []
    for group in plan.seating.groups:
        if group.learns:
            learner, knobs_LH = next(live)
            policy = behaviour(learner.model.actor, Knobs(*knobs_LH.T), plan.ppo)
            drivers.append(Driver(policy, learner.model.judge, learner.player))
        else:
            frozen = take(rosters[group.family], next(chosen))
            drivers.append(Driver(frozen.policy, None, frozen.ids_P))
    return drivers


def compile_program(plan: Plan) -> Callable[..., tuple[TrainState, Report]]:
    """program(game, state, rosters, rows, knobs, seeds_R, iteration) -> (state, report), with leading R on both.

    Several seeds are a vmap of one; the state's buffers are reused.
    """

    def of_seed(game, state, rosters, rows, knobs, seed, iteration):
        key = jax.random.fold_in(jax.random.key(seed), iteration)
        return iterate(plan, game, state, rosters, rows, knobs, key)

    def program(game, state, rosters, rows, knobs, seeds_R, iteration):
        if seeds_R.shape[0] > 1:
            over_seeds = jax.vmap(of_seed, in_axes=(None, 0, None, None, None, 0, None))
            return over_seeds(game, state, rosters, rows, knobs, seeds_R, iteration)
        # A vmap of one would turn every cond into a select and compute both branches.
        state = jax.tree.map(lambda x: x[0], state)
        result = of_seed(game, state, rosters, rows, knobs, seeds_R[0], iteration)
        return jax.tree.map(lambda x: jnp.asarray(x)[None], result)

    return jax.jit(program, donate_argnums=1)
