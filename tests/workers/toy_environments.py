"""Small environments of somebody else, as PettingZoo has them, for workers to load. No JAX is here, nor PettingZoo."""

import os
import time

import numpy as np
from gymnasium import spaces


class Crew:
    """Three agents of different spaces over six steps. The counter pays `seen` + choice, so all of it can be foretold.

    `late` comes in step 2; `early` leaves in step 3 for good; the others are cut after step 6.
    """

    possible_agents = ("early_0", "late_0", "steady_0")

    def __init__(self, limit: int = 6) -> None:
        self.limit, self.agents, self.now, self.begun = limit, [], 0, 0

    def observation_space(self, agent: str) -> spaces.Space:
        return {
            "early_0": spaces.Box(-np.inf, np.inf, (2,), np.float32),
            "late_0": spaces.Discrete(4),
            "steady_0": spaces.Dict(
                {"observation": spaces.Box(0, 255, (1,), np.uint8), "action_mask": spaces.Box(0, 1, (3,), np.int8)}
            ),
        }[agent]

    def action_space(self, agent: str) -> spaces.Space:
        return {"early_0": spaces.Discrete(2, start=5), "late_0": spaces.MultiDiscrete([2, 4]),
                "steady_0": spaces.Discrete(3)}[agent]  # fmt: skip

    def seen(self) -> dict:
        every = {
            "early_0": np.asarray([self.now, self.begun % 100], np.float32),
            "late_0": self.now % 4,
            "steady_0": {"observation": np.asarray([51 * self.now % 256], np.uint8), "action_mask": [1, 0, 1]},
        }
        return {agent: every[agent] for agent in self.agents}

    def reset(self, seed: int | None = None, options: dict | None = None) -> tuple[dict, dict]:
        del options
        self.now, self.begun, self.agents = 0, seed or 0, ["early_0", "steady_0"]
        return self.seen(), {agent: {} for agent in self.agents}

    def step(self, actions: dict) -> tuple[dict, dict, dict, dict, dict]:
        assert set(actions) == set(self.agents)
        self.now += 1
        playing = list(self.agents)
        pays = {agent: float(np.sum(actions[agent])) for agent in playing}
        over = {agent: agent == "early_0" and self.now == 3 for agent in playing}
        cut = dict.fromkeys(playing, self.now == self.limit)
        if self.now == 2:
            self.agents = [*self.agents, "late_0"]
        self.agents = [agent for agent in self.agents if not over.get(agent) and not cut.get(agent)]
        infos = {agent: {"energy": 10.0 - self.now, "word": "calm"} for agent in playing}
        return self.seen(), pays, over, cut, infos


class Duel:
    """Two players, one move: who chooses the larger number wins. `first` is the one whose choice counts double."""

    possible_agents = ("player_0", "player_1")

    def __init__(self, fault: str = "", at: int = 3, flag: str = "") -> None:
        self.agents, self.fault, self.at, self.flag = [], fault, at, flag
        self.steps = 0

    def observation_space(self, agent: str) -> spaces.Space:
        del agent
        return spaces.Box(-1, 1, (2,), np.float32)

    def action_space(self, agent: str) -> spaces.Space:
        del agent
        return spaces.Discrete(3)

    def reset(self, seed: int | None = None, options: dict | None = None) -> tuple[dict, dict]:
        del options
        self.agents, self.now = list(self.possible_agents), 0
        self.random = np.random.default_rng(seed)
        return self.seen(), {agent: {} for agent in self.agents}

    def seen(self) -> dict:
        return {agent: np.asarray([self.now / 4, self.random.uniform()], np.float32) for agent in self.possible_agents}

    def step(self, actions: dict) -> tuple[dict, dict, dict, dict, dict]:
        self.now, self.steps = self.now + 1, self.steps + 1
        if self.fault and self.now == self.at and not (self.flag and os.path.exists(self.flag)):  # noqa: PTH110
            if self.flag:
                open(self.flag, "w").close()  # noqa: PTH123
            self.go_wrong()
        seen = self.seen()
        if self.now == self.at and self.fault == "nan":
            seen["player_1"] = np.full(2, np.nan, np.float32)
        if self.now == self.at and self.fault == "shape":
            seen["player_1"] = np.zeros(3, np.float32)
        if self.now == self.at and self.fault == "stranger":
            seen["referee"] = np.zeros(2, np.float32)
        lead = np.sign(actions["player_0"] - actions["player_1"])
        ended = self.now == 4
        pay = float(lead) if ended else 0.0
        self.agents = [] if ended else self.agents
        flags = dict.fromkeys(self.possible_agents, ended)
        return seen, {"player_0": pay, "player_1": -pay}, flags, dict.fromkeys(flags, False), {}

    def go_wrong(self) -> None:
        if self.fault == "raise":
            raise ValueError("the ball left the field")
        if self.fault == "hang":
            time.sleep(60)
        if self.fault == "exit":
            os._exit(9)


