"""Random legal play of a game, recorded, so that its contract and its audits can be checked on what happened."""

import os
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple, ParamSpec, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.records import Action, Observation, Step
from sparring.core.spec import ActionSpec
from sparring.games.game import Chance, Game, State

CLOSE = {"rtol": 1e-4, "atol": 1e-5}
"""Floats of two programs that compute the same may be rounded differently; integers are compared exactly."""

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def quick_jit(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """jit for a program that runs a few times: it compiles quicker and runs slower. Not level 0, at which some
    compilers round a number by its place in an array: seats that are exactly alike would then seem to differ. Who names
    a level in XLA_FLAGS has it."""
    level = "xla_backend_optimization_level"
    jit: Any = eqx.filter_jit
    return jit(function, compiler_options={} if level in os.environ.get("XLA_FLAGS", "") else {level: 1})


class Noise(NamedTuple):
    """What random actions are made of: numbers between 0 and 1."""

    discrete_SA: Array | np.ndarray
    continuous_SC: Array | np.ndarray


class Moment(NamedTuple):
    """What a game says around one step of one world."""

    seen: Observation
    central: Array
    after: State
    step: Step


class Record(NamedTuple):
    """Random play; every leaf begins with [T, W]."""

    state: State
    action: Action
    chance: Chance
    moment: Moment
    last: Observation
    """What is seen after the step, before a world that ended starts again."""
    played: Array
    """Steps of the present game, this one included."""


def random_play(game: Game, *, seed: int, worlds: int, steps: int) -> Record:
    """`steps` steps of uniformly random legal actions in each world; a game that ended starts again."""
    rng = np.random.default_rng(seed)
    seeds_TW = rng.integers(0, 2**31, (steps, worlds)).astype(np.int32)
    shape, action = (steps, worlds, game.spec.seats), game.spec.action
    noise = Noise(*(rng.random((*shape, width), np.float32) for width in (action.entries, action.dimensions)))
    return _play(game, jnp.asarray(seeds_TW), noise)


def hides_nothing(game: Game) -> bool:
    """Whether the central view tells a seat what it sees by itself, number by number, as far as random play shows."""
    if game.spec.central.kind != "seat" or game.spec.central.size != game.spec.features:
        return False
    found = random_play(game, seed=0, worlds=8, steps=min(game.spec.longest, 16)).moment
    return bool(np.array_equal(found.central, found.seen.features_SF))


def moment(game: Game, state: State, action: Action, chance: Chance) -> Moment:
    after, step = game.step(state, action, chance)
    return Moment(game.observe(state), game.central(state), after, step)


@quick_jit
def _play(game: Game, seeds_TW: Array, noise_TW: Noise) -> Record:
    """The starts and chances of all steps come first: random numbers inside the loop cost seconds of compilation."""

    def drawn(seed: Array) -> tuple[State, Chance]:
        key_start, key_chance = jax.random.split(jax.random.key(seed))
        return game.start(key_start), game.chance(key_chance)

    def advance(carry: tuple, now: tuple) -> tuple[tuple, Record]:
        (state, played), (fresh, chance, noise) = carry, now
        state = jax.tree.map(lambda new, old: jnp.where(played == 0, new, old), fresh, state)
        action = random_action(noise, game.spec.action, game.observe(state).legal_SA)
        happened = moment(game, state, action, chance)
        ended = happened.step.over | happened.step.cut
        record = Record(state, action, chance, happened, game.observe(happened.after), played + 1)
        return (happened.after, jnp.where(ended, 0, played + 1)), record

    start_TW, chance_TW = jax.vmap(jax.vmap(drawn))(seeds_TW)
    carry_W = (jax.tree.map(lambda x: x[0], start_TW), jnp.zeros(seeds_TW.shape[1], jnp.int32))
    return jax.lax.scan(jax.vmap(advance), carry_W, (start_TW, chance_TW, noise_TW))[1]


def random_action(noise: Noise, spec: ActionSpec, legal_SA: Array) -> Action:
    """Uniform among what is legal; continuous dimensions uniform between their bounds, or within 1 of 0 without."""
    noise_SA = jnp.where(legal_SA, noise.discrete_SA, -1.0)
    heads = [jnp.argmax(noise_SA[:, a:b], axis=1) for a, b in pairwise(np.cumsum((0, *spec.heads)))]
    discrete_SD = jnp.stack(heads, axis=1) if heads else jnp.zeros((legal_SA.shape[0], 0))
    low_C, high_C = np.array(spec.low, np.float32), np.array(spec.high, np.float32)
    bounded_C = np.isfinite(low_C) & np.isfinite(high_C)
    low_C, high_C = np.where(bounded_C, low_C, -1.0), np.where(bounded_C, high_C, 1.0)
    continuous_SC = jnp.asarray(low_C) + jnp.asarray(noise.continuous_SC) * (high_C - low_C)
    return Action(discrete_SD.astype(jnp.int32), continuous_SC)


def sample_of(record: Record, size: int) -> Record:
    """Up to `size` transitions, evenly spread; every leaf begins with one axis."""
    count = record.played.size
    index = np.unique(np.linspace(0, count - 1, min(size, count)).astype(int))

    def picked(x: Array) -> Array | np.ndarray:
        # NumPy, because each eager jnp operation on a new shape is compiled; keys have no NumPy form.
        rows = x.reshape(count, *x.shape[2:]) if is_key(x) else np.asarray(x).reshape(count, *x.shape[2:])
        return rows[index]

    return jax.tree.map(picked, record)


def difference(one: Any, two: Any, *, exact: bool = False) -> str | None:
    """Where two records differ first, in words, or None."""
    pairs = zip(jax.tree_util.tree_leaves_with_path(one), jax.tree.leaves(two), strict=True)
    for (path, a), b in pairs:
        if is_key(a):
            a, b = jax.random.key_data(a), jax.random.key_data(b)
        a, b = np.asarray(a), np.asarray(b)
        floats = np.issubdtype(a.dtype, np.floating) and not exact
        same = np.isclose(a, b, equal_nan=True, **CLOSE) if floats else (a == b) | ((a != a) & (b != b))
        if not same.all():
            place = tuple(np.argwhere(~same)[0]) if same.ndim else ()
            return f"{a[place]} against {b[place]} in {jax.tree_util.keystr(path).lstrip('.')}"
    return None


def is_key(x: Array) -> bool:
    return jnp.issubdtype(x.dtype, jax.dtypes.prng_key)
