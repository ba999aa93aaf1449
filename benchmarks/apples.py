"""A PettingZoo game as a stranger writes it, and the same with a fault: what the audit sees of games of other people.

sparring audit seats pettingzoo:benchmarks/apples.py:env --options wrong=first
"""

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete

CELLS, APPLES, STEPS = 7, 2, 20
AGENTS = ("picker_0", "picker_1", "picker_2")
WRONG = ("first", "bonus", "skipped", "corner")


class Apples:
    """Three walk on a ring and pick apples; who come to one together share it."""

    def __init__(self, wrong: str = "") -> None:
        self.wrong, self.possible_agents, self.agents = wrong, list(AGENTS), list(AGENTS)
        self.metadata: dict[str, Any] = {"name": "apples"}

    def observation_space(self, agent: str) -> Box:
        del agent
        return Box(0.0, 1.0, (4 + APPLES,), np.float32)

    def action_space(self, agent: str) -> Discrete:
        del agent
        return Discrete(3)

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[dict, dict]:
        del options
        if seed is not None:
            self.random = np.random.default_rng(seed)
        cells = self.random.permutation(CELLS)
        if self.wrong == "corner":  # the first begins beside an apple
            cells[3] = (cells[0] + 1) % CELLS
        self.agents, self.step_count = list(AGENTS), 0
        self.place = {agent: int(cell) for agent, cell in zip(AGENTS, cells, strict=False)}
        self.apples = [int(cell) for cell in cells[3 : 3 + APPLES]]
        return self.seen(), {agent: {} for agent in AGENTS}

    def seen(self) -> dict[str, np.ndarray]:
        where = np.asarray([self.place[agent] for agent in AGENTS] + self.apples) / CELLS
        return {
            agent: np.concatenate([[self.step_count / STEPS], np.roll(where[:3], -i), where[3:]]).astype(np.float32)
            for i, agent in enumerate(AGENTS)
        }

    def step(self, actions: dict[str, int]) -> tuple[dict, dict, dict, dict, dict]:
        for agent, action in actions.items():
            self.place[agent] = (self.place[agent] + (0, 1, -1)[int(action)]) % CELLS
        reward = dict.fromkeys(AGENTS, 0.0)
        for number, apple in enumerate(self.apples):
            there = [agent for agent in AGENTS if self.place[agent] == apple]
            if self.wrong == "skipped":  # a list that is changed while it is gone through
                for agent in there:
                    if len(there) > 1:
                        there.remove(agent)
            for agent in there[:1] if self.wrong == "first" else there:
                reward[agent] += 1.0 if self.wrong == "first" else 1.0 / len(there)
            if there:
                self.apples[number] = int(self.random.integers(CELLS))
        self.step_count += 1
        over = self.step_count >= STEPS
        if over and self.wrong == "bonus":
            reward[AGENTS[-1]] += 0.5
        self.agents = [] if over else list(AGENTS)
        ends, cut = dict.fromkeys(AGENTS, over), dict.fromkeys(AGENTS, False)
        return self.seen(), reward, ends, cut, {agent: {} for agent in AGENTS}

    def close(self) -> None:
        """Nothing is open."""


def env(wrong: str = "") -> Apples:
    return Apples(wrong)
