"""L7, its runs: the same training with one thing after another left out, and one policy for all seats as control."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sparring.audit.findings import Tell, untold
from sparring.audit.leaving_out import PARTS
from sparring.games.game import Game
from sparring.learn.config import PPOConfig
from sparring.setup.config import RunConfig
from sparring.setup.own_settings import without_minds
from sparring.store.run_dir import RunDir
from sparring.training.runs import start

FULL, SHARED = "as configured", "one policy for all seats"
KEPT = ("learning_rate", "discount", "entropy", "epochs", "minibatches", "sequence")
"""Settings that plain PPO keeps: what suits the game rather than a method."""


@dataclass(frozen=True)
class Training:
    """How much is trained where seeds are the unit."""

    seeds: int = 5
    steps: int = 200_000

    def told(self, rungs: Mapping[str, RunConfig]) -> str:
        names, total = ", ".join(rungs), len(rungs) * self.seeds * self.steps
        return (
            f"{len(rungs)} trainings ({names}) of {self.seeds} seeds with {self.steps:,} steps each: {total:,} steps."
        )


def rungs_of(config: RunConfig) -> dict[str, RunConfig]:
    """The ladder of a configuration, from all of it down to plain PPO; rungs that would change nothing are left out."""
    ppo = config.ppo
    bare = replace(ppo, modules=(), losses=())
    plain = PPOConfig(**{name: getattr(ppo, name) for name in KEPT})
    candidates = {
        FULL: config,
        "without own modules and losses": replace(config, ppo=bare),
        "without imagination": (dull := PARTS["imagination"](replace(config, ppo=bare))),
        "without influence": PARTS["influence"](dull),
        "without minds": without_minds(replace(config, ppo=bare)),
        "without shaping": without_minds(replace(config, ppo=bare, shaping=())),
        "plain PPO": without_minds(replace(config, ppo=plain, shaping=(), each=(), learner=())),
    }
    found: dict[str, RunConfig] = {}
    for name, candidate in candidates.items():
        if candidate not in found.values():
            found[name] = candidate
    return {**found, SHARED: replace(config, each=(), learner=(), seats=replace(config.seats, share="all"))}


def trained(
    rungs: Mapping[str, RunConfig], game: Game, folder: Path, training: Training, tell: Tell = untold
) -> dict[str, list[dict[str, Any]]]:
    """The lines of metrics of each rung, trained with the same seeds."""
    found = {}
    for number, (name, config) in enumerate(rungs.items()):
        tell(f"L6, L7 training {name}", number / len(rungs))
        evaluation = replace(config.evaluation, eval_games=0, eval_every=0, eval_times=0)
        config = replace(config, seeds=training.seeds, total_steps=training.steps, evaluation=evaluation)
        path = folder / f"rung-{number}"
        start(config, path, force=True, game=game)
        found[name] = RunDir.open(path).metrics()
    return found
