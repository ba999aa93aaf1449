"""L4, L5 and L8: what training does with seats that are exactly alike. One small iteration of the real program, with a
stand-in for the game."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from sparring.audit.findings import Finding
from sparring.audit.seats.levels import L4, L8, WRONG_BOOKS
from sparring.audit.seats.parity import parity_finding
from sparring.audit.seats.stand_in import LENGTH, StandIn, paying, stand_in
from sparring.games.game import Game
from sparring.games.trial import quick_jit
from sparring.learn.batch import to_rows
from sparring.learn.config import knobs_of
from sparring.learn.epochs import evaluation
from sparring.learn.learner import Learner
from sparring.learn.ppo import UpdateStats, cut_of
from sparring.play.chance import stream
from sparring.play.rollout import Rollout, Tally, tally
from sparring.setup import program
from sparring.setup.beginning import first_state
from sparring.setup.build import Built, build
from sparring.setup.config import RunConfig
from sparring.setup.program import Report
from sparring.training.record import metric_lines, result_rows

WORLDS = 8
LARGE = 100.0
SAME = 1e-3
"""Log-probabilities and values of one network computed twice differ by less."""


class Lived(NamedTuple):
    """One iteration, of one seed."""

    learners: tuple[Learner, ...]
    """As they played."""
    rollouts: tuple[Rollout, ...]
    tally: Tally
    cursor: Any
    faults: Any


def small(config: RunConfig) -> RunConfig:
    """The same training with few worlds: what is asked here does not depend on how many there are."""
    steps = 2 * LENGTH
    while steps % config.sequence or (config.ppo.burn_in and steps % config.ppo.burn_in):
        steps += LENGTH
    worlds = max(1, config.play.blocks) * WORLDS
    rows = steps // config.sequence * worlds
    minibatches = next(n for n in range(min(4, config.ppo.minibatches), 0, -1) if rows % n == 0)
    return replace(
        config, seeds=1, stages=(), play=replace(config.play, worlds=worlds, steps=steps),
        ppo=replace(config.ppo, minibatches=minibatches, epochs=min(2, config.ppo.epochs)),
        evaluation=replace(config.evaluation, eval_games=0, eval_every=0, eval_times=0),
    )  # fmt: skip


@dataclass(frozen=True)
class Pipeline:
    """Training with a stand-in, ready to be asked."""

    built: Built
    game: StandIn

    @classmethod
    def of(cls, config: RunConfig, game: Game) -> "Pipeline":
        """Refuses, by ConfigError, what cannot be built."""
        model = stand_in(game.spec)
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

        def of_group(group: int) -> Any:
            def teach(learner: Learner, rollout: Rollout, knobs_H: Any, key: Any) -> tuple[Learner, UpdateStats]:
                return program.teach(plan, learner, rollout, knobs_H, key, group, game=game)[:2]

            return quick_jit(jax.vmap(teach, in_axes=(0, 1, 0, 0)))

        return [of_group(group) for group in range(len(plan.kinds))]

    @cached_property
    def state(self) -> Any:
        return jax.tree.map(lambda x: x[0], first_state(self.built))

    @cached_property
    def _remember(self) -> Any:
        ppo = self.built.plan.ppo

        def gaps(learner: Learner, rollout: Rollout, knobs_H: Any) -> Any:
            """How far stored log-probabilities and values are from what the learner says."""
            batch = to_rows(rollout, cut_of(rollout, ppo))
            said = evaluation(learner, batch, knobs_of(knobs_H), ppo)
            acting, present = batch.acting, batch.present
            gap = (jnp.abs(said.log_prob - batch.log_prob) * acting, jnp.abs(said.value - batch.value) * present)
            return jnp.stack([x.max() for x in gap])

        return quick_jit(jax.vmap(gaps, in_axes=(0, 1, 0)))

    def remembered(self, lived: Lived) -> list[np.ndarray]:
        """Of each group and learner, how far its memory of choices and of values is from what it says now, [L, 2]."""
        knobs = (jnp.asarray(knobs_LH) for knobs_LH in self.built.knobs(0))
        given = zip(lived.learners, lived.rollouts, knobs, strict=True)
        return [np.asarray(self._remember(*one)) for one in given]

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
                order = jnp.asarray(order_L[group])
                others = jax.tree.map(lambda x, order=order: x[order], learners)
                learners = others._replace(player=learners.player)
                rollouts = jax.tree.map(lambda x, order=order: x[:, order], rollouts)
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
    learners = max(map(len, pipe.names))
    lived = pipe.lived(pipe.game)
    plain = pipe.taught(lived, 0)
    faults, orders = [], 0
    for order_L in (turned(pipe.names, 1), [np.arange(len(names))[::-1] for names in pipe.names]):
        orders += 1
        for group, (one, two) in enumerate(zip(plain, pipe.taught(lived, 0, order_L), strict=True)):
            wanted = jax.tree.map(lambda x, order=order_L[group]: np.asarray(x)[order], one)
            faults += unequal(two, wanted, pipe.names[group])
    numbers = {"orders": orders, "learners": learners, "faults": faults}
    if not faults:
        text = f"{learners} learners, {orders} orders: weights, optimisers and statistics agree bit for bit."
        return L4.found(True, text, **numbers)
    name, leaf, gap = max(faults, key=lambda fault: fault[2])
    return L4.found(
        False, f"{name}, given all that another had, differs from it in {leaf} by {gap:.3g} after one update.",
        f"Learning depends on a learner's number. At fault: {', '.join(sorted({f[0] for f in faults}))}.",
        "Look for a branch on an id, a counter or buffer that learners share, or a mean over the stacked axis.",
        **numbers,
    )  # fmt: skip


def turned(names: Sequence[tuple[str, ...]], by: int) -> list[np.ndarray]:
    return [np.roll(np.arange(len(own)), by) for own in names]


def unequal(found: Any, wanted: Any, names: tuple[str, ...]) -> list[tuple[str, str, float]]:
    """(learner, leaf, distance) of every difference; identities are meant to differ."""
    faults = []
    pairs = zip(jax.tree_util.tree_leaves_with_path(found), jax.tree.leaves(wanted), strict=True)
    for path, a, b in ((jax.tree_util.keystr(path).lstrip("."), np.asarray(a), b) for (path, a), b in pairs):
        if path.endswith("player"):
            continue
        same = (a == b) | ((a != a) & (b != b))
        for row in np.flatnonzero(~same.reshape(len(a), -1).all(1)):
            faults.append(
                (names[row], path, float(np.abs(np.asarray(a[row], float) - np.asarray(b[row], float)).max()))
            )
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
    return parity_finding(ledger, f"after {iterations} iterations with seats that are exactly alike")


def counts_of(lived: Lived, taught: list[tuple], group: int, row: int) -> dict[str, float]:
    """What one learner got in an iteration."""
    rollout = jax.tree.map(lambda x: np.asarray(x)[:, row], lived.rollouts[group])
    learner, stats = jax.tree.map(lambda x: np.asarray(x)[row], taught[group])
    before = int(np.asarray(lived.learners[group].updates)[row])
    found = {
        "steps": float(rollout.present_TWN.sum()),
        "decisions": float(rollout.acting_TWN.sum()),
        "episodes": float(rollout.ended_TWN.sum()),
        "optimiser steps": float(learner.updates - before),
        "rows not learned from": float(stats.bad_minibatches),
        "rewards": float(np.isfinite(rollout.reward_TWN).sum()),
    }
    measured = {f"own {name}": float(x) for name, x in (stats.own or {}).items()}
    found |= {name: value for name, value in measured.items() if value.is_integer()}
    for path, leaf in jax.tree_util.tree_leaves_with_path(learner.buffers):
        if np.issubdtype(leaf.dtype, np.integer) and leaf.ndim == 0:
            found[f"buffer {jax.tree_util.keystr(path)}"] = float(leaf)
    return found


def booking(pipe: Pipeline) -> Finding:
    """L8: the stand-in pays what it shows, and each seat another amount: rollouts, tallies, metrics and results must
    say the same. What a learner did and foresaw must be what its own policy and critic say again."""
    spec, faults, looked = pipe.game.spec, [], 0
    rising = np.arange(1, spec.seats + 1, dtype=float)
    falling, equal = rising[::-1].copy(), np.ones(spec.seats)
    wide = -LARGE * rising  # what a bound on rewards would cut
    for mean_S, spread in (
        (rising, 0.25),
        (falling, 0.25),
        (wide, 2 * LARGE * spec.seats),
        (equal, 0.0),
        (rising, 0.0),
    ):
        lived = pipe.lived(paying(pipe.game, jnp.asarray(mean_S), spread))
        again = pipe.remembered(lived) if looked == 0 else None
        for group, names in enumerate(pipe.names):
            for row, name in enumerate(names):
                looked += 1
                faults += misbooked(pipe, lived, group, row, name, mean_S, spread)
                faults += misremembered(name, again[group][row]) if again else []
        if spread == 0.0:
            faults += miscounted(pipe, lived, mean_S)
    numbers = {"faults": faults, "looked": looked}
    if not faults:
        text = (
            "Rewards, returns, metrics and results are what each seat was paid: rising, falling, equal and large. "
            "Stored choices and values are those of the learner."
        )
        return L8.found(True, text, **numbers)
    return L8.found(
        False, faults[0], WRONG_BOOKS, "Look at how what happened goes from seats to learners, and on to the log.",
        **numbers,
    )  # fmt: skip


def misremembered(name: str, gap_2: np.ndarray) -> list[str]:
    """Whether the likelihood of what a learner did, and the value of what it saw, are what it would say itself."""
    told = zip(("choices", "values"), gap_2, strict=True)
    return [
        f"The {what} that {name} learns from are not those that it made: they differ by {gap:.3g}."
        for what, gap in told
        if not gap <= SAME
    ]


def misbooked(
    pipe: Pipeline, lived: Lived, group: int, row: int, name: str, mean_S: np.ndarray, spread: float
) -> list[str]:
    """Whether a learner's experience has the rewards of its own seats, worlds and steps."""
    rollout = lived.rollouts[group]
    reward_TWN = np.asarray(rollout.reward_TWN[:, row])
    seen_TWN = np.asarray(rollout.features_TWNF[:, row, ..., 0]) if pipe.game.spec.features else reward_TWN
    if not np.allclose(reward_TWN, seen_TWN, rtol=1e-6):
        t, w, n = np.unravel_index(np.argmax(np.abs(reward_TWN - seen_TWN)), reward_TWN.shape)
        return [
            f"In world {w}, step {t}, {name} was paid {seen_TWN[t, w, n]:.4g} and {reward_TWN[t, w, n]:.4g} was booked."
        ]
    mean_N = np.asarray([mean_S[seat] for seat in pipe.seats_of(group, row)])
    low, high = mean_N.min(), mean_N.max() + spread
    if not ((reward_TWN >= low - 1e-6) & (reward_TWN <= high + 1e-6)).all():
        found = f"{reward_TWN.min():.4g} to {reward_TWN.max():.4g}"
        return [f"{name} was booked rewards of {found} where its seats were paid {low:.4g} to {high:.4g}."]
    return []


