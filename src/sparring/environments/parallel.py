"""A built-in game as a PettingZoo parallel environment; one of a single seat as a Gymnasium environment.

    env = parallel_env("connect_four", render_mode="rgb_array")
    observations, infos = env.reset(seed=0)

Where a game has choices, an observation is {"observation", "action_mask"}, as PettingZoo's own games have it; with
masks="info" it is the plain vector, and the mask is in the infos. There it always is where actions are choices and
numbers at once: Gymnasium has no mask for such a space that an observation could hold.
"""

from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv
from pettingzoo.utils.conversions import parallel_to_aec

from sparring.core.errors import ConfigError
from sparring.core.records import LARGEST
from sparring.core.scene import Scene
from sparring.environments.arrays import ArrayEnv, Turn
from sparring.evaluation.ending import Ending
from sparring.games.game import Game
from sparring.reports.gif import frame, prepare
from sparring.reports.replay import Replay

Masks = Literal["observation", "info"]


class SparringEnv(ParallelEnv):
    """One world of a game. A seat leaves `agents` when its credit ends; all do when the game does."""

    metadata: dict[str, Any]

    def __init__(
        self,
        game: Game | str,
        *,
        render_mode: str | None = None,
        max_cycles: int | None = None,
        masks: Masks = "observation",
        **options: Any,
    ) -> None:
        self.worlds = ArrayEnv(game, 1, max_cycles=max_cycles, **options)
        self.game, self.spec = self.worlds.game, self.worlds.spec
        self.masked = bool(self.spec.action.heads) and masks == "observation" and not self.spec.action.dimensions
        self.name = game if isinstance(game, str) else type(game).__name__
        drawn = type(self.game).scene is not Game.scene
        modes = ["human", "ansi", *(["rgb_array"] if drawn else [])]
        if render_mode is not None and render_mode not in modes:
            raise ConfigError(f"render_mode of {self.name} is one of {', '.join(modes)}, found {render_mode!r}.")
        self.metadata = {"name": self.name, "render_modes": modes, "render_fps": 10, "is_parallelizable": True}
        self.render_mode = render_mode
        self.possible_agents = list(self.spec.seat_names)
        self.agents: list[str] = []
        self.observation_spaces = {agent: self._seen_space() for agent in self.possible_agents}
        self.action_spaces = {agent: action_space_of(self.spec) for agent in self.possible_agents}
        self._scenes: list[Scene] = []
        self._story: list[str] = []

    @property
    def max_cycles(self) -> int | None:
        return self.worlds.max_cycles

    @max_cycles.setter
    def max_cycles(self, value: int | None) -> None:
        self.worlds.max_cycles = value

    def observation_space(self, agent: str) -> spaces.Space:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict | None = None) -> tuple[dict, dict]:
        del options
        seen = self.worlds.reset(seed)
        present_S = np.asarray(seen.present_S)[0]
        self.agents = [agent for agent, present in zip(self.possible_agents, present_S, strict=True) if present]
        self._scenes, self._story = [], [f"{self.name}: a new game"]
        self._show()
        return self._observations(seen, self.agents), self._infos(seen, self.agents)

    def step(self, actions: dict[str, Any]) -> tuple[dict, dict, dict, dict, dict]:
        played = self.agents
        turn = self.worlds.step(*self._arrays(actions))
        reward_S, over_S, cut_S = (np.asarray(x)[0] for x in (turn.reward_WS, turn.terminated_WS, turn.truncated_WS))
        seats = {agent: self.possible_agents.index(agent) for agent in played}
        rewards = {agent: float(reward_S[s]) for agent, s in seats.items()}
        terminations = {agent: bool(over_S[s]) for agent, s in seats.items()}
        truncations = {agent: bool(cut_S[s] and not over_S[s]) for agent, s in seats.items()}
        infos = self._infos(turn.final, played)
        self._add_ending(turn, infos)
        self.agents = [agent for agent in played if not terminations[agent] and not truncations[agent]]
        self._story = [
            f"{agent}: played {np.asarray(actions.get(agent)).tolist()}, earned {rewards[agent]:g}"
            + (" and left" if agent not in self.agents else "")
            for agent in played
        ]
        self._show(turn)
        return self._observations(turn.final, played), rewards, terminations, truncations, infos

    def state(self) -> np.ndarray:
        """What a central critic may see, as one vector."""
        return np.asarray(self.worlds.central)[0].reshape(-1)

    def render(self) -> Any:
        if self.render_mode == "ansi":
            return "\n".join(self._story)
        if self.render_mode == "rgb_array":
            seats = self.spec.seats_of_side
            names = tuple(", ".join(self.possible_agents[s] for s in own) for own in seats)
            ending = Ending(steps=len(self._scenes) - 1, finished=False)
            replay = Replay(
                game=self.name, sides=names, players=("",) * len(names), ending=ending, fps=10.0,
                scenes=tuple(self._scenes),
            )  # fmt: skip
            return np.asarray(frame(prepare(replay), len(self._scenes) - 1), np.uint8)
        return None

    def close(self) -> None:
        """Nothing is open."""

    def _show(self, turn: Turn | None = None) -> None:
        """Keep what a picture needs, or tell a person what happened. The last scene of a game that ended is the one
        before its end: the world has begun the next."""
        if self.render_mode == "rgb_array" and (turn is None or self.agents):
            self._scenes.append(self.game.scene(self.worlds.state_of()))
        if self.render_mode == "human":
            print("\n".join(self._story), flush=True)

    def _arrays(self, actions: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        """Actions of all seats; one that has left plays anything."""
        heads, dimensions = len(self.spec.action.heads), self.spec.action.dimensions
        discrete_SD = np.zeros((self.spec.seats, heads), np.int32)
        continuous_SC = np.zeros((self.spec.seats, dimensions), np.float32)
        for agent in self.agents:
            if agent not in actions:
                raise ConfigError(f"No action for {agent}, which is in the game: give one for each of {self.agents}.")
            action, s = actions[agent], self.possible_agents.index(agent)
            if heads and dimensions:
                discrete_SD[s], continuous_SC[s] = action["discrete"], action["continuous"]
            elif heads:
                discrete_SD[s] = action
            else:
                continuous_SC[s] = action
        return discrete_SD[None], continuous_SC[None]

    def _seen_space(self) -> spaces.Space:
        features = spaces.Box(-LARGEST, LARGEST, (self.spec.features,), np.float32)
        if not self.masked:
            return features
        return spaces.Dict({"observation": features, "action_mask": mask_space_of(self.spec.action.heads)})

    def _observations(self, seen: Any, agents: list[str]) -> dict[str, Any]:
        features_SF = np.asarray(seen.features_SF)[0]
        if not self.masked:
            return {agent: features_SF[self.possible_agents.index(agent)] for agent in agents}
        return {
            agent: {"observation": features_SF[self.possible_agents.index(agent)], "action_mask": mask}
            for agent, mask in self._masks(seen, agents).items()
        }

    def _infos(self, seen: Any, agents: list[str]) -> dict[str, dict[str, Any]]:
        acting_S = np.asarray(seen.acting_S)[0]
        infos = {agent: {"acting": bool(acting_S[self.possible_agents.index(agent)])} for agent in agents}
        if self.spec.action.heads and not self.masked:
            for agent, mask in self._masks(seen, agents).items():
                infos[agent]["action_mask"] = mask
        return infos

    def _masks(self, seen: Any, agents: list[str]) -> dict[str, Any]:
        legal_SA, heads = np.asarray(seen.legal_SA)[0].astype(np.int8), self.spec.action.heads
        parts_S = [tuple(np.split(legal_A, np.cumsum(heads)[:-1])) for legal_A in legal_SA]
        rows = {agent: parts_S[self.possible_agents.index(agent)] for agent in agents}
        return {agent: parts[0] if len(heads) == 1 else parts for agent, parts in rows.items()}

    def _add_ending(self, turn: Turn, infos: dict[str, dict[str, Any]]) -> None:
        """Choices that were not legal, and at the end of a game who won, why, and what was counted."""
        spec, step = self.spec, turn.step
        ended = bool(np.asarray(turn.terminated_WS | turn.truncated_WS).all())
        illegal_S = np.asarray(turn.illegal_WS)[0]
        for agent, info in infos.items():
            seat = self.possible_agents.index(agent)
            if illegal_S[seat]:
                info["illegal_action"] = True
            if ended and spec.score == "outcome":
                info["outcome"] = float(np.asarray(step.outcome_K)[0, spec.side_of_seat[seat]])
            if ended and spec.causes:
                info["cause"] = spec.causes[int(np.asarray(step.cause_K)[0, spec.side_of_seat[seat]])]
            if ended and spec.counts:
                info |= dict(zip(spec.counts, np.asarray(step.count_SJ)[0, seat].tolist(), strict=True))


class OneSeatEnv(gymnasium.Env):
    """A game of a single seat, for libraries that know Gymnasium alone."""

    def __init__(self, game: Game | str, **options: Any) -> None:
        self.inner = SparringEnv(game, **options)
        if self.inner.spec.seats != 1:
            raise ConfigError(
                f"{self.inner.name} has {self.inner.spec.seats} seats, and Gymnasium knows one. Use parallel_env."
            )
        (self.agent,) = self.inner.possible_agents
        self.observation_space = self.inner.observation_space(self.agent)
        self.action_space = self.inner.action_space(self.agent)
        self.metadata, self.render_mode = self.inner.metadata, self.inner.render_mode

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[Any, dict]:
        super().reset(seed=seed)
        observations, infos = self.inner.reset(seed, options)
        return observations[self.agent], infos[self.agent]

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        parts = self.inner.step({self.agent: action})
        return tuple(part[self.agent] for part in parts)  # pyright: ignore[reportReturnType]

    def render(self) -> Any:
        return self.inner.render()


def parallel_env(game: Game | str, **options: Any) -> SparringEnv:
    """The game as a PettingZoo parallel environment; its own options go beside render_mode, max_cycles and masks."""
    return SparringEnv(game, **options)


def env(game: Game | str, **options: Any) -> Any:
    """The same where agents step one after another, by PettingZoo's own conversion."""
    return parallel_to_aec(SparringEnv(game, **options))


def gymnasium_env(game: Game | str, **options: Any) -> OneSeatEnv:
    return OneSeatEnv(game, **options)


def action_space_of(spec: Any) -> spaces.Space:
    action = spec.action
    discrete = spaces.Discrete(action.heads[0]) if len(action.heads) == 1 else spaces.MultiDiscrete(action.heads)
    if not action.dimensions:
        return discrete
    continuous = spaces.Box(np.asarray(action.low, np.float32), np.asarray(action.high, np.float32))
    if not action.heads:
        return continuous
    return spaces.Dict({"discrete": spaces.MultiDiscrete(action.heads), "continuous": continuous})


def mask_space_of(heads: tuple[int, ...]) -> spaces.Space:
    """One mask, or one for each head, as the `sample` of such an action space wants it."""
    parts = [spaces.Box(0, 1, (size,), np.int8) for size in heads]
    return parts[0] if len(parts) == 1 else spaces.Tuple(parts)
