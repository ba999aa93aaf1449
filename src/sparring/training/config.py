"""Everything a run is made of. Each part stands beside its owner; this page joins them and checks how they combine."""

from dataclasses import dataclass, field
from math import inf
from typing import Literal

from sparring.core.errors import ConfigError
from sparring.learn.ppo import COEFFICIENTS, PPOConfig
from sparring.nets.actor_critic import NetConfig

HIGHEST = {"discount": 1.0, "decay": 1.0}
"""Coefficients with an upper bound; none may be negative."""


@dataclass(frozen=True, kw_only=True)
class SeatsConfig:
    share: Literal["auto", "all", "side", "seat"] = "auto"
    """Who shares weights: all sides one learner, one learner a side, or one a seat. Auto: all where sides are alike."""
    opponent: str = ""
    """A bot that drives the other sides; empty: learners meet each other (self-play)."""
    side: int = -1
    """With an opponent, the side that learns; -1: every side in turn, which needs sides that are alike."""


@dataclass(frozen=True, kw_only=True)
class PlayConfig:
    worlds: int = 128
    """Worlds that run side by side."""
    steps: int = 40
    """Steps of a rollout: every world plays that many between two updates."""


@dataclass(frozen=True, kw_only=True)
class EvalConfig:
    eval_every: int = 0
    """Iterations between two evaluations; 0: only at the end."""
    eval_games: int = 32
    """Complete games of each line-up in an evaluation."""
    eval_deterministic: bool = False
    """Take the most likely action in evaluations instead of sampling."""


@dataclass(frozen=True, kw_only=True)
class CheckpointConfig:
    checkpoint_every: int = 100
    """Iterations between two checkpoints; 0: only at the end."""
    keep: int = 3
    """How many checkpoints stay on disk, at least 1."""


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    game: str = "particles:spread"
    """The game; `sparring games` lists them."""
    options: tuple[str, ...] = ()
    """Options of the game, each as name=value."""
    total_steps: int = 1_000_000
    """Steps to train for, counted over all seats, rounded up to whole iterations."""
    seed: int = 0
    """All chance of a run follows from it."""
    seeds: int = 1
    """Train this many seeds, from `seed` on, as one stacked program."""
    each: tuple[str, ...] = ()
    """Settings of single learners, in order: learning_rate=3e-4,1e-3 gives the second a larger one."""
    seats: SeatsConfig = field(default_factory=SeatsConfig)
    play: PlayConfig = field(default_factory=PlayConfig)
    net: NetConfig = field(default_factory=NetConfig)
    ppo: PPOConfig = field(default_factory=PPOConfig)
    evaluation: EvalConfig = field(default_factory=EvalConfig)
    checkpoint: CheckpointConfig = field(default_factory=CheckpointConfig)

    def __post_init__(self) -> None:
        for name, value, least in (
            ("total_steps", self.total_steps, 1),
            ("seeds", self.seeds, 1),
            ("seed", self.seed, 0),
            ("worlds", self.play.worlds, 1),
            ("steps", self.play.steps, 1),
            ("memory_size", self.net.memory_size, 1),
            ("hidden", min(self.net.hidden, default=1), 1),
            ("epochs", self.ppo.epochs, 1),
            ("minibatches", self.ppo.minibatches, 1),
            ("sequence", self.ppo.sequence, 1),
            ("eval_every", self.evaluation.eval_every, 0),
            ("eval_games", self.evaluation.eval_games, 1),
            ("checkpoint_every", self.checkpoint.checkpoint_every, 0),
            ("keep", self.checkpoint.keep, 1),
        ):
            if value < least:
                raise ConfigError(f"{name} must be at least {least}, found {value}.")
        if self.net.initial_std <= 0:
            raise ConfigError(f"initial_std must be above 0, found {self.net.initial_std}.")
        if self.seed + self.seeds > 2**32:
            raise ConfigError(
                f"seed must leave room for all seeds below 2**32, found {self.seed}. Choose a smaller one."
            )
        for name in COEFFICIENTS:
            schedule, highest = getattr(self.ppo, name), HIGHEST.get(name, inf)
            if not 0 <= min(schedule.start, schedule.end) <= max(schedule.start, schedule.end) <= highest:
                raise ConfigError(f"{name} must lie in [0, {highest:g}], found {schedule}.")
        self.check_rows()

    def check_rows(self) -> None:
        """A rollout must fall into whole sequences, and those into whole minibatches."""
        steps, worlds, parts = self.play.steps, self.play.worlds, self.ppo.minibatches
        length = self.sequence
        if steps % length:
            raise ConfigError(
                f"sequence={length} does not divide the {steps} steps of a rollout. "
                f"Nearest that does: {nearest_divisor(steps, length)}."
            )
        rows = steps // length * worlds
        if rows % parts:
            what = f"{steps} steps x {worlds} worlds" + (f" / sequences of {length}" if length > 1 else "")
            raise ConfigError(
                f"minibatches={parts} does not divide the {rows} rows of a rollout ({what}). "
                f"Nearest that does: {nearest_divisor(rows, parts)}."
            )

    @property
    def sequence(self) -> int:
        """Steps a training row spans: a policy without memory trains on single steps."""
        return self.ppo.sequence if self.recurrent else 1

    @property
    def recurrent(self) -> bool:
        return self.net.memory != "none"


def nearest_divisor(number: int, wanted: int) -> int:
    return min((d for d in range(1, number + 1) if number % d == 0), key=lambda d: (abs(d - wanted), d))
