"""One environment as a world of a game: its dictionaries become a row of the shared memory. No JAX.

A message to people names the agent, the step and what to correct; `fault` raises it.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sparring.core.errors import GameError
from sparring.core.records import LARGEST
from sparring.workers.source import Found
from sparring.workers.spaces import Reader, Writer, mask_of, reader, writer


class Parts:
    """Readers and writers of all agents: the same for every world of a worker."""

    def __init__(self, env: Any) -> None:
        self.agents = [str(agent) for agent in env.possible_agents]
        self.names = dict(zip(env.possible_agents, range(len(self.agents)), strict=True))
        self.readers: list[Reader] = [reader(env.observation_space(agent)) for agent in env.possible_agents]
        self.writers: list[Writer] = [writer(env.action_space(agent)) for agent in env.possible_agents]


class World:
    """One environment while it is played. Seats are places in the row; `agent_S` says which agent sits where now."""

    def __init__(self, env: Any, parts: Parts, found: Found) -> None:
        self.env, self.parts, self.found = env, parts, found
        self.agents = list(env.possible_agents)
        self.agent_S = list(range(found.seats))
        self.steps = 0
        self.return_S = np.zeros(found.seats)
        self.heads = np.cumsum([0, *found.heads])[: len(found.heads)]

    def reset(self, row: Mapping[str, np.ndarray], *, shuffled: bool) -> None:
        """Begin a game by the seed in the row; where sides are alike it also says who sits where."""
        seed = int(row["seed"][()])
        self.agent_S = seated(self.found, seed) if shuffled else list(range(self.found.seats))
        self.steps, self.return_S = 0, np.zeros(self.found.seats)
        seen, infos = self.call("reset", lambda: self.env.reset(seed=seed % 2**31))
        row["reward"][...], row["left"][...], row["count"][...] = 0.0, False, 0.0
        row["over"][...] = row["cut"][...] = False
        self.show(row, seen, infos)
        if not row["present"].any():
            self.fault("no agents are in the game after reset", "Fill env.agents in reset().")

    def step(self, row: Mapping[str, np.ndarray]) -> None:
        """Play what the row says, and put there what came of it."""
        playing = set(self.env.agents)
        actions = {
            agent: self.parts.writers[index].write(*self.chosen(row, seat, index))
            for seat, index in enumerate(self.agent_S)
            if (agent := self.agents[index]) in playing
        }
        self.steps += 1
        seen, rewards, terminated, truncated, infos = self.call("step", lambda: self.env.step(actions))
        for told in (seen, rewards, terminated, truncated):
            self.check_known(told)
        cut = False
        for seat, index in enumerate(self.agent_S):
            agent = self.agents[index]
            reward = float(rewards.get(agent, 0.0))
            if not abs(reward) <= LARGEST:
                self.fault(f"agent {agent} was paid {reward}", "Rewards must be finite.", agent)
            row["reward"][seat] = reward
            row["left"][seat] = bool(terminated.get(agent, False))
            cut = cut or (agent in playing and bool(truncated.get(agent, False)))
        self.return_S += row["reward"]
        self.show(row, seen, infos)
        ended = not self.env.agents
        late = not ended and self.steps >= self.found.longest
        row["cut"][...] = late or (ended and cut)
        row["over"][...] = ended and not cut
        if not ended:  # cut short alone, it has no more to earn in this game
            gone = [agent in playing and bool(truncated.get(agent, False)) for agent in self.seated_agents]
            row["left"][...] |= np.asarray(gone)
        if ended or late:
            row["outcome"][...] = self.outcome()

    @property
    def seated_agents(self) -> list[Any]:
        return [self.agents[index] for index in self.agent_S]

    def chosen(self, row: Mapping[str, np.ndarray], seat: int, index: int) -> tuple[np.ndarray, np.ndarray]:
        own = self.parts.writers[index]
        return row["discrete"][seat, : len(own.heads)], row["continuous"][seat, : own.dimensions]

    def show(self, row: Mapping[str, np.ndarray], seen: Mapping[Any, Any], infos: Mapping[Any, Any]) -> None:
        """What every seat sees, and what it may choose; a seat that waits or has left may choose entry 0 alone."""
        self.check_known(seen)
        present = set(self.env.agents)
        features, legal = row["features"], row["legal"]
        legal[...] = False
        legal[:, self.heads] = True
        for seat, index in enumerate(self.agent_S):
            agent = self.agents[index]
            info = infos.get(agent, {})
            self.count(row["count"][seat], info)
            row["present"][seat] = agent in present
            row["acting"][seat] = agent in present and acts(agent, info)
            features[seat] = 0.0
            if agent in seen:
                self.read(features[seat], index, agent, seen[agent])
            elif agent in present:
                self.fault(f"agent {agent} is in env.agents and sees nothing", "Return its observation.", agent)
            if row["acting"][seat]:
                self.allow(legal[seat], index, agent, mask_of(seen.get(agent), info))
            self.mark(features[seat], index)

    def read(self, row_F: np.ndarray, index: int, agent: Any, seen: Any) -> None:
        own = self.parts.readers[index]
        try:
            row_F[: own.size] = own.read(seen)
        except ValueError as error:
            self.fault(f"agent {agent} sees something {error}", f"Correct observation_space({agent!r}).", agent)
        if not np.abs(row_F).max(initial=0.0) <= LARGEST:
            self.fault(f"agent {agent} sees a NaN, an infinity or a number beyond {LARGEST:g}", "Look there.", agent)

    def mark(self, row_F: np.ndarray, index: int) -> None:
        """Which agent sees it, where there are several."""
        if self.found.marked > self.found.features:
            row_F[self.found.features + index] = 1.0

    def allow(self, row_A: np.ndarray, index: int, agent: Any, mask: np.ndarray | None) -> None:
        heads = self.parts.writers[index].heads
        if mask is not None and (len(mask) != sum(heads) or not mask.any()):
            what = f"has {len(mask)} entries for {sum(heads)} choices" if mask.any() else "allows nothing"
            self.fault(f"the action_mask of agent {agent} {what}", "Allow at least one choice of each head.", agent)
        at = 0
        for head, size in enumerate(heads):
            begin = self.heads[head]
            row_A[begin : begin + size] = True if mask is None else mask[at : at + size]
            at += size

    def count(self, row_J: np.ndarray, info: Mapping[str, Any]) -> None:
        """The numbers of an info; where it has none, the last one of this game stays."""
        for j, name in enumerate(self.found.infos):
            value = number(info.get(name))
            if value is not None:
                row_J[j] = value

    def outcome(self) -> np.ndarray:
        """Who won: the side whose seats earned more than those of the others, on the whole."""
        side_S = np.asarray(self.found.side_of_agent)
        return_K = np.asarray([self.return_S[side_S == side].mean() for side in range(self.found.sides)])
        others_K = (return_K.sum() - return_K) / max(1, self.found.sides - 1)
        return np.sign(np.round(return_K - others_K, 6)) if self.found.sides > 1 else np.zeros(1)

    def check_known(self, told: Mapping[Any, Any]) -> None:
        for agent in told:
            if agent not in self.parts.names:
                self.fault(f"agent {agent} is not one of possible_agents", f"Those are {self.parts.agents}.", agent)

    def call(self, what: str, call: Any) -> Any:
        try:
            return call()
        except Exception as error:
            where = f" (after {last_line(error)})" if last_line(error) else ""
            self.fault(f"{what}() raised {type(error).__name__}: {error}{where}", "Correct the environment.")

    def fault(self, what: str, fix: str, agent: Any = None) -> None:
        del agent
        raise GameError(f"In step {self.steps} of a game {what}. {fix}")


def acts(agent: Any, info: Mapping[str, Any]) -> bool:
    """Whether an agent decides now. Where agents take turns, PettingZoo's conversion says in the infos who does."""
    return info.get("active_agent", agent) == agent


def number(value: Any) -> float | None:
    """What an info says where that is one finite number: also a truth value, or an array of one entry."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(-1)[0]
    if not isinstance(value, bool | int | float | np.number | np.bool_) or isinstance(value, np.complexfloating):
        return None
    return float(value) if abs(value) <= LARGEST else None


def last_line(error: BaseException) -> str:
    """File and line in which an exception arose."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"


def seated(found: Found, seed: int) -> list[int]:
    """Who sits where: sides in an order drawn by the seed, each with its agents in order."""
    agents_K = [[i for i, own in enumerate(found.side_of_agent) if own == side] for side in range(found.sides)]
    order = np.random.default_rng(seed).permutation(found.sides)
    agent_S = [0] * found.seats
    for side, other in enumerate(order):
        for seat, agent in zip(agents_K[side], agents_K[other], strict=True):
            agent_S[seat] = agent
    return agent_S
