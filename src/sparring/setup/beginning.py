"""The state before step one: untrained learners, first games, empty pools. One program for all seeds."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.core import Tracer

from sparring.core.seeding import Seed
from sparring.games.game import Game
from sparring.league.roles import role_of, roles
from sparring.learn.learner import Learner, new_learner
from sparring.learn.module import modules_of
from sparring.nets.actor_critic import ActorCritic
from sparring.nets.config import NetConfig
from sparring.opponent_models.mind import mind_in, with_mind
from sparring.opponent_models.study import new_study
from sparring.play.branches import over_rows
from sparring.play.chance import stream
from sparring.play.collect import begin
from sparring.play.defeats import empty_archive
from sparring.play.seating import Group
from sparring.setup.build import Built
from sparring.setup.config import has_pool
from sparring.setup.program import Kind, Orders, Plan, TrainState, seat_players


@dataclass(frozen=True)
class Beginning:
    """What the first state of a run follows from, beside arrays: runs of which it is equal share one program."""

    plan: Plan
    players: tuple[tuple[int, ...], ...]
    """Identities of the learners of each learning group."""
    pool: int
    """Rows for past selves."""
    defeats: int
    """Defeats that are kept to be tried again."""
    anew: bool
    """Some learners will start over from where they are now."""

    @classmethod
    def of(cls, built: Built) -> "Beginning":
        config, lineup = built.config, built.lineup
        identity = {name: player for player, name in enumerate(lineup.numbered)}
        pools = 1 if config.roles.active else len(lineup.names)  # a league of roles has one past for all
        return cls(
            built.plan,
            tuple(tuple(identity[name] for name in names) for names in lineup.learners),
            pools * config.pool.pool_size if config.changing and has_pool(config) else 0,
            config.defeats.defeat_size if config.defeats.defeat_share > 0 else 0,
            any(role_of(role, config.roles, every=0).reset.to != "none" for role in roles(config.roles)),
        )


def first_state(built: Built) -> TrainState:
    """The state before step one, for every seed."""
    models = stacked([first_models(built, int(seed)) for seed in built.seeds_R])
    knobs = tuple(jnp.asarray(knobs_LH) for knobs_LH in built.knobs(0))
    return begin_runs(
        Beginning.of(built), built.game_of(0), built.rosters, built.standing, models, knobs, jnp.asarray(built.seeds_R)
    )


@partial(jax.jit, static_argnums=0)
def begin_runs(
    beginning: Beginning, game: Game, rosters: dict[str, Any], orders_R: Orders, models_R: tuple[ActorCritic, ...],
    knobs: tuple[Array, ...], seeds_R: Array,
) -> TrainState:  # fmt: skip
    def begin_run(orders: Orders, models: tuple[ActorCritic, ...], seed: Array) -> TrainState:
        plan, learners = beginning.plan, new_learners(beginning.plan, beginning.players, models)
        # Every row of the pool holds the untrained learner until a snapshot takes it.
        actor, rows = learners[0].model.actor, beginning.pool
        pool = jax.tree.map(lambda x: jnp.repeat(x[:1], rows, axis=0), actor) if rows else None
        drivers = seat_players(plan, learners, pool, rosters, orders, knobs, game)
        key, replaying = stream(jax.random.key(seed), "first games"), beginning.defeats > 0
        cursor = begin(game, plan.seating, drivers, key, shaping=plan.shaping, replaying=replaying)
        archive = empty_archive(game, beginning.defeats, plan.steps) if replaying else None
        return with_origin(beginning, TrainState(learners, cursor, pool, archive))

    return over_rows(begin_run)(orders_R, models_R, seeds_R)


def with_origin(beginning: Beginning, state: TrainState) -> TrainState:
    """The state that also remembers how its learners are now, where some will start over from there."""
    return state._replace(origin=jax.tree.map(jnp.copy, state.learners)) if beginning.anew else state


def first_models(built: Built, seed: int) -> tuple[ActorCritic, ...]:
    """Untrained networks, stacked group by group, as NumPy arrays. A learner's identity is its place in the line-up,
    not its row."""
    spec, seating = built.game.spec, built.plan.seating

    def model(player: int, group: Group, net: NetConfig, kind: Kind) -> ActorCritic:
        ppo = kind.ppo
        seats = seating.seats_in(group) if ppo.on("value_noise") else 0
        seeded = Seed.of(seed) / "weights" / player
        scaled, choices = ppo.value_norm != "none", ppo.advantage == "expected"
        made = ActorCritic.make(seeded, spec, net, value_scale=scaled, noise_seats=seats, choices=choices)
        actor = with_mind(made.actor, seeded, built.game, kind.mind)
        return ActorCritic(actor, made.critic, modules_of(ppo.losses, ppo.modules, seeded, spec))

    groups = [seating.groups[i] for i in seating.learning]
    stacks = zip(Beginning.of(built).players, zip(groups, built.nets, built.plan.kinds, strict=True), strict=True)
    return tuple(stacked([model(player, *common) for player in players]) for players, common in stacks)


def stacked(models: Sequence[Any]) -> Any:
    """Rows of a roster, put together by NumPy, so that nothing is compiled for it; where only shapes are asked for, by
    JAX."""

    def rows(*leaves: Any) -> Any:
        return (jnp if isinstance(leaves[0], Tracer) else np).stack(leaves)

    return jax.tree.map(rows, *models)


@partial(jax.jit, static_argnums=(0, 1))
def new_learners(
    plan: Plan, players: tuple[tuple[int, ...], ...], models: tuple[ActorCritic, ...]
) -> tuple[Learner, ...]:
    """Learners that have learned nothing yet, stacked group by group as their networks are."""
    seating, found = plan.seating, []
    for i, own, model, kind in zip(seating.learning, players, models, plan.kinds, strict=True):
        worlds = len(seating.groups[i].lanes[0]) * seating.worlds
        make = partial(new_learner, config=kind.ppo, worlds=worlds, seats=seating.seats_in(seating.groups[i]))
        learners = over_rows(make)(model, jnp.asarray(own, jnp.uint32))
        if kind.mind.on:
            begun = partial(new_study, features=seating.spec.features, config=kind.mind)
            learners = learners._replace(study=over_rows(begun)(mind_in(learners)))
        found.append(learners)
    return tuple(found)


def first_learners(built: Built, models: tuple[ActorCritic, ...]) -> tuple[Learner, ...]:
    return new_learners(built.plan, Beginning.of(built).players, models)
