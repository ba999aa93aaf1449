"""Learners of runs that look ahead before they choose: their names end in +planner."""

from pathlib import Path
from typing import Any

import jax

from sparring.core.seeding import Seed
from sparring.core.spec import GameSpec
from sparring.games.game import Game
from sparring.nets.actor_critic import ActorCritic, Critic
from sparring.opponent_models.config import PlanningConfig
from sparring.opponent_models.planning import Planner, library
from sparring.players.checkpointed import policies_of, seed_row, weights_at
from sparring.setup.config import RunConfig
from sparring.setup.line_up import config_of
from sparring.setup.named_arrays import from_arrays
from sparring.setup.planners import check_planner
from sparring.store.checkpoints import Checkpoint

PLANNER = "+planner"

Where = tuple[Checkpoint, str, int | None]
"""Where a learner, or its shadow, is kept: the checkpoint, its name there, the seed."""


def parted(text: str) -> tuple[str, str]:
    """A player's name without the ending that says that it looks ahead, and that ending."""
    bare = text.removesuffix(PLANNER)
    return (text, "") if bare == text or Path(text).exists() else (bare, PLANNER)


def ahead(policy: Any, where: Where, game: Game, run: RunConfig, planning: PlanningConfig) -> Planner:
    """The policy of a learner with its critic, and with the game to look ahead by."""
    checkpoint, player, seed = where
    known = policies_of(checkpoint, seed_row(checkpoint, seed))
    learner = known[player].learner
    config = config_of(game.spec, run, learner)
    check_planner(game.spec, config)
    library()
    own = known[learner]._replace(prefix=known[learner].prefix.replace(".actor.", ".critic."))
    arrays = weights_at(checkpoint, own, seed_row(checkpoint, seed))
    critic = from_arrays(jax.eval_shape(lambda: critic_like(game.spec, config)), arrays, source=str(checkpoint.path))
    judge, discount = ActorCritic(policy, critic).judge, config.ppo.discount.at(1.0)
    return Planner.make(policy, judge, game, discount, planning, cut_ends=config.ppo.time_limit == "end")


def critic_like(spec: GameSpec, config: RunConfig) -> Critic:
    """An untrained critic of this learner's shape."""
    scaled = config.ppo.value_norm != "none"
    return ActorCritic.make(Seed.of(0), spec, config.net, value_scale=scaled).critic
