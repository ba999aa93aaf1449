"""L8: is everything booked on the seat to which it happened? The stand-in pays what it shows; what learners then have
must be what they were paid, did and saw."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.audit.findings import Finding
from sparring.audit.minds import thought_again
from sparring.audit.seats.levels import L8
from sparring.audit.seats.pipeline import Lived, Pipeline
from sparring.audit.seats.stand_in import LENGTH, goals_like, paying
from sparring.games.others import others_SO
from sparring.games.trial import quick_jit
from sparring.play.seating import Group
from sparring.setup.program import Report
from sparring.training.record import metric_lines, result_rows

LARGE = 100.0
SAME = 1e-3
"""Log-probabilities and values of one network computed twice differ by less."""


def booking(pipe: Pipeline) -> Finding:
    """L8: the stand-in pays what it shows, and each seat another amount: rollouts, tallies, metrics and results must
    say the same. What a learner did and foresaw must be what its own policy and critic say again."""
    spec, faults, looked = pipe.game.spec, [], 0
    rising = np.arange(1, spec.seats + 1, dtype=float)
    falling, equal = rising[::-1].copy(), np.ones(spec.seats)
    wide = -LARGE * rising  # what a bound on rewards would cut
    paid = ((rising, 0.25), (falling, 0.25), (wide, 2 * LARGE * spec.seats), (equal, 0.0), (rising, 0.0))
    for mean_S, spread in paid:
        lived = pipe.lived(paying(pipe.game, jnp.asarray(mean_S), spread))
        again = pipe.remembered(lived) if looked == 0 else None
        for group, names in enumerate(pipe.names):
            for row, name in enumerate(names):
                looked += 1
                faults += misbooked(pipe, lived.rollouts[group], group, row, mean_S, spread)
                faults += misremembered(name, again[group][row]) if again else []
        if looked == sum(map(len, pipe.names)):
            faults += misseen(pipe, lived) + misthought(pipe, lived)
        if spread == 0.0:
            faults += miscounted(pipe, lived, mean_S)
    right = (
        "Rewards, returns, metrics and results are what each seat was paid: rising, falling, equal and large. Stored "
        "choices and values are those of the learner, and what was seen of others is theirs."
    )
    return L8.found(not faults, faults[0] if faults else right, faults=faults, looked=looked)


def misremembered(name: str, gap_2: np.ndarray) -> list[str]:
    """Whether the likelihood of what a learner did, and the value of what it saw, are what it would say itself."""
    wrong = ((what, gap) for what, gap in zip(("choices", "values"), gap_2, strict=True) if not gap <= SAME)
    return [
        f"The {what} that {name} learns from are not those that it made: they differ by {x:.3g}." for what, x in wrong
    ]


def misbooked(pipe: Pipeline, rollout: Any, group: int, row: int, mean_S: np.ndarray, spread: float) -> list[str]:
    """Whether a learner's experience has the rewards of its own seats, worlds and steps."""
    name = pipe.names[group][row]
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
        wanted, found = LENGTH * mean_S[seats].mean(), row.return_sum / row.games
        if not np.isclose(found, wanted, rtol=1e-5):
            said = f"{row.player} earned {found:g} a game on side {row.side}"
            faults.append(f"The results say that {said}, and it was paid {wanted:g}.")
    return faults


def misthought(pipe: Pipeline, lived: Lived) -> list[str]:
    """Whether what each learner was told is what its own mind makes of what it was shown, and whether it would go on in
    imagination from moments of its own."""
    faults, seating = [], pipe.built.plan.seating
    for group, (kind, names) in enumerate(zip(pipe.built.plan.kinds, pipe.names, strict=True)):
        rollout = lived.rollouts[group]
        if kind.mind.on and rollout.thought is not None:
            minds, beliefs = lived.learners[group].model.actor.mind, pipe.state.cursor.minds[seating.learning[group]]
            again = quick_jit(jax.vmap(thought_again, in_axes=(0, 1, 0), out_axes=1))
            said_TLWNM, held = again(minds, rollout, beliefs)
            gap_L = np.abs(np.asarray(said_TLWNM - rollout.thought.said_NM)).max(initial=0.0, axis=(0, 2, 3, 4))
            wrong = ((name, gap) for name, gap in zip(names, gap_L, strict=True) if not gap <= SAME)
            text = "What {} was told of the others is not what its own mind says: it differs by {:.3g}."
            faults += [text.format(*one) for one in wrong]
            faults += [] if rollout.branch is None else misplaced(pipe, group, rollout, held)
    return faults


