"""A trained policy in a loop of one's own over the environment it was trained on."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.errors import ConfigError
from sparring.core.records import Observation
from sparring.games.game import Game
from sparring.games.outside import blank, leases_in
from sparring.workers.source import Found
from sparring.workers.spaces import mask_of
from sparring.workers.world import Parts, World

if TYPE_CHECKING:
    from sparring.players.loaded import Policy


class Agents:
    """Call it with an agent, what that agent sees, and its info: the action, as the agent's space has it.

    The environment may be parallel or go agent by agent; it is read for its spaces alone. A policy that remembers must
    be asked once in every step for every agent that is in the game, and told of a new one by `begin`.
    """

    def __init__(self, policy: "Policy", env: Any) -> None:
        found = _found(policy.game)
        self.policy, self.world = policy, World(env, Parts(env), found)
        if tuple(self.world.parts.agents) != found.agents:
            raise ConfigError(
                f"The policy was trained with the agents {', '.join(found.agents)}, and this environment has "
                f"{', '.join(self.world.parts.agents)}. Make it with the same settings."
            )
        self.begin()
        if found.in_turn and jax.tree.leaves(self.memory):
            raise ConfigError(
                "A policy that remembers has also seen what happened while it waited, which a loop agent by agent does "
                "not show it. Train one without memory: --cell none."
            )

    def begin(self) -> None:
        """A new game: memories are blank."""
        self.memory = {agent: self.policy.initial() for agent in self.world.parts.agents}

    def __call__(self, agent: Any, seen: Any, info: Mapping[str, Any] | None = None, key: Array | None = None) -> Any:
        """With a key the action is drawn by chance, without one it is the most likely."""
        parts = self.world.parts
        if agent not in parts.names:
            raise ConfigError(f"There is no agent {agent}, the environment has {', '.join(parts.agents)}.")
        seat = parts.names[agent]
        features_SF, legal_SA = (np.array(part) for part in blank(self.policy.game.spec)[:2])
        self.world.read(features_SF[seat], seat, agent, seen)
        self.world.mark(features_SF[seat], seat)
        self.world.allow(legal_SA[seat], seat, agent, mask_of(seen, info or {}))
        nobody_S = jnp.zeros(len(features_SF), bool)
        observation = Observation(jnp.asarray(features_SF), jnp.asarray(legal_SA), nobody_S, nobody_S)
        action, self.memory[str(agent)] = self.policy.step(observation, key, self.memory[str(agent)])
        discrete_SD, continuous_SC = map(np.asarray, action)
        own = parts.writers[seat]
        return own.write(discrete_SD[seat, : len(own.heads)], continuous_SC[seat, : own.dimensions])


def _found(game: Game) -> Found:
    leases = leases_in(game)
    if leases is None:
        raise ConfigError(
            "This game is not an environment of somebody else. Its policies act on what it shows: "
            "run.act(game.observe(state), key)."
        )
    return leases.pool.found
