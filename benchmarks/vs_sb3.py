"""Training speed on mpe2's Python environments: Sparring with workers, and Stable-Baselines3 with SuperSuit, in turns.

    python benchmarks/vs_sb3.py --python PATH/bin/python     # an interpreter with stable-baselines3, supersuit and mpe2

On both sides one network drives all agents (MLP 64x64 tanh, actor and critic apart), 25 steps of a rollout, 4 epochs of
4 minibatches, as many environments. SuperSuit is timed with as many processes as ours and with one, which is often the
faster, and the better counts. Speeds are medians over the rounds, in agent-steps per second of training; what slows the
machine for a while slows all.
"""

import argparse
import json
import sys
from statistics import median

from turns import HERE, take_turns

SEATS = {"simple_spread_v3": 3, "simple_tag_v3": 4}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True, help="the interpreter of the other side")
    parser.add_argument("--games", nargs="+", default=["simple_spread_v3"], choices=SEATS)
    for name, value in (("worlds", 32), ("workers", 2), ("iterations", 4), ("rounds", 7)):
        parser.add_argument(f"--{name}", type=int, default=value)
    args = parser.parse_args()
    for game in args.games:
        words = f"--game {game} --worlds {args.worlds} --iterations {args.iterations}".split()
        several, theirs = ["--workers", str(args.workers)], [args.python, str(HERE / "sb3_worker.py"), *words]
        commands = {
            "theirs, one process": [*theirs, "--workers", "1"],
            "theirs": [*theirs, *several],
            "ours": [sys.executable, str(HERE / "outside_worker.py"), *words, *several],
        }
        answers = take_turns(commands, "cpu", args.rounds)
        steps = args.worlds * 25 * SEATS[game]
        found = {side: steps / median(a["seconds_per_iteration"] for a in answers[side]) for side in answers}
        best = max((side for side in found if side != "ours"), key=lambda side: found[side])
        speed, answers = {"ours": found["ours"], "theirs": found[best]}, {**answers, "theirs": answers[best]}
        ratios = sorted(
            b["seconds_per_iteration"] / a["seconds_per_iteration"]
            for a, b in zip(answers["ours"], answers["theirs"], strict=True)
        )
        stages = {key: median(a[key] for a in answers["ours"]) for key in ("step", "wait", "infer", "update")}
        print(
            f"{game}: ours {speed['ours']:,.0f}, {best} {speed['theirs']:,.0f} agent-steps/s, "
            f"ratio {speed['ours'] / speed['theirs']:.2f} (rounds {ratios[0]:.2f} to {ratios[-1]:.2f}); "
            f"seconds of ours in an iteration: {json.dumps({k: round(v, 4) for k, v in stages.items()})}",
            flush=True,
        )


if __name__ == "__main__":
    main()
