"""Win rates over training on battles, beside what MAPPO's paper tells of the same maps in StarCraft.

    sparring train --recipe fast_2s3z --seeds 3 --name 2s3z
    sparring train --recipe fast_5m_vs_6m --seeds 3 --name 5m_vs_6m
    sparring train --recipe fast_corridor --seeds 3 --name corridor
    python benchmarks/skirmish_curves.py runs/2s3z runs/5m_vs_6m runs/corridor --out curves.png

Two environments stand side by side: their engine is StarCraft II, ours is a stand-in. Points are battles won, a draw
one half, of the evaluations in a run's metrics.jsonl; steps are those of the game, not of each agent.
"""

import argparse
import json
import tomllib
from pathlib import Path
from statistics import median

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from sparring.games.skirmish.maps import MAPS

PAPER = {"3m": (100.0, "told in summaries"), "corridor": (100.0, "told in summaries"), "2s3z": (100.0, "from memory"),
         "5m_vs_6m": (89.1, "from memory")}  # fmt: skip
"""MAPPO with feature-pruned states, median of the last evaluations in percent (arXiv:2103.01955, Table 1), and how sure
we are of the figure: none was read in the paper itself."""


def curves(run: Path) -> tuple[str, dict[int, list[tuple[float, float]]]]:
    """The map of a run, and for each seed its evaluations: million steps of the game, share of battles won."""
    name = tomllib.loads((run / "config.toml").read_text())["game"].partition(":")[2]
    agents = len(MAPS[name].kinds(0))
    found: dict[int, list[tuple[float, float]]] = {}
    for line in (run / "metrics.jsonl").read_text().splitlines():
        row = json.loads(line)
        for key, value in row.items():
            if key.startswith("points/") and key.endswith("/learned"):
                found.setdefault(row["seed"], []).append((row["steps"] / agents / 1e6, value))
    return name, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, default=Path("skirmish-curves.png"))
    args = parser.parse_args()
    figure, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
    print(f"{'map':10} {'seeds':>5} {'steps, million':>14} {'ours, last':>24} {'95 % first at':>14} {'paper':>7}")
    for number, run in enumerate(args.runs):
        name, seeds = curves(run)
        colour = f"C{number}"
        for seed, points in seeds.items():
            axes.plot(*zip(*points, strict=True), color=colour, alpha=0.8, label=name if seed == min(seeds) else None)
        last = sorted(points[-1][1] for points in seeds.values())
        reached = [next((x for x, y in points if y >= 0.95), float("inf")) for points in seeds.values()]
        ours = f"{median(last):.1%} ({', '.join(f'{x:.0%}' for x in last)})"
        steps = max(points[-1][0] for points in seeds.values())
        print(f"{name:10} {len(seeds):>5} {steps:>14.1f} {ours:>24} {median(reached):>12.1f} M {PAPER[name][0]:>6.1f}%")
    axes.set(xlabel="million steps of the game", ylabel="battles won", ylim=(-0.02, 1.02))
    axes.set_title("MAPPO on skirmish, each seed a line (128 battles an evaluation)", loc="left", fontsize=11)
    axes.grid(alpha=0.25)
    axes.legend(frameon=False, loc="lower right")
    figure.savefig(args.out, dpi=130)
    print(f"picture    {args.out}")


if __name__ == "__main__":
    main()
