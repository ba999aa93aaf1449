"""Other interfaces in the shape of PettingZoo's parallel one: RLlib's MultiAgentEnv, and that of SMAC. No JAX."""

from typing import Any

import numpy as np

from sparring.core.errors import GameError

NOBODY = ""
"""In place of the agent whose turn it is, for one that waits."""


class RllibAgents:
    """Dictionaries by agent, in which "__all__" ends a game. Who is in the last observations acts; others wait."""

    def __init__(self, env: Any) -> None:
        self.env, self.unwrapped = env, env
        self.possible_agents = sorted(map(str, agents_of(env)))
        self.own = {str(agent): agent for agent in agents_of(env)}
        self.agents: list[str] = []
        self.seen: dict[str, Any] = {}
        self.acting: set[str] = set()

    def observation_space(self, agent: str) -> Any:
        return space_of(self.env, "observation", self.own[agent])

    def action_space(self, agent: str) -> Any:
        return space_of(self.env, "action", self.own[agent])

    def reset(self, seed: int | None = None) -> tuple[dict, dict]:
        found = self.env.reset(seed=seed)
        seen, infos = found if isinstance(found, tuple) else (found, {})
        self.seen, self.agents = {}, []
        self.gone: set[str] = set()
        self.take(seen)
        return self.shown(), self.told(infos)

    def step(self, actions: dict[str, Any]) -> tuple[dict, dict, dict, dict, dict]:
        parts = self.env.step({self.own[agent]: actions[agent] for agent in self.agents if agent in self.acting})
        if len(parts) == 4:  # before truncation was told apart
            seen, rewards, over, infos = parts
            cut: dict[Any, bool] = {}
        else:
            seen, rewards, over, cut, infos = parts
        playing = list(self.agents)
        self.take(seen)
        known = dict.fromkeys([*playing, *self.agents])
        flags = [
            {agent: bool(flag.get(self.own[agent], False) or flag.get("__all__", False)) for agent in known}
            for flag in (over, cut)
        ]
        self.gone |= {agent for agent in known if flags[0][agent] or flags[1][agent]}
        final = self.shown()
        self.agents = [agent for agent in self.agents if agent not in self.gone]
        paid = {str(agent): reward for agent, reward in rewards.items()}
        return final, paid, flags[0], flags[1], self.told(infos)

    def take(self, seen: dict[Any, Any]) -> None:
        named = {str(agent): value for agent, value in seen.items()}
        self.seen |= named
        self.acting = set(named)
        new = [agent for agent in named if agent not in self.agents and agent not in self.gone]
        self.agents = self.agents + new

    def shown(self) -> dict[str, Any]:
        return {agent: value for agent, value in self.seen.items() if agent in self.agents or agent in self.acting}

    def told(self, infos: dict[Any, Any]) -> dict[str, dict]:
        own = {str(agent): info for agent, info in infos.items()}
        return {
            agent: {**own.get(agent, {}), "active_agent": agent if agent in self.acting else NOBODY}
            for agent in self.possible_agents
        }


def agents_of(env: Any) -> list[Any]:
    """The agents that an environment may have, under one of the names that RLlib has had for them."""
    for name in ("possible_agents", "agents", "_agent_ids"):
        if found := getattr(env, name, None):
            return list(found)
    raise GameError(f"{type(env).__name__} does not say who its agents are: set possible_agents.")


def space_of(env: Any, kind: str, agent: Any) -> Any:
    """One agent's space: from a dictionary by agent, a method, or one that all share."""
    by_agent = getattr(env, f"{kind}_spaces", None)
    if isinstance(by_agent, dict) and agent in by_agent:
        return by_agent[agent]
    ask = getattr(env, f"get_{kind}_space", None)
    if callable(ask):
        return ask(agent)
    shared = getattr(env, f"{kind}_space", None)
    if shared is None:
        raise GameError(f"{type(env).__name__} has no {kind} space for agent {agent}: set {kind}_spaces.")
    inner = getattr(shared, "spaces", {})
    return inner[agent] if isinstance(inner, dict) and agent in inner else shared


class SmacAgents:
    """SMAC's and SMACv2's interface: lists over agents, available actions, one reward for the team."""

    def __init__(self, env: Any) -> None:
        from gymnasium import spaces

        self.env, self.unwrapped = env, self
        facts = env.get_env_info()
        self.possible_agents = [f"agent_{number}" for number in range(facts["n_agents"])]
        self.agents: list[str] = []
        self.max_cycles = int(facts.get("episode_limit") or 0)
        self.spaces = (
            spaces.Box(-np.inf, np.inf, (int(facts["obs_shape"]),), np.float32),
            spaces.Discrete(int(facts["n_actions"])),
        )

    def observation_space(self, agent: str) -> Any:
        del agent
        return self.spaces[0]

    def action_space(self, agent: str) -> Any:
        del agent
        return self.spaces[1]

    def reset(self, seed: int | None = None) -> tuple[dict, dict]:
        if seed is not None and hasattr(self.env, "seed") and callable(self.env.seed):
            self.env.seed(seed)
        self.env.reset()
        self.agents = list(self.possible_agents)
        return self.looked({})

    def step(self, actions: dict[str, Any]) -> tuple[dict, dict, dict, dict, dict]:
        available = self.env.get_avail_actions()
        chosen = [
            actions[agent] if own[actions[agent]] else int(np.argmax(own))
            for agent, own in zip(self.possible_agents, available, strict=True)
        ]
        reward, ended, info = self.env.step(chosen)
        limit = bool(ended and info.get("episode_limit", False))
        seen, infos = self.looked(info)
        self.agents = [] if ended else self.agents
        every = self.possible_agents
        over, cut = dict.fromkeys(every, bool(ended and not limit)), dict.fromkeys(every, limit)
        return seen, dict.fromkeys(every, float(reward)), over, cut, infos

    def looked(self, info: dict[str, Any]) -> tuple[dict, dict]:
        """What each sees; one that can do nothing but the first action, which is to do nothing, has fallen."""
        available, seen = self.env.get_avail_actions(), self.env.get_obs()
        infos = {}
        for agent, own in zip(self.possible_agents, available, strict=True):
            fallen = bool(own[0]) and sum(map(bool, own)) == 1
            infos[agent] = {**info, "action_mask": np.asarray(own), "active_agent": NOBODY if fallen else agent}
        return dict(zip(self.possible_agents, seen, strict=True)), infos
