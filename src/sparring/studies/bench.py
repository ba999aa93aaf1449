"""How fast: the game alone under random play, and whole training iterations. Compile time apart, medians."""

import time
from dataclasses import dataclass
from statistics import median
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.games.game import Game
from sparring.nets.distributions import Distribution
from sparring.play.chance import stream
from sparring.play.collect import begin, collect
from sparring.play.rollout import Driver, Games
from sparring.play.roster import stack
from sparring.play.scripted import RANDOM, Scripted
from sparring.play.seating import seat
from sparring.setup.beginning import first_state
from sparring.setup.build import Built
from sparring.setup.config import PlayConfig
from sparring.setup.program import compile_program


@dataclass(frozen=True)
class Speed:
    steps_per_second: float
    """Agent steps: steps of a world times its seats."""
    seconds: float
    """Median of one call."""
    compile_seconds: float
    games_per_second: float | None = None
    """Completed games, in random play."""


@dataclass
class TrainingLoop:
    """A compiled training loop that can be timed in stretches, beside something else."""

    built: Built

    def __post_init__(self) -> None:
        self.program, self.state, self.iteration = compile_program(self.built.plan), first_state(self.built), 0
        self.seeds_R, self.orders = jnp.asarray(self.built.seeds_R), self.built.standing
        self.knobs = jax.tree.map(jnp.asarray, self.built.knobs(0))

    def run(self, iterations: int) -> float:
        """Seconds of one iteration, over a stretch of them that is waited for once, as training does."""
        built, began = self.built, time.perf_counter()
        for _ in range(iterations):
            number = jnp.asarray(self.iteration)
            self.state, _ = self.program(
                built.game, self.state, built.rosters, self.orders, self.knobs, self.seeds_R, number
            )
            self.iteration += 1
        jax.block_until_ready(self.state)
        return (time.perf_counter() - began) / iterations


def training_speed(built: Built, *, repeats: int = 5, iterations: int = 5) -> Speed:
    loop = TrainingLoop(built)
    began = time.perf_counter()
    loop.run(1)
    compile_seconds = time.perf_counter() - began
    seconds = median(loop.run(iterations) for _ in range(repeats))
    return Speed(built.steps_per_iteration * built.config.seeds / seconds, seconds, compile_seconds)


class Onlooker(eqx.Module):
    """Random play that sums up what it sees: an observation that nobody reads is left out by the compiler, and the game
    would seem faster than any policy can play it."""

    bot: Scripted

    def initial(self, *batch: int) -> Any:
        return self.bot.initial(*batch), jnp.zeros((*batch, self.bot.game.spec.features))

    def __call__(self, features_NF: Array, legal_NA: Array, memory: Any) -> tuple[Distribution, Any]:
        own, seen_NF = memory
        distribution, own = self.bot(features_NF, legal_NA, own)
        return distribution, (own, seen_NF + features_NF)


@dataclass
class RandomPlay:
    """The game alone, compiled: observations and restarts included, without any network."""

    game: Game
    config: PlayConfig

    def __post_init__(self) -> None:
        game, config = self.game, self.config
        spec, sides = game.spec, game.spec.sides
        family_BK, learner_BK = [[RANDOM] * sides], [[-1] * sides]
        seating = seat(spec, spec.seats_of_side, family_BK=family_BK, learner_BK=learner_BK, worlds=config.worlds)
        bot = Onlooker(Scripted.make(game, RANDOM))
        drivers = [
            Driver(stack([bot] * group.players), None, jnp.arange(group.players, dtype=jnp.uint32))
            for group in seating.groups
        ]
        self.cursor, self.calls = begin(game, seating, drivers, jax.random.key(0)), 0
        self.play = jax.jit(lambda cursor, key: collect(game, seating, drivers, cursor, key, steps=config.steps)[1:])

    def run(self) -> tuple[float, Games]:
        """Seconds of one call, which plays all worlds for the steps of a rollout; and what was played."""
        began = time.perf_counter()
        self.cursor, games = self.play(self.cursor, stream(jax.random.key(self.calls), "bench"))
        jax.block_until_ready(games)
        self.calls += 1
        return time.perf_counter() - began, games


def game_speed(game: Game, config: PlayConfig, *, repeats: int = 5) -> Speed:
    """Games per second follow from the mean length of a random game. It is taken over the first game of every world,
    all of them played to the end, since games that have ended by some moment are the shorter ones."""
    play = RandomPlay(game, config)
    compile_seconds, games = play.run()
    length_W, seconds = first_lengths(games), []
    while len(seconds) < 3 * repeats or not length_W.all():
        taken, games = play.run()
        seconds.append(taken)
        length_W = np.where(length_W, length_W, first_lengths(games))
    world_steps = config.worlds * config.steps / median(seconds)
    return Speed(world_steps * game.spec.seats, median(seconds), compile_seconds, float(world_steps / length_W.mean()))


def first_lengths(games: Games) -> np.ndarray:
    """Of each world the length of the first game that ended, 0 where none did."""
    ended_TW, length_TW = (np.asarray(x).reshape(len(x), -1) for x in (games.finished_TBW, games.length_TBW))
    first_W = ended_TW.argmax(0)
    return np.where(ended_TW.any(0), length_TW[first_W, np.arange(length_TW.shape[1])], 0)
