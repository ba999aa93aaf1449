"""What minds cost: core seconds of an iteration of four independent learners in the stag hunt, plain, with minds, with
imagination, and looking ahead.

    python benchmarks/mind_cost.py [--worlds 128] [--rounds 5] [--only plain belief imagine planner] [--loop]

Programs are compiled first, then run in turns, so that what slows the machine for a while slows all of them; what is
printed are medians. --loop adds the same learners as people write them in Python: a loop over agents at every step and
every minibatch, with every piece compiled and all worlds side by side (benchmarks/mind_loop.py).
"""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sparring.recipes.defaults import default_config
from sparring.setup.beginning import first_state
from sparring.setup.build import build
from sparring.setup.program import compile_program

VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "belief": {"mind": "belief"},
    "gate": {"mind": "belief", "mind_gate": 3.0, "mind_room": 0.3},
    "apart": {"mind": "belief", "mind_models": "apart"},
    "goals alone": {"mind": "belief", "mind_tells": "goals"},
    "no goals": {"mind": "belief", "mind_goals": "none"},
    "told nothing": {"mind": "belief", "mind_tells": "nothing"},
    "imagine": {"mind": "belief", "imagine": "learned", "imagine_length": 5},
    "oracle": {"mind": "belief", "imagine": "oracle", "imagine_length": 5},
    "planner": {
        "mind": "belief",
        "shared_reward": 0.0,
        "shaping": ("near_stag=0",),
        "plan_simulations": 16,
        "plan_goals": 2,
        "stages": ("play=planner until steps > 1000M", ""),
    },
}


class Run:
    """A run of one variant that goes on from iteration to iteration."""

    def __init__(self, settings: dict[str, Any], worlds: int, game: str) -> None:
        self.built = build(default_config(game, share="seat", worlds=worlds, eval_games=0, **settings))
        self.program, self.state = compile_program(self.built.plan), first_state(self.built)
        self.iteration, self.seeds_R = 0, jnp.asarray(self.built.seeds_R)
        self.standing = self.built.standing._replace(rule=self.built.rule_in(0))

    def __call__(self) -> Any:
        built, knobs = self.built, jax.tree.map(jnp.asarray, self.built.knobs(self.iteration))
        self.state, report = self.program(
            built.game, self.state, built.rosters, self.standing, knobs, self.seeds_R, jnp.asarray(self.iteration)
        )
        self.iteration += 1
        return jax.block_until_ready(report)


def seconds_of(go: Callable[[], Any], times: int, wall: bool) -> float:
    """Of one call, the mean over so many: of processor cores, or by the clock."""
    clock = time.perf_counter if wall or jax.default_backend() != "cpu" else time.process_time
    begun = clock()
    for _ in range(times):
        go()
    return (clock() - begun) / times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--times", type=int, default=2, help="iterations in each turn")
    parser.add_argument("--game", default="stag_hunt")
    parser.add_argument("--only", nargs="*", choices=tuple(VARIANTS), default=tuple(VARIANTS))
    parser.add_argument("--loop", action="store_true")
    parser.add_argument("--wall", action="store_true", help="seconds by the clock, for cores that do nothing else")
    words = parser.parse_args()
    runs: dict[str, Callable[[], Any]] = {name: Run(VARIANTS[name], words.worlds, words.game) for name in words.only}
    if words.loop:
        from mind_loop import Loop

        runs |= {f"{name} in a Python loop": Loop(VARIANTS[name], words.worlds) for name in words.only[:2]}
    for go in runs.values():
        go()
    taken = {name: [] for name in runs}
    for _ in range(words.rounds):
        for name, go in runs.items():
            taken[name].append(seconds_of(go, words.times, words.wall))
    first = statistics.median(next(iter(taken.values())))
    print(f"{words.game}, {words.worlds} worlds on {jax.devices()[0].device_kind}: seconds of an iteration")
    for name, seconds in taken.items():
        middle = statistics.median(seconds)
        spread = np.ptp(seconds) / middle
        print(
            f"{name:28} {middle:8.3f} s   {first / middle:7.1%} of the speed of {words.only[0]}   spread {spread:.0%}"
        )


if __name__ == "__main__":
    main()
