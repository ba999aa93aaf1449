"""A built-in game as many worlds of arrays, for a training loop of one's own in PyTorch, NumPy or JAX.

    worlds = ArrayEnv("particles:tag", worlds=4096)
    seen = worlds.reset(seed=0)
    features = torch.from_dlpack(seen.features_SF)       # [worlds, seats, features], the same memory
    turn = worlds.step(choices)                          # int32 [worlds, seats, heads], from any library with DLPack

Worlds whose game ended begin the next within the same step: `turn.seen` is of the new game, `turn.final` of the old.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.errors import ConfigError
from sparring.core.records import Action, Observation, Step
from sparring.games import registry
from sparring.games.game import Game, State
from sparring.play.branches import only_when
from sparring.play.chance import game_chance, stream
from sparring.play.decide import within_bounds
from sparring.play.rollout import where_first
from sparring.play.starts import fresh_starts

ENDLESS = 2**31 - 1


class Worlds(NamedTuple):
    """Where all worlds stand: leaves [W, ...]."""

    state: State
    seen: Observation
    length_W: Array
    """Steps of the present game."""
    key: Array


class Turn(NamedTuple):
    """One step of all worlds; every array leads with W."""

    seen: Observation
    """What is seen now: where a game ended, the first moment of the next."""
    reward_WS: Array
    terminated_WS: Array
    """The seat has left for good, or its game is over by the rules."""
    truncated_WS: Array
    """The game was cut short; `final` says what is worth valuing then."""
    final: Observation
    """What was seen after the step, before any world began again."""
    step: Step
    """All that the game said: outcome_K, causes and counts are to be read where it ended."""
    illegal_WS: Array
    """The seat chose an entry that was not legal: its first legal one was played instead."""


class ArrayEnv:
    """Thousands of worlds of one game, stepped by one call."""

    def __init__(self, game: Game | str, worlds: int, *, max_cycles: int | None = None, **options: Any) -> None:
        """A game, or the name of one with its options; `max_cycles` cuts games that last longer."""
        if worlds < 1:
            raise ConfigError(f"worlds must be at least 1, found {worlds}.")
        self.game = registry.make(game, **options) if isinstance(game, str) else game
        self.spec, self.worlds, self.max_cycles = self.game.spec, worlds, max_cycles
        self._at: Worlds | None = None

    def reset(self, seed: int | None = None) -> Observation:
        """Every world at the start of a game. Without a seed, chance goes on from where it was."""
        if seed is None:
            seed = 0 if self._at is None else int(jax.random.bits(self._at.key, dtype=jnp.uint32))
        self._at = at = begin(self.game, jnp.asarray(seed % 2**32, jnp.uint32), worlds=self.worlds)
        return at.seen

    def step(self, discrete: Any = None, continuous: Any = None) -> Turn:
        """One step of every world: discrete [W, S, D] and continuous [W, S, C], as the game's actions have them."""
        if self._at is None:
            raise ConfigError("Call reset() before the first step().")
        heads, dimensions = len(self.spec.action.heads), self.spec.action.dimensions
        action = Action(
            self._given("discrete", discrete, jnp.int32, heads),
            self._given("continuous", continuous, jnp.float32, dimensions),
        )
        most = jnp.asarray(self.max_cycles or ENDLESS, jnp.int32)
        self._at, turn = advance(self.game, self._at, action, most)
        # The caller's arrays may be the very memory that is read: they are his again when this returns.
        return jax.block_until_ready(turn)

    @property
    def central(self) -> Array:
        """central_WCG: what a critic may see of every world."""
        if self._at is None:
            raise ConfigError("Call reset() before asking what critics see.")
        return central_of(self.game, self._at.state)

    def state_of(self, world: int = 0) -> State:
        """One world's state, in NumPy, as `Game.scene` wants it."""
        if self._at is None:
            raise ConfigError("Call reset() before looking at a world.")
        return jax.tree.map(lambda x: np.asarray(x[world]), self._at.state)

    def _given(self, name: str, value: Any, kind: Any, parts: int) -> Array:
        shape = (self.worlds, self.spec.seats, parts)
        if value is None and parts == 0:
            return jnp.zeros(shape, kind)
        if value is None:
            raise ConfigError(f"This game needs {name} actions of shape {shape}, found none.")
        array = as_jax(value)
        if array.shape != shape:
            raise ConfigError(f"{name} actions must have shape {shape} (worlds, seats, parts), found {array.shape}.")
        return array.astype(kind)


def as_jax(value: Any) -> Array:
    """An array of any library, without a copy where its memory allows it."""
    if isinstance(value, Array | np.ndarray) or not hasattr(value, "__dlpack__"):
        return jnp.asarray(value)
    return jnp.from_dlpack(value)


@partial(jax.jit, static_argnames="worlds")
def begin(game: Game, seed: Array, *, worlds: int) -> Worlds:
    key = jax.random.key(seed)
    state = fresh_starts(game, stream(key, "first games"), worlds)
    return Worlds(state, jax.vmap(game.observe)(state), jnp.zeros(worlds, jnp.int32), stream(key, "steps"))


@jax.jit
def advance(game: Game, at: Worlds, action: Action, max_cycles: Array) -> tuple[Worlds, Turn]:
    spec, worlds = game.spec, at.length_W.shape[0]
    key, own = jax.random.split(at.key)
    chance = game_chance(game, stream(own, "chance"), 1, worlds)
    played, illegal_WS = legal_choices(spec.action.heads, within_bounds(action, spec.action), at.seen.legal_SA)
    state, step = jax.vmap(game.step)(at.state, played, jax.tree.map(lambda x: x[0], chance))
    final = jax.vmap(game.observe)(state)
    length_W = at.length_W + 1
    cut_W = (step.cut | (length_W >= max_cycles)) & ~step.over
    ended_W = step.over | cut_W

    def renewed() -> tuple[State, Observation]:
        starts = fresh_starts(game, stream(own, "starts"), worlds)
        return where_first(ended_W, (starts, jax.vmap(game.observe)(starts)), (state, final))

    state, seen = only_when(ended_W, renewed, lambda: (state, final))
    turn = Turn(
        seen, step.reward_S, step.left_S | step.over[:, None], jnp.broadcast_to(cut_W[:, None], step.left_S.shape),
        final, step, illegal_WS & at.seen.acting_S,
    )  # fmt: skip
    return Worlds(state, seen, jnp.where(ended_W, 0, length_W), key), turn


@jax.jit
def central_of(game: Game, state: State) -> Array:
    return jax.vmap(game.central)(state)


def legal_choices(heads: tuple[int, ...], action: Action, legal_WSA: Array) -> tuple[Action, Array]:
    """Choices that may be made, the first legal one in place of any other, and where that was done."""
    chosen, wrong_WS, begin = [], jnp.zeros(legal_WSA.shape[:2], bool), 0
    for head, size in enumerate(heads):
        legal = legal_WSA[..., begin : begin + size]
        choice = action.discrete_SD[..., head]
        known = jnp.clip(choice, 0, size - 1)
        fits = jnp.take_along_axis(legal, known[..., None], -1)[..., 0] & (known == choice)
        chosen.append(jnp.where(fits, choice, jnp.argmax(legal, -1)))
        wrong_WS, begin = wrong_WS | ~fits, begin + size
    discrete = jnp.stack(chosen, -1) if heads else action.discrete_SD
    return action._replace(discrete_SD=discrete.astype(jnp.int32)), wrong_WS
