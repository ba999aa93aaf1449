"""A trained run in Python: its policies, which act on what a game shows, its settings and its metrics."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.errors import ConfigError, unknown
from sparring.core.records import Action, Observation
from sparring.evaluation.stored import verdict_of
from sparring.evaluation.verdict import Verdict
from sparring.games import registry
from sparring.games.game import Game
from sparring.nets.hyper.context import told
from sparring.play.decide import within_bounds
from sparring.play.scripted import RANDOM, bot_names
from sparring.players.agent import Agents
from sparring.players.checkpointed import checkpoint_of, policies_of, seed_row
from sparring.players.named import entrant
from sparring.setup.config import RunConfig
from sparring.setup.line_up import line_up
from sparring.setup.needs import stored_config
from sparring.store.lines import series
from sparring.store.run_dir import RunDir

KINDS = ("train", "eval", "event", "notice")
"""Of lines of metrics."""


class Policy(eqx.Module):
    """Who drives every seat of a game. It is a pytree: `act` goes into jit, vmap and scan as it is."""

    drivers: tuple[Any, ...]
    game: Game
    names: tuple[str, ...] = eqx.field(static=True)
    """Who drives each part of the seats."""
    seats: tuple[tuple[int, ...], ...] = eqx.field(static=True)

    @eqx.filter_jit
    def act(self, observation: Observation, key: Array | None = None) -> Action:
        """Actions of all seats, for one world or, with any axes in front, for many; with a key drawn by chance,
        without one the most likely. What the game receives: continuous choices are within their bounds."""
        memory = self.initial(*observation.features_SF.shape[:-2])
        if jax.tree.leaves(memory):
            raise ConfigError(
                f"{', '.join(dict.fromkeys(self.names))} remembers what it saw. Begin a game with "
                "memory = policy.initial(), and go on with action, memory = policy.step(observation, key, memory)."
            )
        return self.step(observation, key, memory)[0]

    def initial(self, *batch: int) -> tuple[Any, ...]:
        """A blank memory, for worlds with these axes in front; of policies without one nothing."""
        parts = zip(self.drivers, self.seats, strict=True)
        return tuple(driver.initial(*batch, len(seats)) for driver, seats in parts)

    @eqx.filter_jit
    def step(
        self, observation: Observation, key: Array | None, memory: tuple[Any, ...]
    ) -> tuple[Action, tuple[Any, ...]]:
        """The same with a memory, which is given back for the next step."""
        spec, batch = self.game.spec.action, observation.features_SF.shape[:-1]
        found = Action(jnp.zeros((*batch, len(spec.heads)), jnp.int32), jnp.zeros((*batch, spec.dimensions)))
        kept = []
        for number, (driver, seats, old) in enumerate(zip(self.drivers, self.seats, memory, strict=True)):
            at = jnp.asarray(seats)
            said, new = driver(observation.features_SF[..., at, :], observation.legal_SA[..., at, :], old)
            own = said.mode()
            if key is not None:
                uniform, normal = jax.random.split(jax.random.fold_in(key, number))
                own = said.sample(
                    jax.random.uniform(uniform, own.discrete_SD.shape),
                    jax.random.normal(normal, own.continuous_SC.shape),
                )
            found = Action(*(whole.at[..., at, :].set(part) for whole, part in zip(found, own, strict=True)))
            kept.append(told(new, spec, own, None))
        return within_bounds(found, spec), tuple(kept)


def policy(game: Game, *names: str) -> Policy:
    """Players by name as on the command line: "random" and other bots of the game, "runs/first", "runs/first:prey@100",
    packages. One name drives all sides, several drive one side each."""
    if len(names) not in (1, game.spec.sides):
        raise ConfigError(f"Name one player, or one for each of the {game.spec.sides} sides, found {len(names)}.")
    every = names * game.spec.sides if len(names) == 1 else names
    known = {name: entrant(name, game).policy for name in dict.fromkeys(every)}
    return Policy(tuple(known[name] for name in every), game, every, game.spec.seats_of_side)


@dataclass(frozen=True)
class Run:
    """A run that was trained, as its directory has it."""

    path: Path
    game: Game
    config: RunConfig
    players: tuple[str, ...]
    """Its learners, their shadows and its past selves: names for `policy`, and for the command line as RUN:NAME."""
    seed: int | None = None

    def __getattr__(self, name: str) -> Any:
        if name in ("predict", "compute_action", "compute_single_action", "forward"):
            raise AttributeError(f"A run has no {name!r}: here it is act(observation, key), for all seats at once.")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r}: {self.config.game}, players {', '.join(self.players)})"

    def act(self, observation: Observation, key: Array | None = None) -> Action:
        """Actions of all seats by the newest learners: `policy().act`."""
        return self.newest.act(observation, key)

    def policy(self, *names: str) -> Policy:
        """Who plays: without names the newest learners; else players of this run or bots, one for all sides or one for
        each, such as policy("learner.shadow") or policy("predator", "flee")."""
        if not names:
            return self.newest
        for name in names:
            if name not in (*self.players, *bot_names(self.game)):
                raise ConfigError(unknown("player", name, (*self.players, *bot_names(self.game))))
        return policy(self.game, *map(self.text, names))

    def agents(self, env: Any, *names: str) -> Agents:
        """For a loop of one's own over the environment that the run was trained on: choose = run.agents(env), then
        choose(agent, observation, info) in every step; `names` as those of `policy`."""
        return Agents(self.policy(*names), env)

    def text(self, name: str) -> str:
        """A player of this run as the command line names it."""
        if name in bot_names(self.game):
            return name
        return f"{self.path}{name and f':{name}'}{'' if self.seed is None else f'#{self.seed}'}"

    @cached_property
    def newest(self) -> Policy:
        lineup = line_up(self.game.spec, self.config)
        sides, owner = lineup.seating.seats_of_side, lineup.player_of_side()
        other = self.config.seats.opponent or RANDOM
        leads = bool(self.config.population.population)  # without a name that member is meant
        names = tuple("" if leads else owner.get(side, other) for side in range(len(sides)))
        known = {name: entrant(self.text(name), self.game).policy for name in dict.fromkeys(names)}
        shown = tuple(name or "leader" for name in names)
        return Policy(tuple(known[name] for name in names), self.game, shown, sides)

    def metrics(self, kind: str = "train") -> list[dict[str, Any]]:
        """Lines of metrics.jsonl of a kind: train, eval, event or notice."""
        if kind not in KINDS:
            raise ConfigError(unknown("kind of metrics", kind, KINDS))
        return [line for line in RunDir.open(self.path).metrics() if line["kind"] == kind]

    def metric_names(self, kind: str = "train") -> list[str]:
        return sorted({name for line in self.metrics(kind) for name in line} - {"kind", "iteration", "seed", "steps"})

    def curve(self, name: str, kind: str = "train") -> tuple[np.ndarray, np.ndarray]:
        """Steps and values of a metric, the mean over seeds: what `matplotlib` wants."""
        steps, values = series(lines := self.metrics(kind), name)
        if not steps:
            known = {key for line in lines for key in line}
            raise ConfigError(unknown("metric", name, known) if name not in known else f"{name} has no values yet.")
        return np.asarray(steps), np.asarray(values)

    @property
    def verdict(self) -> Verdict:
        """What was learned, in words; `print(run.verdict.text())`."""
        return verdict_of(RunDir.open(self.path))


def load(path: str | Path, *, seed: int | None = None, game: Game | None = None) -> Run:
    """A run, ready to play: `load("runs/first").act(observation, key)`. Of several seeds, the first unless one is
    named. A game of one's own, which no registry knows, is handed over."""
    run = RunDir.open(path)
    config = stored_config(run)
    game = game or registry.make(config.game, **registry.parse_options(config.game, config.options))
    seed = config.seed if seed is None and config.seeds > 1 else seed
    checkpoint = checkpoint_of(run, None)
    return Run(run.path, game, config, tuple(policies_of(checkpoint, seed_row(checkpoint, seed))), seed)
