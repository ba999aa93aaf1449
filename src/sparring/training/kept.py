"""What a run has kept: its checkpoints by number, and in each the learners, their shadows and past selves by name."""

from pathlib import Path
from typing import Any

import numpy as np

from sparring.core.errors import ConfigError, RunError, unknown
from sparring.store.checkpoints import Checkpoint, load, load_one, newest_first
from sparring.store.run_dir import RunDir

SHADOW = ".shadow"


def numbered(run: RunDir) -> dict[int, Path]:
    return {int(path.name): path for path in newest_first(run.checkpoints_path) if path.name.isdecimal()}


def checkpoint_of(run: RunDir, iteration: int | None) -> Checkpoint:
    """The newest whole checkpoint, or the one of an iteration."""
    if iteration is None:
        return load(run.checkpoints_path)
    kept = numbered(run)
    if iteration not in kept:
        listed = ", ".join(map(str, sorted(kept))) or "none"
        raise RunError(f"{run.path} keeps no checkpoint of iteration {iteration}. It has: {listed}.")
    return load_one(kept[iteration])


def seed_row(checkpoint: Checkpoint, seed: int | None) -> int:
    """Where a seed stands in a checkpoint of several; without one, the first."""
    seeds = list(checkpoint.meta["seeds"])
    if seed is None:
        return 0
    if seed not in seeds:
        raise ConfigError(f"{checkpoint.path} has the seeds {', '.join(map(str, seeds))}, not {seed}. Choose one.")
    return seeds.index(seed)


def members(checkpoint: Checkpoint, place: int) -> dict[str, dict[str, Any]]:
    """Past selves in the pool of the seed at that place, by name: their `row`, and the step they were `born` at."""
    leagues = checkpoint.meta.get("opposition", {}).get("leagues", [])
    players = leagues[place]["pool"]["players"] if leagues else []
    # Guests may be built otherwise, and then have no row in the pool; they are packages anyway.
    return {one["name"]: one for one in players if one["kind"] == "past"}


def weights_of(
    checkpoint: Checkpoint, player: str = "", seed: int | None = None, *, run: Path
) -> tuple[str, dict[str, np.ndarray]]:
    """The player that is meant, and the weights of its policy by their names in it. Stacks are [R, rows, ...]."""
    rows = {p["name"]: (f"learners.{p['group']}.model.actor.", p["row"]) for p in checkpoint.meta["players"]}
    place = seed_row(checkpoint, seed)
    leaders = checkpoint.meta.get("population", {}).get("leaders", [])
    if not player and leaders:
        player = list(rows)[leaders[place]]
    if not player and len(rows) > 1:
        raise ConfigError(f"{run} has the learners {', '.join(rows)}. Name one: {run}:{next(iter(rows))}")
    rows |= {
        f"{p['name']}{SHADOW}": (f"learners.{p['group']}.shadow.", p["row"])
        for p in checkpoint.meta["players"]
        if any(name.startswith(f"learners.{p['group']}.shadow.") for name in checkpoint.arrays)
    }
    rows |= {name: ("pool.", one["row"]) for name, one in members(checkpoint, place).items()}
    player = player or next(iter(rows))
    if player not in rows:
        raise ConfigError(unknown(f"player of {run}", player, rows))
    prefix, row = rows[player]
    arrays = checkpoint.arrays.items()
    return player, {name.removeprefix(prefix): array[place, row] for name, array in arrays if name.startswith(prefix)}
