"""Training against one frozen policy, for `evaluation.best_response`: the ordinary loop without a run directory."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from sparring.core.schedules import Schedule
from sparring.evaluation.best_response import BestResponse, best_response
from sparring.games.game import Game
from sparring.play.roster import stack
from sparring.play.scripted import RANDOM
from sparring.training.beginning import first_state
from sparring.training.build import build
from sparring.training.config import OPPOSING, RunConfig, SeatsConfig
from sparring.training.examine import players_of_seed
from sparring.training.line_up import BOTS
from sparring.training.program import Frozen, compile_program

TARGET_ID = 2**30
"""The identity of the frozen policy, whose random numbers are no learner's and no bot's."""


def exploit(
    policy: Any, config: RunConfig, *, game: Game | None = None, games: int = 256, seed: int = 0
) -> BestResponse:
    """A best response of the learner that the config describes: its networks, its PPO, its steps and seeds."""
    built = build(against_one(config), game=game)
    return best_response(built.game, policy, trainer(config, game=game), games=games, seed=seed)


def trainer(config: RunConfig, *, game: Game | None = None) -> Callable[[Any], list[Any]]:
    """What trains fresh learners, one for each seed of the config, against a policy on every side in turn."""
    built = build(against_one(config), game=game)
    program = compile_program(built.plan)

    def train(policy: Any) -> list[Any]:
        roster = Frozen(stack([policy]), jnp.asarray([TARGET_ID], jnp.uint32))
        own = replace(built, rosters={BOTS: roster})
        state = first_state(own)
        for iteration in range(own.iterations):
            knobs = jax.tree.map(jnp.asarray, own.knobs(iteration))
            state, _ = program(
                own.game, state, own.rosters, own.standing, knobs, jnp.asarray(own.seeds_R), jnp.asarray(iteration)
            )
        name = own.lineup.names[0]
        return [players_of_seed(own, state, r)[name] for r in range(config.seeds)]

    return train


def against_one(config: RunConfig) -> RunConfig:
    """The config of a learner with one opponent, whose place a bot keeps."""
    alone = {table: type(getattr(config, table))() for table in OPPOSING}
    ppo = replace(config.ppo, imitation=Schedule.parse(0.0))
    return replace(config, **{**alone, "seats": SeatsConfig(opponent=RANDOM)}, stages=(), each=(), ppo=ppo)
