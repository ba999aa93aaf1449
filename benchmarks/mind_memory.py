"""Memory over a long run of four learners with minds.

    python benchmarks/mind_memory.py [--iterations 1000] [--goals listed] [--imagine learned]

Prints resident memory, bytes on disk and rows that minds keep, along the way, and the slope after the first fifth.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

from outside_memory import resident
from sparring.recipes.defaults import default_config
from sparring.training.runs import start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iterations", type=int, default=1000)
    parser.add_argument("--goals", default="listed", help="value of mind_goals")
    parser.add_argument("--imagine", default="none", choices=("none", "learned", "oracle"))
    words = parser.parse_args()
    worlds, steps = 8, 16
    config = default_config(
        "stag_hunt", share="seat", mind="belief", mind_goals=words.goals, mind_buffer=2048, worlds=worlds, steps=steps,
        minibatches=2, hidden=(16,), eval_games=0, total_steps=4 * worlds * steps * words.iterations,
        **({"imagine": words.imagine, "imagine_share": 0.5} if words.imagine != "none" else {}),
    )  # fmt: skip
    seen: list[tuple[int, float]] = []

    with tempfile.TemporaryDirectory() as folder:

        def look(moment) -> None:
            seen.append((moment.iteration, resident("self")))
            if moment.iteration % (words.iterations // 10) == 0:
                rows = [f"{line[name]:,.0f}" for line in moment.lines for name in line if name.endswith("mind/rows")]
                disk = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file()) / 2**20
                print(f"iteration {moment.iteration:6}: {seen[-1][1]:8.1f} MiB, {disk:6.1f} MiB on disk, rows {rows}")

        start(config, Path(folder) / "run", on_iteration=look)
    iteration, memory = np.asarray(seen)[len(seen) // 5 :].T
    growth = np.polyfit(iteration, memory, 1)[0] * 1000
    print(f"{growth:+.2f} MiB in 1,000 iterations, {words.goals} goals, imagine={words.imagine}")


if __name__ == "__main__":
    main()
