"""Environments of other people as games. Their worlds live in worker processes; here a state is what was last seen of
one, and a token by which the workers know it. So a state cannot be copied, set or stepped twice (`spec.outside`).

Programs reach the workers by callbacks, one for all worlds at once. These run NumPy alone: nothing in them waits for
JAX, so a program cannot wait for itself.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from math import prod
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.experimental import io_callback
from jax.experimental.buffer_callback import buffer_callback

from sparring.core.records import Action, Observation, Step
from sparring.core.spec import ActionSpec, Central, Feature, GameSpec
from sparring.games.game import Chance, Game
from sparring.games.own_parts import OwnParts
from sparring.workers.leases import SEEN, STEPPED, Leases, leases_of
from sparring.workers.source import Found, Setting, Source

Score = Literal["auto", "outcome", "return"]
Positions = Literal["random", "fixed"]


class OutsideState(NamedTuple):
    token_X: Array
    """Two words that name the game."""
    fresh: Array
    """The game has not been looked at: nothing below says anything yet."""
    seen: Observation


class Outside(Game):
    """An environment of somebody else."""

    spec: GameSpec = eqx.field(static=True)
    source: Source = eqx.field(static=True)
    rules: tuple = ()

    def start(self, key: Array) -> OutsideState:
        return OutsideState(jax.random.bits(key, (2,), jnp.uint32), jnp.ones((), bool), blank(self.spec))

    def observe(self, state: OutsideState) -> Observation:
        """What the state holds; where the game has not begun, a look at it, which begins it."""
        return looked(self.spec, self.source)(state.token_X, state.fresh, state.seen)

    def step(self, state: OutsideState, action: Action, chance: Chance) -> tuple[OutsideState, Step]:
        del chance
        found = played(self.spec, self.source)(state.token_X, action.discrete_SD, action.continuous_SC)
        seen = Observation(*(found[name] for name in SEEN))
        step = Step(
            found["reward"], found["left"], found["over"], found["cut"], found["outcome"],
            count_SJ=found["count"] if self.spec.counts else (),
        )  # fmt: skip
        return OutsideState(state.token_X, jnp.zeros((), bool), seen), step


def leases_in(game: Game) -> Leases | None:
    """The games that an environment outside plays for this one, which may be it with parts of one's own."""
    while isinstance(game, OwnParts):
        game = game.game
    return leases_of(game.source) if isinstance(game, Outside) else None


def check_outside(game: Game) -> None:
    """Raise what stands in the way of an environment outside. Programs do not: what they ask for then is lost, and is
    left out as games that go wrong are."""
    leases = leases_in(game)
    if leases is not None and leases.pool.trouble is not None:
        raise leases.pool.trouble


@contextmanager
def each_game_once(game: Game) -> Iterator[None]:
    """For evaluations, whose programs must be done within: no environment plays what nobody looks at."""
    leases = leases_in(game)
    with nullcontext() if leases is None else leases.once():
        yield
    check_outside(game)


def blank(spec: GameSpec) -> Observation:
    """Nobody is there."""
    first_A = np.zeros(spec.action.entries, bool)
    first_A[np.cumsum([0, *spec.action.heads])[: len(spec.action.heads)]] = True
    none_S = jnp.zeros(spec.seats, bool)
    legal_SA = jnp.broadcast_to(jnp.asarray(first_A), (spec.seats, spec.action.entries))
    return Observation(jnp.zeros((spec.seats, spec.features)), legal_SA, none_S, none_S)


@lru_cache(maxsize=64)
def looked(spec: GameSpec, source: Source) -> Callable[[Array, Array, Observation], Observation]:
    """observe() of one world that is one call for all worlds, and none where all have begun."""
    shapes = {name: shape for name, shape in shapes_of(spec).items() if name in SEEN}
    call = at_once(lambda token_VX, fresh_V: leases_of(source).look(token_VX, fresh_V), shapes, repeatable=True)

    def many(token_VX: Array, fresh_V: Array, seen_V: Observation) -> Observation:
        def look() -> Observation:
            found = Observation(*(call(token_VX, fresh_V)[name] for name in SEEN))
            return jax.tree.map(lambda new, old: jnp.where(aligned(fresh_V, new), new, old), found, seen_V)

        return jax.lax.cond(fresh_V.any(), look, lambda: seen_V)

    return for_all(many)


@lru_cache(maxsize=64)
def played(spec: GameSpec, source: Source) -> Callable[..., dict[str, Array]]:
    shapes = shapes_of(spec)
    return for_all(at_once(lambda *arrays: leases_of(source).step(*arrays), shapes))


def shapes_of(spec: GameSpec) -> dict[str, tuple[tuple[int, ...], Any]]:
    """Shape and type of what comes back of one world, by name."""
    seats, entries = spec.seats, spec.action.entries
    shapes: dict[str, tuple[tuple[int, ...], Any]] = {
        "features": ((seats, spec.features), jnp.float32), "legal": ((seats, entries), bool),
        "present": ((seats,), bool), "acting": ((seats,), bool), "reward": ((seats,), jnp.float32),
        "left": ((seats,), bool), "over": ((), bool), "cut": ((), bool), "outcome": ((spec.sides,), jnp.float32),
        "count": ((seats, len(spec.counts)), jnp.float32),
    }  # fmt: skip
    return {name: shapes[name] for name in STEPPED}


