"""From a config to something that runs: the game, the plan, the first state, the knobs of every iteration."""

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.errors import ConfigError, unknown
from sparring.core.schedules import Schedule
from sparring.core.seeding import Seed
from sparring.games import registry
from sparring.games.game import Game
from sparring.learn.config import COEFFICIENTS, NEUTRAL, PPOConfig, knobs_at
from sparring.learn.learner import Learner, new_learner
from sparring.nets.actor_critic import ActorCritic
from sparring.play.chance import stream
from sparring.play.collect import begin
from sparring.play.roster import stack
from sparring.play.scripted import Scripted
from sparring.play.seating import Group
from sparring.training.config import RunConfig, check_learning
from sparring.training.line_up import BOTS, LineUp, line_up
from sparring.training.program import Frozen, Plan, TrainState, seat_players

BOT_ID = 2**31
"""Ids of scripted players start here, so that they never share a learner's random numbers."""


@dataclass(frozen=True)
class Built:
    """A run ready to start."""

    config: RunConfig
    game: Game
    lineup: LineUp
    plan: Plan
    rosters: dict[str, Frozen]
    rows: tuple[Array, ...]
    settings: tuple[tuple[PPOConfig, ...], ...]
    """The settings of every learner, in the order of the learning groups."""

    @property
    def steps_per_iteration(self) -> int:
        """Steps of one seed, counted over the seats that learn."""
        seating = self.plan.seating
        lanes = sum(
            len(row) * seating.seats_in(seating.groups[i]) for i in seating.learning for row in seating.groups[i].lanes
        )
        return lanes * seating.worlds * self.plan.steps

    @property
    def iterations(self) -> int:
        return -(-self.config.total_steps // self.steps_per_iteration)

    @property
    def seeds_R(self) -> np.ndarray:
        return np.arange(self.config.seed, self.config.seed + self.config.seeds, dtype=np.uint32)

    def knobs(self, iteration: int) -> tuple[np.ndarray, ...]:
        """knobs_LH for each learning group."""
        progress = min(iteration / self.iterations, 1.0)
        return tuple(np.stack([knobs_at(ppo, progress) for ppo in group]) for group in self.settings)


def build(config: RunConfig, *, game: Game | None = None) -> Built:
    """Without a game, the registered one that the config names."""
    if game is None:
        game = registry.make(config.game, **registry.parse_options(config.game, config.options))
    lineup = line_up(game.spec, config)
    keep = (config.ppo.burn_in or config.ppo.sequence) if config.recurrent else config.play.steps
    settings = settings_of_learners(config, lineup)
    ppo = every_term(config.ppo, settings)
    check_actions(game, config.game, ppo, config.net.std)
    plan = Plan(lineup.seating, ppo, config.play.steps, keep)
    rosters, rows = {}, ()
    if config.seats.opponent:
        bot = Scripted.make(game, config.seats.opponent)
        rosters[BOTS] = Frozen(stack([bot]), jnp.asarray([BOT_ID], jnp.uint32))
        rows = tuple(jnp.zeros(group.players, jnp.int32) for group in lineup.seating.groups if not group.learns)
    return Built(config, game, lineup, plan, rosters, rows, settings)


def first_state(built: Built) -> TrainState:
    """The state before step one, for every seed."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *(state_of_seed(built, int(s)) for s in built.seeds_R))


def state_of_seed(built: Built, seed: int) -> TrainState:
    learners = first_learners(built, seed)
    knobs = tuple(jnp.asarray(knobs_LH) for knobs_LH in built.knobs(0))
    drivers = seat_players(built.plan, learners, built.rosters, built.rows, knobs)
    first_games = jax.jit(lambda key: begin(built.game, built.plan.seating, drivers, key))
    return TrainState(learners, first_games(stream(jax.random.key(seed), "first games")))


def first_learners(built: Built, seed: int) -> tuple[Learner, ...]:
    """Untrained learners, stacked group by group. A learner's identity is its place in the line-up, not its row."""
    spec, net, ppo, seating = built.game.spec, built.config.net, built.plan.ppo, built.plan.seating
    identity = {name: player for player, name in enumerate(built.lineup.names)}

    def learner(name: str, group: Group) -> Learner:
        player, seats = identity[name], seating.seats_in(group)
        model = ActorCritic.make(
            Seed.of(seed) / "weights" / player, spec, net,
            value_scale=ppo.value_norm != "none", noise_seats=seats if ppo.on("value_noise") else 0,
        )  # fmt: skip
        return new_learner(model, player, ppo, len(group.lanes[0]) * seating.worlds, seats)

    groups = [seating.groups[i] for i in seating.learning]
    return tuple(
        stack([learner(name, group) for name in names])
        for names, group in zip(built.lineup.learners, groups, strict=True)
    )


def every_term(common: PPOConfig, settings: tuple[tuple[PPOConfig, ...], ...]) -> PPOConfig:
    """The common settings, with every term switched on that any learner uses: all learners share one program."""
    used = {name: getattr(ppo, name) for name in NEUTRAL for group in settings for ppo in group if ppo.on(name)}
    return replace(common, **used)


def check_actions(game: Game, name: str, ppo: PPOConfig, std: str) -> None:
    """Settings that need a kind of action which the game may not have."""
    if ppo.on("epsilon") and not game.spec.action.heads:
        raise ConfigError(
            f"epsilon mixes in random choices of discrete heads, and {name} has none. "
            "Explore by the deviation of its continuous actions: --initial-std or --fixed-std."
        )
    if std != "independent" and not game.spec.action.dimensions:
        raise ConfigError(f"std={std} is the deviation of continuous actions, and {name} has none. Leave std out.")


def settings_of_learners(config: RunConfig, lineup: LineUp) -> tuple[tuple[PPOConfig, ...], ...]:
    """Every learner's PPO settings: the common ones, changed by what `each` says."""
    names = lineup.names
    settings = [config.ppo] * len(names)
    for text in config.each:
        knob, _, values = text.partition("=")
        knob = knob.strip().replace("-", "_")
        if knob not in COEFFICIENTS:
            raise ConfigError(f"each={text!r}: {unknown('coefficient', knob, COEFFICIENTS)}")
        parts = [part for part in values.split(",") if part.strip()]
        if len(parts) != len(names):
            raise ConfigError(
                f"each={text!r} must give one value for each of the {len(names)} learners "
                f"({', '.join(names)}), found {len(parts)}. Separate them by commas."
            )
        settings = [replace(ppo, **{knob: Schedule.parse(part)}) for ppo, part in zip(settings, parts, strict=True)]
    for name, ppo in zip(names, settings, strict=True):
        try:
            check_learning(ppo, config.net)
        except ConfigError as error:
            raise ConfigError(f"Settings of {name}: {error}") from None
    rest = iter(settings)
    return tuple(tuple(next(rest) for _ in group) for group in lineup.learners)


def actors(built: Built, learners: tuple[Learner, ...]) -> dict[str, Any]:
    """The policies of one seed's learners by name."""
    return {
        name: jax.tree.map(lambda x, row=row: x[row], group.model.actor)
        for group, names in zip(learners, built.lineup.learners, strict=True)
        for row, name in enumerate(names)
    }
