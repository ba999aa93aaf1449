"""How fast: the game alone under random play, and whole training iterations. Compile time apart, medians."""

import time
from dataclasses import dataclass
from statistics import median

import jax
import jax.numpy as jnp

from sparring.play.chance import stream
from sparring.play.collect import begin, collect
from sparring.play.rollout import Driver
from sparring.play.roster import stack
from sparring.play.scripted import RANDOM, Scripted
from sparring.play.seating import seat
from sparring.training.build import Built, first_state
from sparring.training.program import TrainState, compile_program


@dataclass(frozen=True)
class Speed:
    steps_per_second: float
    """Agent steps: steps of a world times its seats."""
    seconds: float
    """Median of one call."""
    compile_seconds: float


@dataclass
class TrainingLoop:
    """A compiled training loop that can be timed in stretches, beside something else."""

    built: Built

    def __post_init__(self) -> None:
        self.program, self.state, self.iteration = compile_program(self.built.plan), first_state(self.built), 0
        self.seeds_R = jnp.asarray(self.built.seeds_R)
        self.orders = self.built.standing
        self.knobs = jax.tree.map(jnp.asarray, self.built.knobs(0))

    def run(self, iterations: int) -> float:
        """Seconds of one iteration, over a stretch of them that is waited for once, as training does."""
        began = time.perf_counter()
        for _ in range(iterations):
            self.state = self.step()
        jax.block_until_ready(self.state)
        return (time.perf_counter() - began) / iterations

    def step(self) -> TrainState:
        built = self.built
        state, _ = self.program(
            built.game, self.state, built.rosters, self.orders, self.knobs, self.seeds_R, jnp.asarray(self.iteration)
        )
        self.iteration += 1
        return state


def training_speed(built: Built, *, repeats: int = 5, iterations: int = 5) -> Speed:
    loop = TrainingLoop(built)
    began = time.perf_counter()
    loop.run(1)
    compile_seconds = time.perf_counter() - began
    seconds = median(loop.run(iterations) for _ in range(repeats))
    return Speed(built.steps_per_iteration * built.config.seeds / seconds, seconds, compile_seconds)


def game_speed(built: Built, *, repeats: int = 5) -> Speed:
    """Random play of the whole game, restarts included, without any network."""
    game, config = built.game, built.config.play
    sides = game.spec.sides
    seating = seat(
        game.spec,
        game.spec.seats_of_side,
        family_BK=[[RANDOM] * sides],
        learner_BK=[[-1] * sides],
        worlds=config.worlds,
    )
    bot = Scripted.make(game, RANDOM)
    drivers = [
        Driver(stack([bot] * group.players), None, jnp.arange(group.players, dtype=jnp.uint32))
        for group in seating.groups
    ]
    cursor = begin(game, seating, drivers, jax.random.key(0))
    play = jax.jit(lambda cursor, key: collect(game, seating, drivers, cursor, key, steps=config.steps)[1:])

    def once(number: int) -> float:
        nonlocal cursor
        began = time.perf_counter()
        cursor, games = play(cursor, stream(jax.random.key(number), "bench"))
        jax.block_until_ready(games)
        return time.perf_counter() - began

    compile_seconds = once(0)
    seconds = median(once(number + 1) for number in range(3 * repeats))
    return Speed(config.worlds * config.steps * game.spec.seats / seconds, seconds, compile_seconds)
