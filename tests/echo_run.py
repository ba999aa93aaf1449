"""A small run of the echo game with every kind of opponent, people who ask something of it, and what it leaves."""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from sparring.core.schedules import Schedule
from sparring.league.config import OpponentsConfig, PoolConfig
from sparring.learn.config import PPOConfig
from sparring.nets.config import NetConfig
from sparring.play.rollout import Duels
from sparring.setup.build import Built
from sparring.setup.config import CheckpointConfig, EvalConfig, PlayConfig, RunConfig
from sparring.store.checkpoints import load
from sparring.store.commands import drop, folder
from sparring.store.packages import PlayerMeta, read_package
from sparring.store.results import read_results
from sparring.store.run_dir import RunDir

BLOCKS, WORLDS, STEPS, ITERATIONS, EVERY = 4, 3, 3, 10, 4
PER_ITERATION = 5 * WORLDS * STEPS  # one block of four always meets the learner itself, and both sides learn there
S = Schedule.parse
CONFIG = RunConfig(
    game="echo",
    total_steps=ITERATIONS * PER_ITERATION,
    play=PlayConfig(worlds=BLOCKS * WORLDS, steps=STEPS, blocks=BLOCKS),
    net=NetConfig(hidden=(8,), memory="gru", memory_size=8),
    ppo=PPOConfig(epochs=1, minibatches=3, sequence=3, shadow_half_life=S(10.0), reward_scale=True),
    opponents=OpponentsConfig(current=S(0.25), shadow=S(0.25), history=S(0.25), bots=S(0.25)),
    pool=PoolConfig(pool_size=3, snapshot_every=2 * PER_ITERATION),
    evaluation=EvalConfig(eval_games=0),
    checkpoint=CheckpointConfig(checkpoint_every=EVERY),
)


class KilledError(Exception):
    pass


def asking(path: Path, wishes: dict[int, dict], *, killed_after: int = 0) -> Callable:
    """A watcher that leaves commands after iterations, and kills the run after one."""

    def watch(moment) -> None:
        if moment.iteration in wishes:
            drop(RunDir.open(path), wishes[moment.iteration])
        if moment.iteration == killed_after:
            raise KilledError

    return watch


def left_behind(path: Path) -> dict[str, object]:
    """All that a run leaves, but for clocks."""
    run = RunDir.open(path)
    checkpoint = load(run.checkpoints_path)
    return {
        "iteration": checkpoint.iteration,
        "arrays": {name: (array.shape, array.tobytes()) for name, array in checkpoint.arrays.items()},
        "meta": checkpoint.meta,
        "metrics": run.metrics_path.read_text(),
        "results": sorted(read_results(run.results_path)),
        "obeyed": sorted(file.name for file in (folder(run) / "done").glob("*")),
        "players": {file.name: player(file) for file in run.path.glob("players/*")},
    }


def player(path: Path) -> tuple[PlayerMeta, dict[str, bytes]]:
    """What a package says; the order of its header differs from process to process."""
    arrays, meta = read_package(path)
    return meta, {name: array.tobytes() for name, array in arrays.items()}


def events(path: Path, *kinds: str) -> list[dict]:
    return [line for line in RunDir.open(path).metrics() if line.get("event") in kinds]


def nothing_happened(built: Built) -> Duels:
    """A report without games, in which every block has moved on."""
    seeds, blocks = built.config.seeds, built.plan.seating.blocks
    return Duels(*(np.zeros((seeds, 2, blocks), int) for _ in range(7)), np.ones((seeds, blocks), bool))
