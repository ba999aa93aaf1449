"""Battles won while MAPPO learns the 23 maps, drawn by SMAC's classes; and how soon half of them are won.

    python benchmarks/skirmish_maps.py --learned runs/maps --no-bots
    python benchmarks/skirmish_curves.py runs/maps --out curves.png

Every run in the folder is read, however far it came. Points are battles won in training, means of an equal number of
iterations; steps are those of the game, not of each agent.
"""

import argparse
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from skirmish_maps import CLASSES, ORDER, progress

POINTS = 30
"""Of a curve, at most."""
Curve = tuple[np.ndarray, np.ndarray]


def curve(name: str, run: Path) -> Curve:
    """Million steps of the game, and the share of battles won about then."""
    steps, won = progress(name, run)
    each = max(len(won) // POINTS, 1)
    parts = [slice(begin, begin + each) for begin in range(0, len(won) - each + 1, each)]
    return np.array([steps[part][-1] / 1e6 for part in parts]), np.array([np.mean(won[part]) for part in parts])


def half_won(curve: Curve) -> float:
    """Million steps until half of the battles were won; infinity: never."""
    steps, won = curve
    return float(steps[np.argmax(won >= 0.5)]) if (won >= 0.5).any() else float("inf")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=Path("skirmish-curves.png"))
    args = parser.parse_args()
    curves = {name: curve(name, args.folder / name) for name in CLASSES if (args.folder / name).exists()}
    figure, panels = plt.subplots(1, len(ORDER), figsize=(12, 4.6), sharey=True, layout="constrained")
    for axes, what in zip(panels, ORDER, strict=True):
        names = sorted((name for name in curves if CLASSES[name] == what), key=lambda name: half_won(curves[name]))
        for number, name in enumerate(names):
            axes.plot(*curves[name], color=f"C{number}", label=name)
        axes.set(xlabel="million steps of the game", ylim=(-0.02, 1.02))
        axes.set_title(f"{what} in SMAC", loc="left", fontsize=11)
        axes.grid(alpha=0.25)
        axes.legend(frameon=False, fontsize=8)
    panels[0].set_ylabel("battles won in training")
    figure.savefig(args.out, dpi=110)
    print(f"{'map':17}{'class':11}{'half won after':>16}{'last':>7}{'steps':>9}")
    for name, found in sorted(curves.items(), key=lambda item: half_won(item[1])):
        print(f"{name:17}{CLASSES[name]:11}{half_won(found):>14.2f} M{found[1][-1]:>7.0%}{found[0][-1]:>7.2f} M")
    print(f"picture    {args.out}")


if __name__ == "__main__":
    main()
