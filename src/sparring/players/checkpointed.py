"""What a run has kept: its checkpoints by number, and in each the learners, their shadows and past selves by name."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sparring.core.errors import ConfigError, RunError, unknown
from sparring.core.names import checked_name
from sparring.core.plain import from_plain
from sparring.league.meta_game import MetaGame
from sparring.league.player import Player
from sparring.league.pool import Pool
from sparring.store.checkpoints import Checkpoint, load, load_one, newest_first
from sparring.store.packages import SUFFIX
from sparring.store.run_dir import RunDir

SHADOW = ".shadow"
PLAYERS = "players"
"""The folder of a run with packages of its past selves."""


class Policy(NamedTuple):
    """Where a checkpoint has a policy: the arrays whose names begin so, and their row."""

    prefix: str
    row: int
    learner: str
    """The learner that it is, or whose shadow or past it is."""


@contextmanager
def believing(checkpoint: Path) -> Iterator[None]:
    """While what a checkpoint says is taken for what a run would have written. A checksum proves that nobody changed it
    since, not that it came from a run: what does not fit is told as a fault of the checkpoint."""
    try:
        yield
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as error:
        reason = f"{type(error).__name__}: {error}"[:200].rstrip(".")
        raise RunError(
            f"{checkpoint} is whole, but not as a run of this version would have written it ({reason}). Take "
            "another, or train the run again."
        ) from error


def learners_of(checkpoint: Checkpoint) -> dict[str, tuple[int, int]]:
    """The learners by name: which stack of weights each is in, and the row."""
    with believing(checkpoint.path):
        return {checked_name(p["name"]): (int(p["group"]), int(p["row"])) for p in checkpoint.meta["players"]}


def seeds_of(checkpoint: Checkpoint) -> list[int]:
    with believing(checkpoint.path):
        return [int(seed) for seed in checkpoint.meta["seeds"]]


def leaders_of(checkpoint: Checkpoint) -> list[int]:
    """Of a population, the row of the member in front, seed by seed; else empty."""
    with believing(checkpoint.path):
        return [int(row) for row in checkpoint.meta.get("population", {}).get("leaders", [])]


def newest(run: RunDir) -> Checkpoint | None:
    """The newest whole checkpoint, or None where the run was stopped before its first."""
    return load(run.checkpoints_path) if newest_first(run.checkpoints_path) else None


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
    seeds = seeds_of(checkpoint)
    if seed is None:
        return 0
    if seed not in seeds:
        raise ConfigError(f"{checkpoint.path} has the seeds {', '.join(map(str, seeds))}, not {seed}. Choose one.")
    return seeds.index(seed)


def league_of(checkpoint: Checkpoint, place: int) -> tuple[Pool, dict[str, Any]]:
    """The pool of the seed at that place, and all that its league remembers as plain data; both empty without one."""
    leagues = checkpoint.meta.get("opposition", {}).get("leagues", [])
    state = leagues[place]["state"] if leagues else {}
    pool = from_plain(Pool, state["pool"]) if leagues else Pool()
    for player in (*pool.players, *pool.rows):
        checked_name(player.name)
    return pool, state


def members(checkpoint: Checkpoint, place: int) -> dict[str, tuple[Player, int]]:
    """Past selves in the pool of the seed at that place, by name, with their rows."""
    with believing(checkpoint.path):
        rows = league_of(checkpoint, place)[0].rows
    # Guests may be built otherwise, and then have no row in the pool; they are packages anyway.
    return {player.name: (player, row) for player, row in rows.items() if player.kind == "past"}


def meta_strategy_of(checkpoint: Checkpoint, place: int) -> dict[str, float]:
    """PSRO: the past players of the seed at that place with their weights in the mixture; empty while none is known."""
    with believing(checkpoint.path):
        pool, state = league_of(checkpoint, place)
        weight_M = from_plain(MetaGame, state["meta"]).weight_M if state else ()
    return {player.name: float(weight) for player, weight in zip(pool.players, weight_M, strict=False)}


def package_of(run: RunDir, name: str, seed: int | None) -> Path:
    """Where the package of a past self is; no seed where there is one, or it is the same for all."""
    return run.path / PLAYERS / f"{name}{'' if seed is None else f'-seed-{seed}'}{SUFFIX}"


def policies_of(checkpoint: Checkpoint, place: int) -> dict[str, Policy]:
    """Where the policies of the seed at that place are, by name: learners, their shadows, past selves in memory."""
    learners = learners_of(checkpoint)
    found = {name: Policy(f"learners.{group}.model.actor.", row, name) for name, (group, row) in learners.items()}
    found |= {
        f"{learner}{SHADOW}": Policy(f"learners.{group}.shadow.", row, learner)
        for learner, (group, row) in learners.items()
        if any(name.startswith(f"learners.{group}.shadow.") for name in checkpoint.arrays)
    }
    names = list(learners)
    with believing(checkpoint.path):
        past = members(checkpoint, place).items()
        return found | {name: Policy("pool.", row, names[player.learner]) for name, (player, row) in past}


def weights_of(
    checkpoint: Checkpoint, player: str = "", seed: int | None = None, *, run: Path
) -> tuple[str, dict[str, np.ndarray]]:
    """The player that is meant, and the weights of its policy by their names in it. Stacks are [R, rows, ...]. Without
    a name the only learner or the leader of a population is meant; with the ending of a shadow alone, its shadow."""
    learners, place, leaders = learners_of(checkpoint), seed_row(checkpoint, seed), leaders_of(checkpoint)
    if player in ("", SHADOW):
        if len(learners) > 1 and not leaders:
            raise ConfigError(f"{run} has the learners {', '.join(learners)}. Name one: {run}:{next(iter(learners))}")
        with believing(checkpoint.path):
            player = list(learners)[leaders[place] if leaders else 0] + player
    known = policies_of(checkpoint, place)
    if player not in known:
        raise ConfigError(unknown(f"player of {run}", player, known))
    return player, weights_at(checkpoint, known[player], place)


def weights_at(checkpoint: Checkpoint, policy: Policy, place: int) -> dict[str, np.ndarray]:
    own = {
        name.removeprefix(policy.prefix): array
        for name, array in checkpoint.arrays.items()
        if name.startswith(policy.prefix)
    }
    with believing(checkpoint.path):
        return {name: array[place, policy.row] for name, array in own.items()}
