"""Does self-play settle? Exact exploitability over training on small games, one regime of opponents beside another.

    python benchmarks/settle.py                                  # measures all, prints the table, draws the picture
    python benchmarks/settle.py --games kuhn --regimes naive     # some of it
    python benchmarks/settle.py --table benchmarks/results/settle.json

Learning is what suits the game in all regimes, and so is the number of steps; only opponents and magnets differ. The
policy to deploy is the average; `averaged` is plain self-play with one, which plays no game. Exploitability is what a
best response would earn per game; 0 is an equilibrium.
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from sparring.recipes.defaults import default_config
from sparring.setup.config import CheckpointConfig, RunConfig
from sparring.store.manifest import manifest_facts

GAMES = (
    "matrix:rock_paper_scissors",
    "matrix:biased_rock_paper_scissors",
    "matrix:five_moves",
    "matrix:blotto",
    "kuhn",
)
REGIMES = ("averaged", "magnet", "mmd", "rnad", "sparring", "shadow", "pool", "alphastar")
MARK = {"kuhn": 0.015}
"""What the newest policy is to stay below; 0.04 in matrix games."""
RESULTS, PICTURE = Path("benchmarks/results/settle.json"), Path("docs/images/settle.png")
Curves = dict[str, Any]
"""steps: [E]; latest and shadow: [R][E], seed by seed."""


def measure(config: RunConfig, *, points: int = 50) -> Curves:
    """Train into a folder that does not stay, and read the evaluations of the run."""
    from sparring.store.run_dir import RunDir
    from sparring.training.runs import start

    evaluation = replace(config.evaluation, eval_times=points, eval_games=8)
    config = replace(config, evaluation=evaluation, checkpoint=CheckpointConfig(checkpoint_every=0, keep=1))
    began = time.monotonic()
    with TemporaryDirectory() as folder:
        start(config, Path(folder) / "run")
        lines = [line for line in RunDir.open(Path(folder) / "run").metrics() if line["kind"] == "eval"]
    steps = sorted({line["steps"] for line in lines})
    of_seed = [[line for line in lines if line["seed"] == config.seed + r] for r in range(config.seeds)]
    return {
        "steps": steps,
        "latest": [[line["exploitability"] for line in own] for own in of_seed],
        "shadow": [[line["exploitability/shadow"] for line in own] for own in of_seed],
        "seconds": round(time.monotonic() - began, 1),
    }


def late(curves: Curves, which: str) -> np.ndarray:
    """value_RE of the second half of training."""
    value_RE = np.asarray(curves[which])
    return value_RE[:, value_RE.shape[1] // 2 :]


def table(cells: dict[str, dict[str, Curves]]) -> str:
    head = ("game", "opponents", "latest: mean of the second half", "worst seed at the end",
            "average: mean of the second half", "worst seed at the end", "newest below the mark")  # fmt: skip
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for game, regimes in cells.items():
        for name, curves in regimes.items():
            latest, shadow = late(curves, "latest"), late(curves, "shadow")
            row = [game, name, *(f"{x:.3f}" for x in (latest.mean(), latest[:, -1].max()))]
            row += [f"{x:.3f}" for x in (shadow.mean(), shadow[:, -1].max())]
            lines.append(
                "| " + " | ".join([*row, "yes" if latest[:, -1].max() < MARK.get(game, 0.04) else "no"]) + " |"
            )
    return "\n".join(lines)


def draw(cells: dict[str, dict[str, Curves]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    colours = ("#0072B2", "#D55E00")  # Okabe and Ito's blue and orange
    names = [name for name in REGIMES if any(name in regimes for regimes in cells.values())]
    figure, axes = plt.subplots(
        len(cells), len(names), figsize=(2.6 * len(names), 2.3 * len(cells)), sharex="row", sharey="row", squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for number, (row, (game, regimes)) in enumerate(zip(axes, cells.items(), strict=True)):
        for axis, name in zip(row, names, strict=True):
            for which, colour in zip(("latest", "shadow"), colours, strict=True):
                for run, value_E in enumerate(regimes.get(name, {}).get(which, [])):
                    steps = np.asarray(regimes[name]["steps"]) / 1000
                    axis.plot(steps, value_E, color=colour, lw=0.9, alpha=0.7, label=which if run == 0 else None)
            axis.axhline(MARK.get(game, 0.04), color="#777777", lw=0.8, ls=":")
            axis.spines[["top", "right"]].set_visible(False)
            axis.set(yscale="log", ylim=(3e-3, 1.5), title="" if number else name)
        row[0].set_ylabel(game.replace("_", " ").replace("rock paper", "rock,\npaper,"), fontsize=9)
    for axis in axes[-1]:
        axis.set_xlabel("steps, thousands")
    axes[0][0].legend(frameon=False, fontsize=8, loc="lower left")
    figure.suptitle("Exploitability, a line for each seed (dotted: the mark)")
    figure.savefig(path, dpi=130)
    plt.close(figure)


def run(games: list[str], regimes: list[str], seeds: int, keep: Callable[[str, str, Curves], None]) -> None:
    for game in games:
        for name in regimes:
            curves = measure(default_config(game, self_play=name, seeds=seeds))
            ends = " ".join(f"{x:.3f}" for x in late(curves, "shadow")[:, -1])
            print(
                f"{game} {name}: latest {late(curves, 'latest').mean():.3f}, shadow {ends} ({curves['seconds']:.0f} s)",
                flush=True,
            )
            keep(game, name, curves)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", nargs="+", choices=GAMES, default=list(GAMES))
    parser.add_argument("--regimes", nargs="+", choices=REGIMES, default=list(REGIMES))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--json", type=Path, default=RESULTS, help="where cells are kept; others in it stay")
    parser.add_argument("--picture", type=Path, default=PICTURE)
    parser.add_argument("--table", type=Path, metavar="FILE", help="print and draw a file again, and train nothing")
    arguments = parser.parse_args()
    path = arguments.table or arguments.json
    content = json.loads(path.read_text()) if path.exists() else {"cells": {}}

    def keep(game: str, name: str, curves: Curves) -> None:
        content["commit"] = manifest_facts()["commit"]
        content["cells"].setdefault(game, {})[name] = curves
        path.write_text(json.dumps(content))

    if not arguments.table:
        run(arguments.games, arguments.regimes, arguments.seeds, keep)
    cells = {g: {r: content["cells"][g][r] for r in REGIMES if r in content["cells"][g]}
             for g in GAMES if g in content["cells"]}  # fmt: skip
    print(table(cells))
    draw(cells, arguments.picture)


if __name__ == "__main__":
    main()
