"""Every probe is solved within seconds on every seed, and on none where the feature it probes is broken.

Sound and broken learners are rows of one compiled program: a traced number says what is broken, and nothing else
differs.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array, lax

from sparring.core.schedules import Schedule
from sparring.learn.config import PPOConfig
from sparring.nets.blocks import LSTM
from sparring.nets.config import NetConfig
from sparring.nets.distributions import Distribution
from sparring.nets.trunk import Grids
from sparring.play import collect as collecting
from sparring.play.chance import stream
from sparring.play.rollout import Rollout
from sparring.setup import program
from sparring.setup.beginning import first_learners, first_models
from sparring.setup.build import build
from sparring.setup.config import PlayConfig, RunConfig
from toy_players import QUICK

SEEDS = 3
LAST = 5
"""Rollouts whose games are judged, of 256 steps each."""

LIGHTLY = {"xla_backend_optimization_level": 1}
"""For the programs that run longest: they repay what the compiler takes."""

Breakage = Callable[[pytest.MonkeyPatch, Array], None]
"""Patches the library while it is traced, so that a feature is broken where the flag says so."""


def where(broken: Array, new: Any, old: Any) -> Any:
    return jax.tree.map(lambda a, b: jnp.where(broken, a, b), new, old)


def learning_from(change: Callable[[Rollout], Rollout]) -> Breakage:
    """Learning sees another rollout than the one that was played."""

    def breakage(patch: pytest.MonkeyPatch, broken: Array) -> None:
        sound = program.collect

        def collect(*arguments: Any, **options: Any) -> Any:
            rollouts, cursor, games = sound(*arguments, **options)
            return tuple(where(broken, change(rollout), rollout) for rollout in rollouts), cursor, games

        patch.setattr(program, "collect", collect)

    return breakage


def calling(owner: type, names: tuple[str, ...], change: Callable[..., tuple]) -> Breakage:
    """Methods are called with other arguments, their object included, than those they are given."""

    def breakage(patch: pytest.MonkeyPatch, broken: Array) -> None:
        for name in names:
            sound = getattr(owner, name)
            patch.setattr(owner, name, lambda *given, sound=sound: where(broken, sound(*change(*given)), sound(*given)))

    return breakage


def without_masks(patch: pytest.MonkeyPatch, broken: Array) -> None:
    sound = Distribution.make

    def make(action: Any, logits_A: Array, legal_A: Array, *rest: Array) -> Distribution:
        return sound(action, logits_A, legal_A | broken, *rest)

    patch.setattr(Distribution, "make", make)


def without_bounds(patch: pytest.MonkeyPatch, broken: Array) -> None:
    sound = collecting.within_bounds
    patch.setattr(collecting, "within_bounds", lambda action, spec: where(broken, action, sound(action, spec)))


def first_head_alone(given: Distribution, *rest: Any) -> tuple:
    first = np.arange(given.action.entries) < given.action.heads[0]
    return eqx.tree_at(lambda d: d.log_p_A, given, jnp.where(first, given.log_p_A, 0.0)), *rest


def counting(counts: tuple[tuple[bool, ...], ...]) -> Callable[..., tuple]:
    return lambda given, *rest: (replace(given, action=replace(given.action, counts=counts)), *rest)


def one_plane(given: Grids, board: Array) -> tuple:
    planes = board.reshape(*board.shape[:-1], -1, 2)
    return given, jnp.broadcast_to(planes.mean(-1, keepdims=True), planes.shape).reshape(board.shape)


def clipped(rollout: Rollout) -> Rollout:
    return rollout._replace(
        action=rollout.action._replace(continuous_SC=jnp.clip(rollout.action.continuous_SC, -1.0, 1.0))
    )


def everywhere(flags: Array) -> Array:
    return jnp.ones_like(flags)


def ppo(**settings: Any) -> PPOConfig:
    settings = {name: Schedule.parse(x) if isinstance(x, float) else x for name, x in settings.items()}
    return PPOConfig(**{"learning_rate": Schedule.parse(0.01), "minibatches": 2, **settings})


@dataclass(frozen=True)
class Task:
    """A probe is solved where the mean return is above the mark, and not above what the rules allow."""

    probe: str
    mark: float
    best: float
    broken: dict[str, Breakage]
    """By what is wrong."""
    iterations: int = 25
    ppo: PPOConfig = field(default_factory=ppo)
    net: NetConfig = field(default_factory=lambda: NetConfig(hidden=(16,)))
    options: tuple[str, ...] = ()
    compiler: dict[str, Any] = field(default_factory=lambda: QUICK)

    def solved(self, return_R: np.ndarray) -> np.ndarray:
        return (return_R > self.mark) & (return_R <= self.best)


TASKS = {
    "bandit": Task("bandit", 0.95, 1.0, {
        "observations are stored a step late": learning_from(
            lambda r: r._replace(features_TWNF=jnp.roll(r.features_TWNF, 1, axis=0))
        ),
    }),
    "credit": Task("credit", 0.95, 1.0, {
        "a step is credited with its own reward": learning_from(
            lambda r: r._replace(over_TWN=everywhere(r.over_TWN), ended_TWN=everywhere(r.ended_TWN))
        ),
        "a step is credited with its reward and the next value": learning_from(
            lambda r: r._replace(ended_TWN=everywhere(r.ended_TWN))
        ),
    }),
    # Games of three steps in sequences of eight: memory goes on at the start of a sequence, not at that of a game.
    "memory": Task("memory", 0.8, 1.0, {
        "memory is blank at every step": calling(
            LSTM, ("__call__",), lambda given, memory, x: (given, jax.tree.map(jnp.zeros_like, memory), x)
        ),
    }, 30, ppo(sequence=8), NetConfig(hidden=(16,), memory="lstm", memory_size=16), ("steps=3",), LIGHTLY),
    # A cue, then the answer, in sequences of one step: the cue is in the memory with which the second one begins.
    "memory in parts": Task("memory", 0.8, 1.0, {
        "sequences begin with a blank memory": learning_from(
            lambda r: r._replace(memory=jax.tree.map(jnp.zeros_like, r.memory))
        ),
    }, 30, ppo(sequence=1, entropy=0.03), NetConfig(hidden=(16,), memory="gru", memory_size=16), ("steps=2",)),
    # A game pays 4 or 1, with a deviation of 1.3: three deviations of the mean over the last games are 0.11.
    "mask": Task("mask", 1.55, 1.75 + 0.11, {
        "learning ignores masks": learning_from(lambda r: r._replace(legal_TWNA=everywhere(r.legal_TWNA))),
        "play ignores masks": without_masks,
    }),
    "limit": Task("limit", 0.95, 1.0, {
        "a cut is taken for the end": learning_from(lambda r: r._replace(over_TWN=r.ended_TWN)),
    }, ppo=ppo(discount=0.5)),
    "heads": Task("heads", 0.95, 1.0, {
        "the second head has no part in the probability": calling(Distribution, ("log_prob",), first_head_alone),
    }),
    "hybrid": Task("hybrid", 0.86, 1.0, {
        "all parts always count": calling(Distribution, ("log_prob", "entropy"), counting(())),
        "arguments never count": calling(Distribution, ("log_prob", "entropy"), counting(((False, False),) * 3)),
    }, 40, ppo(entropy=0.1, normalise_advantage="none")),
    # The best return of a target has a deviation of 0.1: three deviations of the mean are 0.009.
    "aim": Task("aim", 0.8, 11 / 12 + 0.009, {
        "clipped actions are stored": learning_from(clipped),
        "the game gets actions out of bounds": without_bounds,
    }, 50, ppo(entropy=0.0), NetConfig(hidden=(16,), initial_std=1.2)),
    "grid": Task("grid", 0.95, 1.0, {
        "planes are not told apart": calling(Grids, ("__call__",), one_plane),
    }, net=NetConfig(hidden=(16,), convolutions=(4,)), compiler=LIGHTLY),
}  # fmt: skip


@cache
def returns(name: str) -> dict[str, np.ndarray]:
    """Mean return of the last games of every seed, exploration included: sound, and by what is broken."""
    task = TASKS[name]
    play = PlayConfig(worlds=32, steps=8)
    built = build(RunConfig(game=f"probe:{task.probe}", options=task.options, play=play, ppo=task.ppo, net=task.net))
    orders = jax.tree.map(lambda x: x[0], built.standing)
    plan, rosters, knobs = built.plan, built.rosters, jax.tree.map(jnp.asarray, built.knobs(0))
    kinds = ("", *task.broken)
    learners = [first_learners(built, first_models(built, seed)) for seed in range(SEEDS)] * len(kinds)
    learners_R = jax.tree.map(lambda *leaves: np.stack(leaves), *learners)
    seeds_R, kind_R = np.tile(np.arange(SEEDS), len(kinds)), np.repeat(np.arange(len(kinds)), SEEDS)

    def train(game: Any, learners: Any, seed: Array, kind: Array) -> Any:
        for number, breakage in enumerate(task.broken.values(), 1):
            breakage(patch, kind == number)
        key = jax.random.key(seed)
        drivers = program.seat_players(plan, learners, None, rosters, orders, knobs)
        cursor = collecting.begin(game, plan.seating, drivers, stream(key, "first games"))

        def iterate(state: program.TrainState, iteration: Array) -> Any:
            own = jax.random.fold_in(key, iteration)
            state, report = program.iterate(plan, game, state, rosters, orders, knobs, own)
            return state, report.tally

        return lax.scan(iterate, program.TrainState(learners, cursor), jnp.arange(task.iterations))[1]

    with pytest.MonkeyPatch.context() as patch:
        run = jax.jit(jax.vmap(train, in_axes=(None, 0, 0, 0)), compiler_options=task.compiler)
        tally = run(built.game, learners_R, seeds_R, kind_R)
    return_R = tally.return_BS[:, -LAST:].sum((1, 2, 3)) / tally.games_B[:, -LAST:].sum((1, 2))
    return dict(zip(kinds, np.asarray(return_R).reshape(-1, SEEDS), strict=True))


@pytest.mark.parametrize("name", TASKS)
def test_a_probe_is_solved_on_every_seed(name):
    found = returns(name)[""]
    assert TASKS[name].solved(found).all(), found


@pytest.mark.parametrize(("name", "wrong"), [(name, wrong) for name, task in TASKS.items() for wrong in task.broken])
def test_a_probe_is_solved_on_no_seed_when(name, wrong):
    found = returns(name)[wrong]
    assert not TASKS[name].solved(found).any(), found
