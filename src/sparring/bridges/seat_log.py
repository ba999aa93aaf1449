"""What a training loop of somebody else tells a seat audit: settings, counts, returns. Needs neither JAX nor PyTorch.

    log = SeatLog(["player_1", "player_2", "player_3", "player_4"], seed=args.seed)
    for name, policy in policies.items():
        log.settings(name, vars(policy.cfg))
        log.watch(name, policy, "_push_episode_to_buffers", "_maybe_train_wm", "_maybe_train_policy")
        log.watch_optimiser(name, policy.optimizer)
    log.check_logger(book)                     # your own function from rewards to what is logged
    ...                                        # in the loop:
        log.count(name, "world model rows", len(batch))
        log.share(name, "zero subgoals", zero_rows, rows)
    log.episode(returns)                       # after each episode, by seat; with ids shuffled: returns, learners
    log.save("seats-seed0.json")

Then: sparring audit seats --log seats-seed0.json seats-seed1.json seats-seed2.json
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

from sparring.core.errors import ConfigError, RunError, unknown
from sparring.store.durable import replace_file

VERSION = 1
Book = Callable[[Sequence[Mapping[str, float]]], Mapping[str, float]]
"""book(rewards of all agents, step by step) -> what is logged as each agent's return of the episode."""


class SeatLog:
    """Keeps counts only, never data: it costs nothing to leave it in."""

    def __init__(
        self, agents: Sequence[str], *, seed: int = 0, rung: str = "as configured", fixed: bool = False
    ) -> None:
        """`rung`: what is left out of this training, where a ladder of them is compared. `fixed`: the policies do not
        learn in these episodes and are all the same, as in a test by random play."""
        if len(set(agents)) < 2:
            raise ConfigError(f"A seat audit compares two agents or more, found {list(agents)}.")
        self.agents = tuple(agents)
        self.seed, self.rung, self.fixed = seed, rung, fixed
        self._settings: dict[str, dict[str, Any]] = {}
        self._counts: dict[str, dict[str, int]] = {name: {} for name in agents}
        self._shares: dict[str, dict[str, list[int]]] = {name: {} for name in agents}
        self._returns: list[list[float]] = []
        self._learners: list[list[int]] = []
        self._logger: list[str] | None = None

    def settings(self, agent: str, values: Mapping[str, Any]) -> None:
        """The settings of an agent as they are in force, after all defaults; tables within tables are welcome."""
        self._settings[self._known(agent)] = dict(_flat(values))

    def count(self, agent: str, what: str, amount: int = 1) -> None:
        """So much more of something that every agent should get alike: rows, pushes, updates, early returns."""
        own = self._counts[self._known(agent)]
        own[what] = own.get(what, 0) + int(amount)

    def share(self, agent: str, what: str, hits: int, of: int) -> None:
        """How many of how many were special, such as subgoals that are zero."""
        own = self._shares[self._known(agent)].setdefault(what, [0, 0])
        own[0], own[1] = own[0] + int(hits), own[1] + int(of)

    def watch(self, agent: str, thing: Any, *methods: str) -> None:
        """Count the calls of an agent's own methods, and those that gave nothing back."""
        for name in methods:
            method = getattr(thing, name, None)
            if not callable(method):
                raise ConfigError(unknown(f"method of {type(thing).__name__}", name, _methods(thing)))
            setattr(thing, name, self._counted(agent, name, method))

    def watch_optimiser(self, agent: str, optimiser: Any, what: str = "") -> None:
        """Count the steps of an optimiser: PyTorch's, or any with a method `step`."""
        name = f"optimiser steps{what and f' of {what}'}"
        if hasattr(optimiser, "register_step_post_hook"):
            optimiser.register_step_post_hook(lambda *_: self.count(agent, name))
        else:
            step = optimiser.step
            optimiser.step = lambda *given, **named: (step(*given, **named), self.count(agent, name))[0]

    def episode(self, returns: Mapping[str, float], learners: Mapping[str, str] | None = None) -> None:
        """What each seat earned in an episode; `learners`: who sat there, where ids are shuffled."""
        for name in (*returns, *(learners or {}), *(learners or {}).values()):
            self._known(name)
        if len(returns) < len(self.agents):
            gone = [name for name in self.agents if name not in returns]
            raise ConfigError(f"An episode tells what every seat earned; {', '.join(gone)} is missing: say 0.0.")
        self._returns.append([float(returns[name]) for name in self.agents])
        sat = learners or {name: name for name in self.agents}
        self._learners.append([self.agents.index(sat[name]) for name in self.agents])

    def check_logger(self, book: Book) -> list[str]:
        """Give your own book-keeping rewards that are known: rising with the number, falling, equal, and large losses,
        which a bound would cut. What it gets wrong is kept and given back."""
        count, self._logger = len(self.agents), []
        rising = list(range(1, count + 1))
        for paid in (rising, rising[::-1], [1] * count, [-100.5 * pay for pay in rising]):
            rows = [{name: float(pay) for name, pay in zip(self.agents, paid, strict=True)} for _ in range(5)]
            found = book(rows)
            for name, pay in zip(self.agents, paid, strict=True):
                if abs(float(found.get(name, 0.0)) - 5.0 * pay) > 1e-6 * abs(pay):
                    told = found.get(name, "nothing")
                    self._logger.append(f"{name} was paid {5.0 * pay:g} in an episode, and {told} is logged.")
        return list(self._logger)

    def plain(self) -> dict[str, Any]:
        return {
            "version": VERSION, "agents": list(self.agents), "seed": self.seed, "rung": self.rung, "fixed": self.fixed,
            "settings": self._settings, "counts": self._counts, "shares": self._shares, "returns": self._returns,
            "learners": self._learners, "logger": self._logger,
        }  # fmt: skip

    def save(self, path: str | Path) -> None:
        """Write everything so far; call it as often as you like."""
        path = Path(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, json.dumps(self.plain(), default=repr).encode())
        except OSError as error:
            raise RunError(f"Cannot write {path}: {error.strerror}. Choose another place.") from error

    def _known(self, agent: str) -> str:
        if agent not in self.agents:
            raise ConfigError(unknown("agent", str(agent), self.agents))
        return agent

    def _counted(self, agent: str, name: str, method: Callable) -> Callable:
        self.count(agent, f"{name} calls", 0)

        @wraps(method)
        def counted(*given: Any, **named: Any) -> Any:
            self.count(agent, f"{name} calls")
            found = method(*given, **named)
            self.count(agent, f"{name} gave nothing", int(found is None))
            return found

        return counted


def _flat(values: Mapping[str, Any], before: str = "") -> list[tuple[str, Any]]:
    """Tables within tables as names with dots; only what JSON can hold."""
    found = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            found += _flat(value, f"{before}{name}.")
        else:
            plain = value is None or isinstance(value, bool | int | float | str)
            found.append((f"{before}{name}", value if plain else repr(value)))
    return found


def _methods(thing: Any) -> list[str]:
    return [name for name in dir(thing) if not name.startswith("__") and callable(getattr(thing, name, None))]
