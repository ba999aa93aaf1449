"""Actor and critic: networks for one side, written for one seat and applied to all seats of the side at once.

The actor is the policy: it is what rosters, pools and packages hold. The critic only trains.
"""

from dataclasses import dataclass
from math import log
from typing import Any, Literal

import equinox as eqx
import jax.numpy as jnp
from jax import Array

from sparring.core.seeding import Seed
from sparring.core.spec import ActionSpec, GameSpec
from sparring.nets.blocks import ACTIVATIONS, CELLS, Activation, Dense
from sparring.nets.distributions import Distribution
from sparring.nets.normalise import Normaliser

Memory = Any


@dataclass(frozen=True, kw_only=True)
class NetConfig:
    hidden: tuple[int, ...] = (64, 64)
    """Widths of the hidden layers of actor and critic, each at least 1."""
    activation: Activation = "tanh"
    """Non-linearity of the hidden layers."""
    memory: Literal["none", "gru", "lstm"] = "none"
    """Recurrent cell after the hidden layers. Use one where a single observation does not tell enough."""
    memory_size: int = 64
    """Width of the recurrent cell."""
    critic: Literal["local", "central"] = "local"
    """What the critic sees: the seat's own observation (IPPO) or the game's central view (MAPPO)."""
    normalise: bool = False
    """Centre and scale observations by running statistics, updated after each rollout."""
    initial_std: float = 0.6
    """Standard deviation of continuous actions at the start, above 0; learned, the same in every state."""


class Trunk(eqx.Module):
    """Normaliser, hidden layers, recurrent cell: observation and memory to hidden features."""

    normaliser: Normaliser | None
    layers: list[Dense]
    cell: Any
    activation: Activation = eqx.field(static=True)

    @classmethod
    def make(cls, seed: Seed, inputs: int, config: NetConfig) -> "Trunk":
        widths = (inputs, *config.hidden)
        layers = [Dense.make(seed / "layer" / i, widths[i], widths[i + 1]) for i in range(len(config.hidden))]
        cell = None
        if config.memory != "none":
            cell = CELLS[config.memory].make(seed / "cell", widths[-1], config.memory_size)
        return cls(Normaliser.make(inputs) if config.normalise else None, layers, cell, config.activation)

    def initial(self, *batch: int) -> Memory:
        return () if self.cell is None else self.cell.initial(*batch)

    def __call__(self, x: Array, memory: Memory) -> tuple[Array, Memory]:
        if self.normaliser is not None:
            x = self.normaliser(x)
        for layer in self.layers:
            x = ACTIVATIONS[self.activation](layer(x))
        if self.cell is not None:
            memory, x = self.cell(memory, x)
        return x, memory


class Actor(eqx.Module):
    """A policy: features_NF, legal_NA and memory to a distribution over each seat's action."""

    trunk: Trunk
    head: Dense
    log_std_C: Array
    action: ActionSpec = eqx.field(static=True)

    @classmethod
    def make(cls, seed: Seed, spec: GameSpec, config: NetConfig) -> "Actor":
        action = spec.action
        head = Dense.make(seed / "head", trunk_width(spec.features, config), action.entries + action.dimensions, 0.01)
        log_std_C = jnp.full(action.dimensions, log(config.initial_std), jnp.float32)
        return cls(Trunk.make(seed / "trunk", spec.features, config), head, log_std_C, action)

    def initial(self, *batch: int) -> Memory:
        return self.trunk.initial(*batch)

    def __call__(self, features_NF: Array, legal_NA: Array, memory: Memory) -> tuple[Distribution, Memory]:
        hidden, memory = self.trunk(features_NF, memory)
        scores = self.head(hidden)
        logits_NA, mean_NC = scores[..., : self.action.entries], scores[..., self.action.entries :]
        return Distribution.make(self.action, logits_NA, legal_NA, mean_NC, self.log_std_C), memory


class Critic(eqx.Module):
    """views_VG and memory to value_V."""

    trunk: Trunk
    head: Dense
    sees: Literal["local", "central"] = eqx.field(static=True)

    @classmethod
    def make(cls, seed: Seed, spec: GameSpec, config: NetConfig) -> "Critic":
        inputs = spec.central.size if config.critic == "central" else spec.features
        head = Dense.make(seed / "head", trunk_width(inputs, config), 1, 1.0)
        return cls(Trunk.make(seed / "trunk", inputs, config), head, config.critic)

    def initial(self, *batch: int) -> Memory:
        return self.trunk.initial(*batch)

    def __call__(self, views_VG: Array, memory: Memory) -> tuple[Array, Memory]:
        hidden, memory = self.trunk(views_VG, memory)
        return self.head(hidden)[..., 0], memory


class ActorCritic(eqx.Module):
    actor: Actor
    critic: Critic

    @classmethod
    def make(cls, seed: Seed, spec: GameSpec, config: NetConfig) -> "ActorCritic":
        return cls(Actor.make(seed / "actor", spec, config), Critic.make(seed / "critic", spec, config))


def trunk_width(inputs: int, config: NetConfig) -> int:
    return config.memory_size if config.memory != "none" else (inputs, *config.hidden)[-1]