class Clocked(Duel):
    """Infos say how many steps were played: 1, nothing that is a number, 3, 4 for player_0; twice that for player_1."""

    def step(self, actions: dict) -> tuple[dict, dict, dict, dict, dict]:
        said = [np.asarray([1.0]), float("nan"), np.int64(3), 4][self.now]
        infos = {agent: {"clock": said * (place + 1)} for place, agent in enumerate(self.possible_agents)}
        return *super().step(actions)[:4], infos


class Handover:
    """RLlib's shape: "left" and "right" take turns to add their choice to a sum; who makes it 3 or more is paid. Agent
    "judge" speaks once at the end. Spaces by agent, as a dictionary; "__all__" ends the game."""

    def __init__(self, config: dict) -> None:
        self.possible_agents = ["left", "right", "judge"]
        self.goal = config.get("goal", 3)
        self.observation_spaces = dict.fromkeys(self.possible_agents, spaces.Box(0, 10, (1,), np.float32))
        self.action_spaces = dict.fromkeys(self.possible_agents, spaces.Discrete(3))

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[dict, dict]:
        del seed, options
        self.sum, self.turn = 0, "left"
        return {"left": np.zeros(1, np.float32)}, {}

    def step(self, actions: dict) -> tuple[dict, dict, dict, dict, dict]:
        assert list(actions) == [self.turn], "only who was shown something acts"
        if self.turn == "judge":
            return {}, {"judge": 1.0}, {"__all__": True}, {"__all__": False}, {}
        self.sum += actions[self.turn]
        won = self.sum >= self.goal
        pays = {self.turn: 1.0} if won else {}
        self.turn = "judge" if won else {"left": "right", "right": "left"}[self.turn]
        seen = {self.turn: np.asarray([self.sum], np.float32)}
        return seen, pays, {"__all__": False}, {"__all__": False}, {}


class FakeSmac:
    """SMAC's interface: two marines, three actions (nothing, stop, shoot). The enemy falls after `health` shots; the
    second marine falls in step 2. The team is paid 1 for a shot."""

    def __init__(self, map_name: str = "2m", health: int = 4, limit: int = 6) -> None:
        self.map_name, self.full, self.limit = map_name, health, limit

    def get_env_info(self) -> dict:
        return {"n_actions": 3, "n_agents": 2, "obs_shape": 2, "state_shape": 4, "episode_limit": self.limit}

    def reset(self) -> tuple[list, list]:
        self.now, self.health = 0, self.full
        return self.get_obs(), [0.0] * 4

    def get_obs(self) -> list:
        return [np.asarray([self.now, self.health], np.float32) * self.alive(i) for i in range(2)]

    def alive(self, marine: int) -> bool:
        return marine == 0 or self.now < 2

    def get_avail_actions(self) -> list:
        return [[0, 1, 1] if self.alive(marine) else [1, 0, 0] for marine in range(2)]

    def step(self, actions: list) -> tuple[float, bool, dict]:
        for marine, action in enumerate(actions):
            assert self.get_avail_actions()[marine][action], "SMAC refuses what is not available"
        shots = sum(action == 2 for action in actions)
        self.now, self.health = self.now + 1, self.health - shots
        won = self.health <= 0
        info = {"battle_won": won, "dead_allies": int(self.now >= 2)}
        if self.now >= self.limit and not won:
            info["episode_limit"] = True
        return float(shots), won or self.now >= self.limit, info


class NoAgents:
    possible_agents = ()

    def observation_space(self, agent: str) -> None: ...
    def action_space(self, agent: str) -> None: ...
    def reset(self) -> None: ...
    def step(self, actions: dict) -> None: ...
