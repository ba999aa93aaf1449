"""Speed of the game `skirmish` and of JaxMARL's SMAX on the same battles, without learning, in turns on this machine.

    python benchmarks/vs_smax.py                                # 3m, 8m and 2s3z, on the CPU
    python benchmarks/vs_smax.py --games 3m --worlds 128 2048
    python benchmarks/vs_smax.py --device cuda --json

On both sides the enemy is scripted and the seats take random legal actions, drawn alike; what they see and earn is
computed at every step, and a battle that ends is followed by a new one. Worlds and steps are the same. Speeds use the
median seconds of the rounds.

The games are not the same computation. Both decide once in 8 loops of the game's clock. SMAX has no armour, counts
shields as health, has no terrain, and kills what touches the border; its battlefield is 32 x 32 for all maps. Skirmish
follows more of the original's rules. So random battles last differently long: agent-steps/s compare the work of a step,
battles/s mix it with the length of a battle, which is printed beside them.
"""

import argparse
from functools import partial
from statistics import mean, median
from typing import Any

from turns import Answer, both_sides, columns, common_flags, compare_all, heading, ratio, sizes

FAMILY = "skirmish"
BATTLES = (
    "3m", "8m", "25m", "5m_vs_6m", "10m_vs_11m", "27m_vs_30m", "2s3z", "3s5z", "3s5z_vs_3s6z", "3s_vs_5z", "6h_vs_8z",
)  # fmt: skip
"""Maps of the first SMAC that both have."""


def figures(rounds: list[Answer], world_steps: int) -> dict[str, float]:
    """Speeds of one side from its rounds of `world_steps` steps, all worlds together."""
    seconds = median(answer["seconds_per_iteration"] for answer in rounds)
    battles = mean(answer["games_per_iteration"] for answer in rounds)
    if not battles:
        raise SystemExit(f"No battle ended in {len(rounds)} rounds: raise --steps, --iterations or --rounds.")
    return {
        "agent_steps_per_second": world_steps * rounds[0]["seats"] / seconds,
        "battles_per_second": battles / seconds,
        "steps_per_battle": world_steps / battles,
    }


def compare(args: argparse.Namespace, game: str, worlds: int) -> dict[str, Any]:
    theirs = ["smax_worker.py", *sizes(game, worlds, args.steps, args)]
    ours = ["sparring_worker.py", "--alone", *sizes(f"{FAMILY}:{game}", worlds, args.steps, args)]
    answers = both_sides(args, theirs=theirs, ours=ours)
    sides = {side: figures(rounds, worlds * args.steps) for side, rounds in answers.items()}
    battles, steps = (
        {side: speeds[name] for side, speeds in sides.items()}
        for name in ("battles_per_second", "agent_steps_per_second")
    )
    lengths = " : ".join(f"{sides[side]['steps_per_battle']:.1f}" for side in ("ours", "theirs") if side in sides)
    ratios = {"battles_ratio": ratio(battles), "agent_steps_ratio": ratio(steps)}
    return {**sides, **ratios, "rounds": answers, "line": f"{columns(battles)}{columns(steps)}{lengths:>16}"}


def main() -> None:
    parser = common_flags(__doc__, known=BATTLES, games=["3m", "8m", "2s3z"], worlds=[128, 512])
    parser.add_argument("--steps", type=int, default=100, help="of one compiled call")
    parser.set_defaults(iterations=4)
    args = parser.parse_args()
    header = f"{heading('battles/s')}{heading('agent-steps/s')}{'steps a battle':>16}"
    compare_all(args, partial(compare, args), header=header)


if __name__ == "__main__":
    main()
