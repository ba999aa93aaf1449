"""Training without a run directory, and the exact exploitability of what it gave. Used by the scripts beside it."""

import time
from typing import NamedTuple

import jax
import jax.numpy as jnp

from sparring.games.game import Game
from sparring.setup.beginning import first_state
from sparring.setup.build import build
from sparring.setup.config import RunConfig
from sparring.setup.program import compile_program
from sparring.training.own_evaluation import exploitability


class Exact(NamedTuple):
    newest: list[float]
    """Of every seed."""
    average: list[float]
    """Of the shadow; empty where there is none."""
    compile_seconds: float
    seconds: float
    """Of training without compilation."""


class Stretch(NamedTuple):
    """A few iterations in place of a whole run."""

    core_seconds: float
    """Of one iteration, all cores together: it hardly depends on what else the machine does."""
    seconds: float
    iterations: int
    """Of the whole run."""


def stretch(config: RunConfig, iterations: int) -> Stretch:
    built = build(config)
    program, state, seeds_R = compile_program(built.plan), first_state(built), jnp.asarray(built.seeds_R)
    began = time.process_time(), time.monotonic()
    for iteration in range(1 + iterations):
        knobs = jax.tree.map(jnp.asarray, built.knobs(iteration))
        state, _ = program(built.game, state, built.rosters, built.standing, knobs, seeds_R, jnp.asarray(iteration))
        if iteration == 0:  # compilation is not counted
            jax.block_until_ready(state)
            began = time.process_time(), time.monotonic()
    jax.block_until_ready(state)
    return Stretch(
        (time.process_time() - began[0]) / iterations, (time.monotonic() - began[1]) / iterations, built.iterations
    )


def exact(config: RunConfig, game: Game | None = None) -> Exact:
    built = build(config, game=game)
    program, state, seeds_R = compile_program(built.plan), first_state(built), jnp.asarray(built.seeds_R)
    began = compiled = time.monotonic()
    for iteration in range(built.iterations):
        knobs = jax.tree.map(jnp.asarray, built.knobs(iteration))
        state, _ = program(built.game, state, built.rosters, built.standing, knobs, seeds_R, jnp.asarray(iteration))
        if iteration == 0:
            jax.block_until_ready(state)
            compiled = time.monotonic()
    jax.block_until_ready(state)
    seconds = time.monotonic() - compiled
    newest, average = exploitability(built, state), exploitability(built, state, shadow=True)
    assert newest is not None, f"{config.game} has no exact exploitability"
    return Exact(newest, average or [], compiled - began, seconds)
