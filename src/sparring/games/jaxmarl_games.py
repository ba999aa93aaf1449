"""Environments of JaxMARL (Rutherford and others 2023), pure functions in JAX already: a thin adapter."""

from functools import lru_cache
from importlib import import_module
from math import prod
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.errors import ConfigError
from sparring.core.records import Action, Observation, Step
from sparring.core.spec import ActionSpec, Central, Feature, GameSpec
from sparring.games.game import Chance, Game
from sparring.workers.probe import sides_of
from sparring.workers.source import Setting

TIME = ("max_steps", "max_episode_steps")
"""Where environments say after how many steps they end a game."""


class JaxMarlState(NamedTuple):
    inner: Any
    seen: Any
    """Observations by agent, as the environment gives them."""
    done_S: Array
    played: Array


class JaxMarlGame(Game):
    """Agents are seats in the environment's own order. Whatever ends by its time limit is cut, not over."""

    spec: GameSpec = eqx.field(static=True)
    env: Any = eqx.field(static=True)
    masks: bool = eqx.field(static=True)
    """Whether the environment says what may be chosen."""
    limit: int = eqx.field(static=True)
    """Steps after which the environment ends a game; 0: it does not say."""
    rules: tuple = ()

    def start(self, key: Array) -> JaxMarlState:
        seen, inner = self.env.reset(key)
        return JaxMarlState(inner, seen, jnp.zeros(self.spec.seats, bool), jnp.zeros((), jnp.int32))

    def chance(self, key: Array) -> Chance:
        return key

    def observe(self, state: JaxMarlState) -> Observation:
        agents, size = self.env.agents, self.spec.layout[0].size
        rows = [jnp.ravel(state.seen[agent]).astype(jnp.float32) for agent in agents]
        features_SF = jnp.stack([jnp.pad(row, (0, size - row.size)) for row in rows])
        if len(agents) > 1:
            features_SF = jnp.concatenate([features_SF, jnp.eye(len(agents))], axis=1)
        present_S = ~state.done_S
        return Observation(features_SF, self.legal(state, present_S), present_S, present_S)

    def legal(self, state: JaxMarlState, present_S: Array) -> Array:
        """Entries that each agent has and its environment allows; one that is gone has the first alone."""
        entries = self.spec.action.entries
        own_S = np.asarray([choices_of(self.env.action_space(agent)) for agent in self.env.agents])
        legal_SA = jnp.asarray(np.arange(entries) < own_S[:, None])
        if self.masks and entries:
            allowed = self.env.get_avail_actions(state.inner)
            rows = [jnp.ravel(allowed[agent]).astype(bool) for agent in self.env.agents]
            legal_SA = legal_SA & jnp.stack([jnp.pad(row, (0, entries - row.size)) for row in rows])
        usable_S = present_S & legal_SA.any(1)
        return jnp.where(usable_S[:, None], legal_SA, jnp.arange(entries) == 0)

    def step(self, state: JaxMarlState, action: Action, chance: Chance) -> tuple[JaxMarlState, Step]:
        agents = self.env.agents
        actions = {agent: self.action_for(agent, action, s) for s, agent in enumerate(agents)}
        seen, inner, reward, done, _ = self.env.step_env(chance, state.inner, actions)
        reward_S = jnp.stack([jnp.asarray(reward[agent], jnp.float32).reshape(()) for agent in agents])
        done_S = jnp.stack([jnp.asarray(done[agent], bool).reshape(()) for agent in agents])
        ended, played = jnp.asarray(done["__all__"], bool).reshape(()), state.played + 1
        cut = (ended & (played >= self.limit) if self.limit else jnp.zeros((), bool)) | (
            ~ended & (played >= self.spec.longest)
        )
        side_K = [jnp.mean(reward_S[jnp.asarray(seats)]) for seats in self.spec.seats_of_side]
        step = Step(
            reward_S=jnp.where(state.done_S, 0.0, reward_S),
            left_S=done_S & ~ended,
            over=ended & ~cut,
            cut=cut,
            outcome_K=jnp.where(ended | cut, jnp.sign(jnp.stack(side_K) - jnp.mean(jnp.stack(side_K))), 0.0),
        )
        return JaxMarlState(inner, seen, state.done_S | done_S, played), step

    def action_for(self, agent: str, action: Action, seat: int) -> Array:
        space = self.env.action_space(agent)
        if hasattr(space, "n"):
            return action.discrete_SD[seat, 0]
        low, high = jnp.asarray(space.low), jnp.asarray(space.high)
        number_C = action.continuous_SC[seat, : prod(space.shape)].reshape(space.shape)
        return low + (number_C + 1) / 2 * (high - low)


def choices_of(space: Any) -> int:
    return int(space.n) if hasattr(space, "n") else 0


def jaxmarl(environment: str, sides: str = "names", longest: int = 10_000, **settings: Setting) -> JaxMarlGame:
    """An environment of JaxMARL, by its name there, as jaxmarl:MPE_simple_spread_v3. Further options are its own."""
    env = loaded(environment, tuple(sorted(settings.items())))
    agents, spaces = list(env.agents), [env.action_space(agent) for agent in env.agents]
    heads = max(map(choices_of, spaces))
    dimensions = max(0 if hasattr(space, "n") else prod(space.shape) for space in spaces)
    size = max(prod(env.observation_space(agent).shape) for agent in agents)
    features = size + (len(agents) if len(agents) > 1 else 0)
    limit = next((int(found) for name in TIME if (found := getattr(env, name, None))), 0)
    spec = GameSpec(
        seats=len(agents),
        side_of_seat=sides_of(sides, agents, equal=False, zero_sum=False),
        action=ActionSpec(heads=(heads,) if heads else (), low=(-1.0,) * dimensions, high=(1.0,) * dimensions),
        layout=(Feature("seen", (size,)), *((Feature("agent", (len(agents),)),) if len(agents) > 1 else ())),
        central=Central("seat", len(agents) * features),
        longest=limit or longest,
        seat_names=tuple(agents),
    )
    return JaxMarlGame(spec=spec, env=env, masks=masked(env), limit=limit)


def masked(env: Any) -> bool:
    """Whether an environment says what may be chosen: most inherit a method that only raises."""
    try:
        jax.eval_shape(lambda key: env.get_avail_actions(env.reset(key)[1]), jax.random.key(0))
    except Exception:  # whatever it says
        return False
    return True


@lru_cache(maxsize=32)
def loaded(name: str, settings: tuple[tuple[str, Setting], ...]) -> Any:
    try:
        library = import_module("jaxmarl")
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"jaxmarl:{name} needs the package {error.name}, which is not here. pip install it."
        ) from None
    try:
        return library.make(name, **dict(settings))
    except Exception as error:
        raise ConfigError(f"jaxmarl:{name} could not be made: {error}. Check its name and options.") from error
