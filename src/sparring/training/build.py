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
from sparring.learn.learner import Learner, new_learner
from sparring.learn.ppo import COEFFICIENTS, PPOConfig, knobs_at
from sparring.nets.actor_critic import ActorCritic
from sparring.play.chance import stream
from sparring.play.collect import begin
from sparring.play.roster import stack
from sparring.play.scripted import Scripted
from sparring.training.config import RunConfig
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
    stretch = config.ppo.sequence if config.recurrent else config.play.steps
    plan = Plan(lineup.seating, config.ppo, config.play.steps, stretch)
    rosters, rows = {}, ()
    if config.seats.opponent:
        bot = Scripted.make(game, config.seats.opponent)
        rosters[BOTS] = Frozen(stack([bot]), jnp.asarray([BOT_ID], jnp.uint32))
        rows = tuple(jnp.zeros(group.players, jnp.int32) for group in lineup.seating.groups if not group.learns)
    return Built(config, game, lineup, plan, rosters, rows, settings_of_learners(config, lineup))


def first_state(built: Built) -> TrainState:
    """The state before step one, for every seed."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *(state_of_seed(built, int(s)) for s in built.seeds_R))


def state_of_seed(built: Built, seed: int) -> TrainState:
    learners = first_learners(built, seed)
    drivers = seat_players(built.plan.seating, learners, built.rosters, built.rows)
    first_games = jax.jit(lambda key: begin(built.game, built.plan.seating, drivers, key))
    return TrainState(learners, first_games(stream(jax.random.key(seed), "first games")))


def first_learners(built: Built, seed: int) -> tuple[Learner, ...]:
    """Untrained learners, stacked group by group. A learner's identity is its place in the line-up, not its row."""
    spec, net = built.game.spec, built.config.net
    identity = {name: player for player, name in enumerate(built.lineup.names)}

    def learner(name: str) -> Learner:
        player = identity[name]
        return new_learner(ActorCritic.make(Seed.of(seed) / "weights" / player, spec, net), player)

    return tuple(stack([learner(name) for name in names]) for names in built.lineup.learners)


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
    rest = iter(settings)
    return tuple(tuple(next(rest) for _ in group) for group in lineup.learners)


def actors(built: Built, learners: tuple[Learner, ...]) -> dict[str, Any]:
    """The policies of one seed's learners by name."""
    return {
        name: jax.tree.map(lambda x, row=row: x[row], group.model.actor)
        for group, names in zip(learners, built.lineup.learners, strict=True)
        for row, name in enumerate(names)
    }