def at_once(
    call: Callable[..., dict[str, np.ndarray]], shapes: dict[str, Any], *, repeatable: bool = False
) -> Callable[..., dict[str, Array]]:
    """A function of NumPy arrays [V, ...] as part of a program. On a CPU it is given the program's own memory;
    elsewhere copies, and one that may be repeated is no effect to JAX, which allows none in conditions under vmap."""

    def through_memory(_: Any, out: dict[str, Any], *arrays: Any) -> None:
        for name, value in call(*map(np.asarray, arrays)).items():
            np.asarray(out[name])[...] = value

    def through_copies(*arrays: Any) -> dict[str, np.ndarray]:
        return call(*map(np.asarray, arrays))

    def in_program(*arrays: Array) -> dict[str, Array]:
        worlds = arrays[0].shape[0]
        wanted = {name: jax.ShapeDtypeStruct((worlds, *shape), kind) for name, (shape, kind) in shapes.items()}
        if jax.default_backend() == "cpu":
            return buffer_callback(through_memory, wanted, has_side_effect=True)(*arrays)
        return (jax.pure_callback if repeatable else io_callback)(through_copies, wanted, *arrays)

    return in_program


def for_all(function: Callable[..., Any], axes: int = 0) -> Callable[..., Any]:
    """The function of one world that `function` is for arrays [V, ...]; under vmap, however often, one call for all."""

    @jax.custom_batching.custom_vmap
    def of_one(*arguments: Any) -> Any:
        lead = jax.tree.leaves(arguments)[0].shape[:axes]
        flat = jax.tree.map(lambda x: x.reshape(prod(lead), *x.shape[axes:]), arguments)
        return jax.tree.map(lambda x: x.reshape(*lead, *x.shape[1:]), function(*flat))

    @of_one.def_vmap
    def of_many(copies: int, batched: Any, *arguments: Any) -> Any:
        spread = jax.tree.map(
            lambda x, own: x if own else jnp.broadcast_to(x, (copies, *jnp.shape(x))), arguments, tuple(batched)
        )
        result = for_all(function, axes + 1)(*spread)
        return result, jax.tree.map(lambda _: True, result)

    return of_one


def aligned(flag_V: Array, array: Array) -> Array:
    return flag_V.reshape(-1, *(1,) * (array.ndim - 1))


def outside(source: Source) -> Outside:
    """The game that an environment is. A worker is started to look at it."""
    found = leases_of(source).pool.found
    alike: dict[str, Any] = {}
    if found.alike == "seats":
        alike = {"exchangeable": (tuple(range(found.seats)),)}
    elif found.alike == "sides":
        alike = {"sides_alike": True}
    marks = (Feature("agent", (found.seats,)),) if found.seats > 1 else ()
    spec = GameSpec(
        seats=found.seats, side_of_seat=found.side_of_agent, action=action_of(found),
        layout=(Feature("seen", (found.features,)), *marks), central=Central("seat", found.seats * found.marked),
        longest=found.longest, in_turn=found.in_turn, zero_sum=found.zero_sum, score=found.score, stake=found.stake,
        seat_names=found.agents, counts=found.infos, outside=True, **alike,
    )  # fmt: skip
    return Outside(spec=spec, source=source)


def action_of(found: Found) -> ActionSpec:
    """Numbers lie in [-1, 1]: workers stretch them to the bounds of each agent's space."""
    return ActionSpec(heads=found.heads, low=(-1.0,) * found.dimensions, high=(1.0,) * found.dimensions)


def pettingzoo(
    environment: str, sides: str = "auto", positions: Positions = "random", longest: int = 0, score: Score = "auto",
    infos: str = "", **settings: Setting,
) -> Outside:  # fmt: skip
    """An environment of PettingZoo, by its module: parallel, or agent by agent. Further options are its own."""
    return outside(Source("pettingzoo", environment, pairs(settings), sides, positions, longest, score, infos))


def gymnasium(environment: str, longest: int = 0, infos: str = "", **settings: Setting) -> Outside:
    """An environment of Gymnasium, by its id or as module:function. Further options are its own."""
    return outside(Source("gymnasium", environment, pairs(settings), longest=longest, infos=infos))


def rllib(
    environment: str, sides: str = "auto", positions: Positions = "random", longest: int = 0, score: Score = "auto",
    infos: str = "", **settings: Setting,
) -> Outside:  # fmt: skip
    """An environment of RLlib's shape, MultiAgentEnv, as module:Class. Further options are its config."""
    return outside(Source("rllib", environment, pairs(settings), sides, positions, longest, score, infos))


def smac(environment: str, longest: int = 0, infos: str = "", **settings: Setting) -> Outside:
    """An environment of SMAC's or SMACv2's interface, as module:Class. Further options, as map_name, are its own."""
    return outside(Source("smac", environment, pairs(settings), "all", longest=longest, infos=infos))


def pairs(settings: dict[str, Setting]) -> tuple[tuple[str, Setting], ...]:
    return tuple(sorted(settings.items()))