def miscounted(pipe: Pipeline, lived: Lived, mean_S: np.ndarray) -> list[str]:
    """Whether what goes into the run directory is what seats were paid, game by game."""
    spec, faults = pipe.game.spec, []
    stats = tuple(stats for _, stats in pipe.taught(lived, 0))
    of_seed = jax.tree.map(lambda x: np.asarray(x)[None], (lived.tally, stats, lived.faults))
    report = Report(of_seed[0], of_seed[1], (), of_seed[2])
    (line,) = metric_lines(pipe.built, 0, report, ())
    for seat, name in enumerate(spec.seat_names):
        found, wanted = line[f"return/{name}"], LENGTH * mean_S[seat]
        if found is None or not np.isclose(found, wanted, rtol=1e-5):
            faults.append(f"return/{name} in the metrics is {found}, and the seat was paid {wanted:g}.")
    if pipe.built.plan.seating.changing:
        return faults
    for row in result_rows(pipe.built, 0, report, ()):
        seats = list(pipe.built.plan.seating.seats_of_side[row.side])
        wanted = LENGTH * mean_S[seats].mean()
        if not np.isclose(row.return_sum / row.games, wanted, rtol=1e-5):
            faults.append(
                f"The results say that {row.player} earned {row.return_sum / row.games:g} a game on side {row.side}, "
                f"and it was paid {wanted:g}."
            )
    return faults
