"""Runs that differ in one thing: off, on, on with its outputs muted, and on with its inputs shuffled. The first update
at which two of them part, and what the difference is worth over seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import Array

from sparring.core.settings import to_toml
from sparring.learn.module import Module
from sparring.setup.beginning import first_state
from sparring.setup.build import Built, build
from sparring.setup.config import CheckpointConfig, EvalConfig, RunConfig
from sparring.setup.program import TrainState
from sparring.store.checkpoints import load_one, newest_first
from sparring.store.fingerprint import first_unlike
from sparring.store.run_dir import RunDir
from sparring.training.runs import facts
from sparring.training.train import train

PLAYED = ("games", "length", "return/", "won/", "drawn/", "cause/", "count/")
"""Metrics that games alone decide."""
ROUNDING = 1e-6
"""Weights that are this near, relative to their length, differ as one program compiled in two ways does."""


class Wrapped(Module):
    """A module inside of another one, which has its parameters and buffers."""

    inner: Module

    def buffers(self, worlds: int, seats: int) -> Any:
        return self.inner.buffers(worlds, seats)

    def measures(self, buffers: Any) -> dict[str, Array]:
        return self.inner.measures(buffers)


class Muted(Wrapped):
    """A module that is there and changes nothing."""

    def begin(self, buffers: Any, rollout: Any, key: Array) -> tuple[Any, Any]:
        return self.inner.begin(buffers, rollout, key)[0], rollout

    def end(self, buffers: Any, rollout: Any, key: Array) -> tuple[Module, Any]:
        return self, self.inner.end(buffers, rollout, key)[1]


class Shuffled(Wrapped):
    """A module with the same parameters that sees what other worlds saw: the placebo. What it still brings is not what
    it knows."""

    def begin(self, buffers: Any, rollout: Any, key: Array) -> tuple[Any, Any]:
        order_W = jax.random.permutation(jax.random.fold_in(key, 1), rollout.features_TWNF.shape[1])
        other = rollout._replace(features_TWNF=rollout.features_TWNF[:, order_W])
        later, changed = self.inner.begin(buffers, other, key)
        return later, changed._replace(features_TWNF=rollout.features_TWNF)

    def loss(self, model: Any, batch: Any, found: Any, key: Array) -> Array | None:
        order_M = jax.random.permutation(jax.random.fold_in(key, 1), batch.features.shape[0])
        return self.inner.loss(model, batch._replace(features=batch.features[order_M]), found, key)

    def end(self, buffers: Any, rollout: Any, key: Array) -> tuple[Module, Any]:
        inner, later = self.inner.end(buffers, rollout, key)
        return type(self)(inner), later


def wrapped(state: TrainState, wrapper: Any, names: Sequence[str]) -> TrainState:
    """The state with some modules inside of others, wherever a tree has them: weights, moments, copies."""

    def node(path: tuple, x: Any) -> Any:
        name = getattr(path[-1], "key", "") if path else ""
        return wrapper(x) if isinstance(x, Module) and name in names else x

    return jax.tree_util.tree_map_with_path(node, state, is_leaf=lambda x: isinstance(x, Module))


@dataclass(frozen=True)
class Arm:
    """What a run left: its metrics, and its state after each update where these were kept."""

    lines: Sequence[Mapping[str, Any]]
    states: Sequence[Mapping[str, np.ndarray]]


def short(config: RunConfig, updates: int) -> RunConfig:
    """The run as so many updates without evaluations. Schedules run through in them, so what only begins later in the
    run is seen as well."""
    steps = build(config).steps_per_iteration
    return replace(
        config, total_steps=updates * steps, schedule_steps=0, evaluation=EvalConfig(eval_games=0, eval_times=0),
        checkpoint=CheckpointConfig(checkpoint_every=1, keep=updates),
    )  # fmt: skip


def run_arm(config: RunConfig, path: Path, wrapper: Any = None, names: Sequence[str] = ()) -> Arm:
    """Train a run in a folder of its own."""
    built = build(config)
    state = first_state(built)
    run = RunDir.create(path)
    with run.writing():
        run.write_text(run.config_path, to_toml(built.config))
        run.write_manifest(facts(built))
        train(built, run, state if wrapper is None else wrapped(state, wrapper, names))
    kept = config.checkpoint.checkpoint_every == 1
    folders = reversed(newest_first(run.checkpoints_path)) if kept else ()
    return Arm(run.metrics(), [by_learner(load_one(folder).arrays, built) for folder in folders])


def by_learner(arrays: Mapping[str, np.ndarray], built: Built) -> dict[str, np.ndarray]:
    """What each learner has and remembers under its name: how they are stacked differs where one is of another kind."""
    places: dict[str, tuple[str, ...]] = {}
    for place, group, names in zip(count(), built.plan.seating.learning, built.lineup.learners, strict=False):
        places |= {f"learners.{place}.": names, f"cursor.memory.{group}.": names, f"cursor.minds.{group}.": names}
    found = {}
    for name, array in arrays.items():
        place = next((one for one in places if name.startswith(one)), "")
        part, rest = place.rstrip(".0123456789"), name.removeprefix(place)
        own = {f"{part}.{learner}.{rest}": array[:, row] for row, learner in enumerate(places.get(place, ()))}
        found |= own or {name: array}
    return found


class Divergence(NamedTuple):
    """The first update, counted from 1, at which two runs with one seed differ; None: never."""

    play: int | None
    losses: int | None
    weights: int | None
    updates: int
    """That were looked at."""
    distance: float = 0.0
    """Of the weights, relative to their length: the largest before games part, which a rounding may bring about."""

    @property
    def none(self) -> bool:
        """They never part, or only as roundings do: games at first alike, weights apart by next to nothing."""
        return self.first is None or (self.play != self.first and self.distance < ROUNDING)

    @property
    def first(self) -> int | None:
        return min((at for at in self[:3] if at is not None), default=None)

    @property
    def where(self) -> str:
        if self.none and self.first is not None:
            how = (
                f"by rounding alone ({self.distance:.1g} of the weights" if self.weights else "only in what is logged ("
            )
            return f"{how}, from update {self.first})".replace("(, ", "(")
        kinds = {"games": self.play, "losses": self.losses, "weights": self.weights}
        return ", ".join(f"{kind} from update {at}" for kind, at in kinds.items() if at is not None) or "nowhere"


def divergence(mine: Arm, other: Arm) -> Divergence:
    """What two runs have in common is compared bit for bit: metrics of each update, and the state after it."""
    play, losses = (
        first_unlike(mine.lines, other.lines, lambda name, played=played: name.startswith(PLAYED) is played)
        for played in (True, False)
    )
    weights, distance = None, 0.0
    for update, (a, b) in enumerate(zip(mine.states, other.states, strict=False), start=1):
        if weights is not None and play is not None and update >= play:
            break
        both = ((a[name], b[name]) for name in a if name in b)
        if weights is not None or any(x.shape != y.shape or x.tobytes() != y.tobytes() for x, y in both):
            weights, distance = weights or update, max(distance, apart(a, b))
    updates = min(sum(line["kind"] == "train" for line in arm.lines) for arm in (mine, other))
    return Divergence(play, losses, weights, updates, distance)


def apart(mine: Mapping[str, np.ndarray], other: Mapping[str, np.ndarray]) -> float:
    """How far weights that both have are from each other, relative to their length."""
    both = [(x, other[n]) for n, x in mine.items() if ".model." in n and n in other and other[n].shape == x.shape]
    weights = [(a.astype(float), b.astype(float)) for a, b in both if a.dtype.kind == "f"]
    gap = sum(float(np.square(a - b).sum()) for a, b in weights)
    whole = sum(float(np.square(a).sum()) for a, _ in weights)
    return float(np.sqrt(gap / max(whole, 1e-12)))


def stirred(arm: Arm, place: str) -> bool:
    """Whether any array whose name begins so changed between updates."""
    first, last = arm.states[0], arm.states[-1]
    return any(name in last and first[name].tobytes() != last[name].tobytes() for name in first if place in name)


def moves(arm: Arm, learners: Sequence[str], names: Sequence[str]) -> dict[str, float]:
    """How far parameters of these learners went from the first update kept to the last, as a share of their length; 0:
    not at all."""
    first, last, found = arm.states[0], arm.states[-1], {}
    for name in names:
        a, b = (np.stack([state[f"learners.{one}.model.{name}"] for one in learners]) for state in (first, last))
        found[name] = float(np.linalg.norm(b - a) / max(float(np.linalg.norm(a)), 1e-12))
    return found
