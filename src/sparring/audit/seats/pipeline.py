"""L4 and L5: what training does with seats that are exactly alike. One small iteration of the real program, with a
stand-in for the game; `booking` asks it L8."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sparring.audit.findings import Finding
from sparring.audit.seats.levels import L4
from sparring.audit.seats.parity import Ledger, parity_finding
from sparring.audit.seats.stand_in import LENGTH, StandIn, stand_in
from sparring.games.game import Game
from sparring.games.trial import quick_jit
from sparring.learn.batch import to_rows
from sparring.learn.config import PPOConfig, knobs_of
from sparring.learn.epochs import evaluation
from sparring.learn.learner import Learner
from sparring.learn.ppo import UpdateStats, cut_of
from sparring.play.chance import stream
from sparring.play.rollout import Rollout, Tally, tally
from sparring.setup import program
from sparring.setup.beginning import first_state
from sparring.setup.build import Built, build
from sparring.setup.config import RunConfig
from sparring.setup.named_arrays import leaf_name
from sparring.setup.needs import without_idle
from sparring.setup.rows import taken

WORLDS = 8


class Lived(NamedTuple):
    """One iteration, of one seed."""

    learners: tuple[Learner, ...]
    """As they played."""
    rollouts: tuple[Rollout, ...]
    tally: Tally
    cursor: Any
    faults: Any


def small(config: RunConfig) -> RunConfig:
    """The same training with few worlds, in which the learners themselves play: what is asked here does not depend on
    how many there are, nor on who plays in their place."""
    steps = 2 * LENGTH
    while steps % config.sequence or (config.ppo.burn_in and steps % config.ppo.burn_in):
        steps += LENGTH
    worlds = max(1, config.play.blocks) * WORLDS
    rows = steps // config.sequence * worlds
    minibatches = next(n for n in range(min(4, config.ppo.minibatches), 0, -1) if rows % n == 0)
    cut = replace(
        config, seeds=1, stages=(), play=replace(config.play, worlds=worlds, steps=steps),
        ppo=replace(config.ppo, minibatches=minibatches, epochs=min(2, config.ppo.epochs)),
        evaluation=replace(config.evaluation, eval_games=0, eval_every=0, eval_times=0),
    )  # fmt: skip
    return without_idle(cut)


@dataclass(frozen=True)
class Pipeline:
    """Training with a stand-in, ready to be asked."""

    built: Built
    game: StandIn

    @classmethod
    def of(cls, config: RunConfig, game: Game) -> "Pipeline":
        """Refuses, by ConfigError, what cannot be built."""
        model = stand_in(game)
        return cls(build(small(config), game=model), model)

    @cached_property
    def _play(self) -> Any:
        """Jitted here, not where it is defined: what an audit compiles is what the program is at this moment."""
        built = self.built

        def play(game: Game, state: Any, key: Any) -> Lived:
            knobs = tuple(jnp.asarray(knobs_LH) for knobs_LH in built.knobs(0))
            orders = jax.tree.map(lambda x: x[0], built.standing)
            learners, rollouts, cursor, games = program.play(built.plan, game, state, built.rosters, orders, knobs, key)
            return Lived(learners, rollouts, tally(games.counted, 0), cursor, games.faults)

        return quick_jit(play)

    @cached_property
    def _teach(self) -> list[Any]:
        """For each learning group."""
        plan, game = self.built.plan, self.game

        def teach(
            group: int, learner: Learner, rollout: Rollout, knobs_H: Any, key: Any
        ) -> tuple[Learner, UpdateStats]:
            return program.teach(plan, learner, rollout, knobs_H, key, group, game=game)[:2]

        groups = range(len(plan.kinds))
        return [quick_jit(jax.vmap(partial(teach, group), in_axes=(0, 1, 0, 0))) for group in groups]

    @cached_property
    def state(self) -> Any:
        return taken(first_state(self.built), 0)

    @cached_property
    def _remember(self) -> list[Any]:
        """For each learning group."""
        plan = self.built.plan

        def gaps(ppo: PPOConfig, learner: Learner, rollout: Rollout, knobs_H: Any) -> Any:
            """How far stored log-probabilities and values are from what the learner says."""
            rollout = program.as_trained(plan, rollout, ppo)
            batch = to_rows(rollout, cut_of(rollout, ppo))
            said = evaluation(learner, batch, knobs_of(knobs_H, len(ppo.losses) + len(ppo.modules)), ppo)
            acting, present = batch.acting, batch.present
            gap = (jnp.abs(said.log_prob - batch.log_prob) * acting, jnp.abs(said.value - batch.value) * present)
            return jnp.stack([x.max() for x in gap])

        return [quick_jit(jax.vmap(partial(gaps, kind.ppo), in_axes=(0, 1, 0))) for kind in plan.kinds]

    def remembered(self, lived: Lived) -> list[np.ndarray]:
        """Of each group and learner, how far its memory of choices and of values is from what it says now, [L, 2]."""
        knobs = (jnp.asarray(knobs_LH) for knobs_LH in self.built.knobs(0))
        given = zip(self._remember, lived.learners, lived.rollouts, knobs, strict=True)
        return [np.asarray(remember(*one)) for remember, *one in given]

    def lived(self, game: StandIn, iteration: int = 0, state: Any = None) -> Lived:
        return self._play(game, self.state if state is None else state, self.key(iteration))

    def key(self, iteration: int) -> Any:
        return jax.random.fold_in(jax.random.key(self.built.config.seed), iteration)

    def taught(self, lived: Lived, iteration: int, order_L: Sequence[np.ndarray] | None = None) -> list[tuple]:
        """Learners and statistics of each group after the lesson. With an order, learner i keeps its place and its
        identity, and is given all that learner order[i] had: weights, experience, coefficients and key."""
        found = []
        for group, (learners, rollouts) in enumerate(zip(lived.learners, lived.rollouts, strict=True)):
            knobs_LH = jnp.asarray(self.built.knobs(iteration)[group])
            keys_L = jax.vmap(lambda one: jax.random.fold_in(stream(self.key(iteration), "minibatches"), one))(
                learners.player
            )
            if order_L is not None:
                order = order_L[group]
                others = jax.tree.map(lambda x, order=order: np.asarray(x)[order], learners)
                learners = others._replace(player=learners.player)
                rollouts = jax.tree.map(lambda x, order=order: np.asarray(x)[:, order], rollouts)
                knobs_LH, keys_L = knobs_LH[order], keys_L[order]
            found.append(self._teach[group](learners, rollouts, knobs_LH, keys_L))
        return found

    @property
    def names(self) -> tuple[tuple[str, ...], ...]:
        return self.built.lineup.learners

    def seats_of(self, group: int, row: int) -> tuple[int, ...]:
        """The seats that a learner drives."""
        seating = self.built.plan.seating
        lanes = seating.groups[seating.learning[group]].lanes[row]
        return tuple(sorted({seat for _, side in lanes for seat in seating.seats_of_side[side]}))


def equivariance(pipe: Pipeline) -> Finding:
    """L4, to the last bit."""
    learners, lived = max(map(len, pipe.names)), pipe.lived(pipe.game)
    plain, faults = pipe.taught(lived, 0), []
    turned = [np.roll(np.arange(len(names)), 1) for names in pipe.names]
    orders = (turned, [np.arange(len(names))[::-1] for names in pipe.names])
    for order_L in orders:
        for group, (one, two) in enumerate(zip(plain, pipe.taught(lived, 0, order_L), strict=True)):
            wanted = jax.tree.map(lambda x, order=order_L[group]: np.asarray(x)[order], one)
            faults += unequal(two, wanted, pipe.names[group])
    text = f"{learners} learners, {len(orders)} orders: weights, optimisers and statistics agree bit for bit."
    if faults:
        name, leaf, gap = max(faults, key=lambda fault: fault[2])
        text = f"{name}, given all that another had, differs from it in {leaf} by {gap:.3g} after one update."
    meaning = f"{L4.meaning} At fault: {', '.join(sorted({name for name, *_ in faults}))}."
    return L4.found(not faults, text, meaning, orders=len(orders), learners=learners, faults=faults)


def unequal(found: Any, wanted: Any, names: tuple[str, ...]) -> list[tuple[str, str, float]]:
    """(learner, leaf, distance) of every difference; identities are meant to differ."""
    faults = []
    pairs = zip(jax.tree_util.tree_leaves_with_path(found), jax.tree.leaves(wanted), strict=True)
    for path, a, b in ((jax.tree_util.keystr(path).lstrip("."), np.asarray(a), b) for (path, a), b in pairs):
        if path.endswith("player"):
            continue
        same = (a == b) | ((a != a) & (b != b))
        for row in np.flatnonzero(~same.reshape(len(a), -1).all(1)):
            gap = np.abs(np.asarray(a[row], float) - np.asarray(b[row], float)).max()
            faults.append((names[row], path, float(gap)))
    return faults


def parity(pipe: Pipeline, iterations: int = 2) -> Finding:
    """L5: counts of everything, after some iterations."""
    state, ledger = pipe.state, {}
    for iteration in range(iterations):
        lived = pipe.lived(pipe.game, iteration, state)
        taught = pipe.taught(lived, iteration)
        for group, names in enumerate(pipe.names):
            for row, name in enumerate(names):
                counted = counts_of(lived, taught, group, row)
                old = ledger.get(name, {})
                ledger[name] = {what: old.get(what, 0.0) + number for what, number in counted.items()}
        state = state._replace(learners=tuple(learners for learners, _ in taught), cursor=lived.cursor)
    when = f"after {iterations} iterations with seats that are exactly alike"
    return parity_finding(comparable(ledger, pipe.names), when)


def comparable(ledger: Mapping[str, Mapping[str, float]], kinds: Sequence[tuple[str, ...]]) -> Ledger:
    """What is asked of everybody: learners of several kinds (--learner) have counts of their own, such as those of a
    mind, and must agree in those that all kinds have."""
    shared = set.intersection(*({what for name in names for what in ledger[name]} for names in kinds))
    return {name: {what: count for what, count in own.items() if what in shared} for name, own in ledger.items()}


def counts_of(lived: Lived, taught: list[tuple], group: int, row: int) -> dict[str, float]:
    """What one learner got in an iteration."""
    rollout = jax.tree.map(lambda x: np.asarray(x)[:, row], lived.rollouts[group])
    learner, stats = jax.tree.map(lambda x: np.asarray(x)[row], taught[group])
    before = jax.tree.map(lambda x: np.asarray(x)[row], lived.learners[group])
    found = {
        "steps": rollout.present_TWN.sum(), "decisions": rollout.acting_TWN.sum(),
        "episodes": rollout.ended_TWN.sum(), "optimiser steps": learner.updates - before.updates,
        "rows not learned from": stats.bad_minibatches, "rewards": np.isfinite(rollout.reward_TWN).sum(),
    }  # fmt: skip
    found |= {f"own {name}": x for name, x in (stats.own or {}).items() if np.issubdtype(x.dtype, np.integer)}
    for where, later, earlier in (
        ("buffer", learner.buffers, before.buffers), ("what its mind is fitted on:", learner.study, before.study),
    ):  # fmt: skip
        pairs = zip(jax.tree_util.tree_leaves_with_path(later), jax.tree.leaves(earlier), strict=True)
        for (path, new), old in pairs:
            if np.issubdtype(new.dtype, np.integer) and new.ndim == 0:
                found[f"{where} {leaf_name(path)}"] = float(new) - float(old)
    return {what: float(count) for what, count in found.items()}