def misplaced(pipe: Pipeline, group: int, rollout: Any, held: Any) -> list[str]:
    """Whether the moments from which imagination begins are those that the learner lived: what its mind held, its seats
    and, where worlds are kept, what it saw of its own."""
    branch, faults = rollout.branch, []
    every = rollout.start_TW.shape[0] // branch.seat.shape[0]
    pairs = [(own, x[::every]) for own, x in zip(*map(jax.tree.leaves, (branch.minds, held)), strict=True)]
    if branch.state is not None:
        seen = jnp.take_along_axis(branch.state.seen_SF, branch.seat[..., None], axis=-2)
        pairs.append((seen[..., 1:], rollout.features_TWNF[::every, ..., 1:]))  # the first is what is paid
    for row, name in enumerate(pipe.names[group]):
        same = (np.asarray(branch.seat[:, row]) == pipe.seats_of(group, row)).all()
        same &= all(np.allclose(a[:, row], b[:, row], SAME, SAME, equal_nan=True) for a, b in pairs)
        faults += [] if same else [f"Moments from which {name} goes on in imagination are not those that it lived."]
    return faults


def misseen(pipe: Pipeline, lived: Lived) -> list[str]:
    """Whether what is kept of others, for minds and modules, is theirs: choices, and what their goals look like."""
    seating = pipe.built.plan.seating
    groups = [seating.groups[i] for i in seating.learning]
    if seating.changing or all(rollout.others is None for rollout in lived.rollouts):
        return []

    def by_seat(arrays: Sequence[Any]) -> np.ndarray:
        """What learners have in each step, [T, L, W, N, ...], by block, world and seat, [T, B, W, S, ...]."""
        found: Any = 0.0
        for group, array in zip(groups, arrays, strict=True):
            source_BS = seating.sources(group)
            own = steps_of(lambda x, source_BS=source_BS: seating.from_lanes(x, source_BS), array)
            mine = (source_BS >= 0)[None, :, None, :]
            found = np.where(mine.reshape(*mine.shape, *[1] * (own.ndim - 4)), own, found)
        return found

    done = by_seat([rollout.action.discrete_SD for rollout in lived.rollouts])
    seen = by_seat([rollout.features_TWNF for rollout in lived.rollouts])
    driven_BS = np.any([seating.sources(group) >= 0 for group in groups], axis=0)
    known_BWS = np.broadcast_to(driven_BS[:, None], (*driven_BS.shape[:1], seating.worlds, seating.spec.seats))
    truth = (done, seen, known_BWS)
    shown = ((lived.rollouts[number].others, number, group) for number, group in enumerate(groups))
    return [fault for one in shown if one[0] is not None for fault in seen_otherwise(pipe, *one, truth)]


def seen_otherwise(pipe: Pipeline, others: Any, number: int, group: Group, truth: tuple) -> list[str]:
    """Of one group of learners, what it has of others [T, L, W, N, O, ...] that they neither did nor saw."""
    seating, spec, other_SO = pipe.built.plan.seating, pipe.game.spec, others_SO(pipe.game.spec.seats)

    def as_shown(x_TBWS: np.ndarray) -> np.ndarray:
        return steps_of(lambda x: seating.per_seat(x, group), x_TBWS[:, :, :, other_SO])

    done, seen, known_BWS = truth
    pairs = [("choices", np.asarray(others.discrete), as_shown(done))]
    if others.about is not None and spec.goals and spec.features:
        like = jax.vmap(jax.vmap(partial(goals_like, goals=len(spec.goals), about=pipe.game.about)))
        pairs.append(("goals", np.asarray(others.about), as_shown(steps_of(like, seen))))
    faults, (known,) = [], as_shown(known_BWS[None])
    for what, found, wanted in pairs:
        same = np.isclose(found, wanted, rtol=1e-5).reshape(*found.shape[:5], -1).all(-1) | ~known
        for _, row, _, n, o in np.argwhere(~same)[:1]:
            seat = pipe.seats_of(number, int(row))[n]
            other = spec.seat_names[other_SO[seat, o]]
            faults.append(f"The {what} of {other} that {pipe.names[number][row]} is shown are not those of {other}.")
    return faults


def steps_of(change: Callable[[Array], Array], x_T: np.ndarray) -> np.ndarray:
    """What becomes of each step, as one program."""
    return np.asarray(quick_jit(jax.vmap(change))(jnp.asarray(x_T)))
