"""Does self-play settle? Exact exploitability over training on small games, one regime of opponents beside another.

    python benchmarks/settle.py                                  # measures all, prints the table, draws the picture
    python benchmarks/settle.py --games kuhn --regimes naive     # some of it
    python benchmarks/settle.py --table benchmarks/results/settle.json

Learning is the same in all regimes of a game (recipes/small_games.py), and so is the number of steps; only opponents
differ, but for `anchored`: the current self, with a KL to the shadow of weight 0.2 (EMAgnet, arXiv:2606.23995). The
policy to deploy is the shadow. `naive` has none; the shadow measured there plays no game and changes nothing.
Exploitability is what a best response would earn per game; 0 is an equilibrium.
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

from sparring.core.schedules import Schedule
from sparring.recipes.self_play import Pace, apply, memory
from sparring.recipes.small_games import SETTLING
from sparring.setup.config import CheckpointConfig, RunConfig
from sparring.store.manifest import manifest_facts

ANCHOR = 0.2
REGIMES = ("naive", "anchored", "shadow", "pool", "sparring", "small_pool", "half_history", "bansal")
MARKS = {"rock_paper_scissors": 0.1, "biased_rock_paper_scissors": 0.1, "kuhn": 0.05}
RESULTS, PICTURE = Path("benchmarks/results/settle.json"), Path("docs/images/settle.png")
Curves = dict[str, Any]
"""steps: [E]; latest and shadow: [R][E], seed by seed."""


def regime(config: RunConfig, name: str) -> RunConfig:
    if name == "small_pool":  # the usual home-made one: the last ten copies, one every 10,000 steps
        large = apply(config, "pool")
        return replace(large, pool=replace(large.pool, pool_size=10, snapshot_every=10_000))
    if name not in ("naive", "anchored"):
        return apply(config, name)
    from sparring.setup.build import build

    alone = apply(config, "naive")
    built = build(alone)
    weight = ANCHOR if name == "anchored" else 0.0
    half_life = memory(Pace(built.steps_per_iteration, built.iterations))
    return replace(alone, ppo=replace(alone.ppo, shadow_half_life=half_life, anchor=Schedule.parse(weight)))


def measure(config: RunConfig, *, points: int = 50) -> Curves:
    """Train into a folder that does not stay, and read the evaluations of the run."""
    from sparring.setup.build import build
    from sparring.store.run_dir import RunDir
    from sparring.training.runs import start

    evaluation = replace(config.evaluation, eval_every=max(1, build(config).iterations // points))
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
            "deployed: mean of the second half", "worst seed at the end", "below the mark on all seeds")  # fmt: skip
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for game, regimes in cells.items():
        for name, curves in regimes.items():
            latest, shadow = late(curves, "latest"), late(curves, "shadow")
            deployed = latest if name == "naive" else shadow
            row = [game, name, *(f"{x:.3f}" for x in (latest.mean(), latest[:, -1].max()))]
            row += [f"{x:.3f}" for x in (shadow.mean(), shadow[:, -1].max())]
            lines.append(
                "| " + " | ".join([*row, "yes" if deployed[:, -1].max() < MARKS.get(game, 0.1) else "no"]) + " |"
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
            axis.axhline(MARKS.get(game, 0.1), color="#777777", lw=0.8, ls=":")
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
            curves = measure(regime(replace(SETTLING[game](), seeds=seeds), name))
            ends = " ".join(f"{x:.3f}" for x in late(curves, "shadow")[:, -1])
            print(
                f"{game} {name}: latest {late(curves, 'latest').mean():.3f}, shadow {ends} ({curves['seconds']:.0f} s)",
                flush=True,
            )
            keep(game, name, curves)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", nargs="+", choices=SETTLING, default=list(MARKS))
    parser.add_argument("--regimes", nargs="+", choices=REGIMES, default=list(REGIMES[:6]))
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
             for g in SETTLING if g in content["cells"]}  # fmt: skip
    print(table(cells))
    draw(cells, arguments.picture)


if __name__ == "__main__":
    main()
