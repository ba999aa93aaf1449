"""Run directories made by hand: a healthy one, and what to change for each symptom."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sparring.core.settings import to_toml
from sparring.evaluation.scoring import UNTRAINED
from sparring.learn.ppo import UpdateStats
from sparring.setup.build import build
from sparring.setup.config import RunConfig
from sparring.store.results import ResultRow, Results
from sparring.store.run_dir import RunDir
from sparring.training.runs import facts

ITERATIONS = 64
OFTEN = tuple(range(0, ITERATIONS, 8))
Change = Callable[[int, dict[str, Any]], None]
USUAL = {
    "entropy": 1.0, "approx_kl": 0.01, "explained_variance": 0.6, "value_spread": 0.5, "advantage_flat": 0.0,
    "bad_minibatches": 0.0, "critic_calmed": 0.0, "critic_factor": 1.0,
}  # fmt: skip


def train_line(iteration: int) -> dict[str, Any]:
    """What an iteration of a run that is well leaves."""
    line: dict[str, Any] = {"kind": "train", "iteration": iteration, "seed": 0, "steps": (iteration + 1) * 16}
    line |= {"games": 200, "length": 18.0}
    for seat in ("seat_0", "seat_1"):
        line |= {f"return/{seat}": 0.0, f"won/{seat}": 0.45, f"drawn/{seat}": 0.1}
    line |= {"games/self": 100, "games/past": 100, "points/past": 0.6, "rating/learner vs greedy": 50.0}
    return line | {f"learner/{name}": USUAL.get(name, 0.0) for name in UpdateStats._fields if name != "own"}


def snapshot(iteration: int) -> dict[str, Any]:
    return {"kind": "event", "iteration": iteration, "seed": 0, "event": "snapshot", "text": "Took a snapshot."}


def met(iteration: int, opponent: str, won: int, games: int = 100, kind: str = "train", side: int = 0) -> ResultRow:
    """Games of the learner, or of the evaluated policy."""
    player, number = ("learner", 5) if kind == "train" else ("learned", -1)
    return ResultRow(
        iteration, 0, kind, side, player, opponent, games, won, 0, games - won, 0.0, games, 18 * games, number
    )


def healthy_rows() -> list[ResultRow]:
    rows = [met(i, "past-0", 60) for i in range(ITERATIONS)] + [met(i, "greedy", 57) for i in range(ITERATIONS)]
    for iteration, won in ((UNTRAINED, 30), (31, 66), (63, 65)):
        rows += [met(iteration, "random", won, kind="eval", side=side) for side in (0, 1)]
    return rows


def make_run(
    path: Path, config: RunConfig, change: Change = lambda *_: None, *, snapshots: Sequence[int] = OFTEN,
    rows: Sequence[ResultRow] | None = None,
) -> Path:  # fmt: skip
    """A run of 64 iterations; `change` alters the line of an iteration."""
    steps = build(config, trains=False).steps_per_iteration
    built = build(replace(config, total_steps=ITERATIONS * steps), trains=False)
    run = RunDir.create(path)
    run.write_text(run.config_path, to_toml(built.config))
    run.write_manifest(facts(built))
    lines = []
    for iteration in range(ITERATIONS):
        line = train_line(iteration)
        change(iteration, line)
        lines += [line, *([snapshot(iteration)] if iteration in snapshots else [])]
    run.append_metrics(lines)
    with Results(run.results_path) as results:
        results.append(healthy_rows() if rows is None else rows)
    return path
