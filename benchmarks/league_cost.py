"""What does a league cost? Samples a second of many learners and one, on equally many worlds, side by side.

    python benchmarks/league_cost.py                          # rock, paper, scissors with five moves: a minute
    python benchmarks/league_cost.py --game dogfight --worlds 512 --steps 32

Both have a full pool of 64 past players, as late in a run, and nobody is copied meanwhile. One learner meets them by
PFSP; sixteen have roles. In both only the home side learns, so that they learn from equally many samples. Whole
iterations are timed, with what the leagues decide on the host, in alternating stretches; medians.
"""

import argparse
import time
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

import jax
import jax.numpy as jnp

from sparring.core.schedules import Schedule
from sparring.league.config import OpponentsConfig, PoolConfig
from sparring.league.events import Recalled
from sparring.league.player import past_self
from sparring.league.roles import RolesConfig
from sparring.nets.config import NetConfig
from sparring.setup.beginning import first_state
from sparring.setup.build import Built, build
from sparring.setup.config import PlayConfig, RunConfig
from sparring.setup.program import TrainState, compile_program
from sparring.training.apply import applied
from sparring.training.opposition import Opposition

ONE = {"opponents": OpponentsConfig(current=Schedule.parse(0.0), history=Schedule.parse(1.0), sampler="pfsp_hard")}
MANY = {"roles": RolesConfig(mains=4, main_exploiters=4, league_exploiters=8, beaten_above=1.0)}
POOL = 64


@dataclass
class Training:
    """A run without files: who was copied stays in memory."""

    built: Built
    iteration: int = 0
    state: TrainState = field(init=False)
    host: list[float] = field(default_factory=list)
    """Seconds that each decision of the leagues, and each report to them, took."""

    def __post_init__(self) -> None:
        self.program, self.state = compile_program(self.built.plan), first_state(self.built)
        self.opposition, self.seeds_R = Opposition.begin(self.built), jnp.asarray(self.built.seeds_R)

    def fill(self) -> None:
        """Past players for every row, after the first iteration, which copies the first; all hold untrained weights."""
        (league,) = self.opposition.leagues
        pool, book, learners = league.state.pool, league.state.book, league.rules.learners
        for n in range(len(pool.players), POOL):
            player = past_self(n, book.players[n % learners], born=n, alone=learners == 1)
            pool, book = pool.joined_by(player, n), book.joined_by(player, league.rules.owners, 0.0)
        league.state = replace(league.state, pool=pool, book=book, snapshots=POOL)

    def run(self, iterations: int) -> float:
        """Samples a second over a stretch."""
        began, waiting = time.perf_counter(), self.step(None)
        for _ in range(iterations - 1):
            waiting = self.step(waiting)
        self.read(*waiting)
        return iterations * self.built.steps_per_iteration / (time.perf_counter() - began)

    def step(self, waiting: tuple[int, Any] | None) -> tuple[int, Any]:
        """Start an iteration, then read the one before it, as training does."""
        i, built = self.iteration, self.built
        began = time.perf_counter()
        orders, events = self.opposition.assign(i)
        self.host.append(time.perf_counter() - began)
        assert not any(isinstance(event, Recalled) for one in events for event in one), "a larger pool is needed"
        self.state = applied(self.state, events, self.opposition)
        knobs = jax.tree.map(jnp.asarray, built.knobs(0))
        self.state, report = self.program(
            built.game, self.state, built.rosters, orders, knobs, self.seeds_R, jnp.asarray(i)
        )
        if waiting is not None:
            self.read(*waiting)
        self.iteration += 1
        return i, report

    def read(self, iteration: int, report: Any) -> None:
        duels = jax.device_get(report.duels)
        began = time.perf_counter()
        self.opposition.observe(iteration, duels)
        self.host[-1] += time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", default="matrix:five_moves")
    parser.add_argument("--worlds", type=int, default=2048)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--blocks", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--iterations", type=int, default=10, help="of a stretch")
    arguments = parser.parse_args()
    base = RunConfig(
        game=arguments.game,
        total_steps=10**9,
        play=PlayConfig(worlds=arguments.worlds, steps=arguments.steps, blocks=arguments.blocks),
        net=NetConfig(hidden=(arguments.hidden, arguments.hidden)),
        pool=PoolConfig(pool_size=POOL),
    )
    runs = {name: Training(build(replace(base, **parts))) for name, parts in (("one", ONE), ("sixteen", MANY))}
    for name, run in runs.items():
        began = time.perf_counter()
        run.run(1)
        run.fill()
        run.run(3)
        print(f"{name}: compiled in {time.perf_counter() - began:.0f} s", flush=True)
    speeds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(arguments.repeats):
        for name, run in runs.items():
            speeds[name].append(run.run(arguments.iterations))
    one, many = (median(speeds[name]) for name in ("one", "sixteen"))
    device = jax.devices()[0]
    print(f"{arguments.game}, {arguments.worlds} worlds x {arguments.steps} steps, {device.platform}")
    for name, run, speed in (("one learner", runs["one"], one), ("sixteen learners", runs["sixteen"], many)):
        each = 1000 * run.built.steps_per_iteration / speed
        host = 1000 * median(run.host)
        print(f"{name:16}  {speed:12,.0f} samples/s, {each:6.2f} ms an iteration, {host:5.2f} ms of it decisions")
    print(f"sixteen learners have {100 * many / one:.0f} % of the speed of one")


if __name__ == "__main__":
    main()
