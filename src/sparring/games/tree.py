"""The exact answer to a small game: everything that can happen in it, as sequences of each seat's own choices.

A game whose chance falls entirely at its start says so by `Game.openings`. Its tree is grown once, with the game's own
`observe` and `step`, and kept in sequence form (von Stengel 1996). What a seat has done is one of its sequences: 0,
nothing yet, or 1 + i * A + a, choice a in its information set i. A policy is a plan: how likely the seat itself plays
each sequence. What a game pays is linear in each seat's plan, so values, best responses and mixtures of policies are a
few sums. Letters: I information sets of a seat, Q its sequences, N nodes of a level, E transitions to the next.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.errors import GameError
from sparring.core.records import Action
from sparring.games.game import Game, State
from sparring.games.trial import quick_jit

Probabilities = Callable[[int, np.ndarray, np.ndarray], np.ndarray]
"""(seat, features_IF, legal_IA) -> probability_IA."""

MOST_NODES = 4_000_000
"""A game with more has no exact answer here: growing it would take minutes and gigabytes."""
CHUNK = 4096
"""Nodes that are looked at, or transitions that are made, by one call of one compiled program."""
KEPT = 4
"""Trees that stay in memory."""


class Sets(NamedTuple):
    """The information sets of a seat: the distinct rows of its features where it decides."""

    features_IF: np.ndarray
    legal_IA: np.ndarray
    before_I: np.ndarray
    """The seat's sequence with which it comes there."""
    depths: tuple[np.ndarray, ...]
    """The sets with no own choice before them, those with one, and so on."""


class Tree(NamedTuple):
    sets: tuple[Sets, ...]
    """Of each seat."""
    sequence_SE: np.ndarray
    """What each seat has done, this choice included. E: the transitions that pay."""
    weight_E: np.ndarray
    """Probability that chance lets it happen."""
    reward_SE: np.ndarray
    nodes: int
    largest: float
    """What no exploitability can exceed: the most that each seat can earn in a game, less the least that all do."""


def tree_of(game: Game) -> Tree:
    """The tree of a game, grown at the first call for these options and rules."""
    leaves, structure = jax.tree.flatten(game)
    arrays = [np.asarray(leaf) for leaf in leaves]
    return _grown(structure, tuple((x.tobytes(), x.dtype.str, x.shape) for x in arrays))


def policy_exploitability(game: Game, probabilities: Probabilities) -> float:
    """NashConv / S of a policy, exact: it is asked once for all information sets of each seat."""
    return mixture_exploitability(game, [probabilities], np.ones(1))


def policy_gains(game: Game, probabilities: Probabilities) -> np.ndarray:
    """gain_S of a policy, exact: what each seat could gain, the others staying as they are."""
    tree = tree_of(game)
    return gains(tree, [mixed_plan(tree, seat, [probabilities], np.ones(1)) for seat in range(len(tree.sets))])


def mixture_exploitability(game: Game, members: Sequence[Probabilities], weight_M: np.ndarray) -> float:
    """NashConv / S of a player that draws one of these policies before each game, exact.

    Who plays shows in what was done: with perfect memory the mean of the plans is that player (Kuhn 1953), not the
    mean of the probabilities in each situation.
    """
    tree = tree_of(game)
    return exploitability(tree, [mixed_plan(tree, seat, members, weight_M) for seat in range(len(tree.sets))])


def largest_exploitability(game: Game) -> float:
    """What NashConv / S cannot exceed, whatever is played."""
    return tree_of(game).largest


def mixed_plan(tree: Tree, seat: int, members: Sequence[Probabilities], weight_M: np.ndarray) -> np.ndarray:
    """plan_Q of a seat whose policy is drawn before each game."""
    sets = tree.sets[seat]
    plans_MQ = [plan_of(sets, member(seat, sets.features_IF, sets.legal_IA)) for member in members]
    return np.tensordot(np.asarray(weight_M, float), np.stack(plans_MQ), axes=1)


def plan_of(sets: Sets, probability_IA: np.ndarray) -> np.ndarray:
    """plan_Q: how likely a seat plays each of its sequences, as far as that depends on itself."""
    legal_IA = sets.legal_IA
    share_IA = np.where(legal_IA, np.asarray(probability_IA, float), 0.0)
    total_I = share_IA.sum(axis=1)
    if not np.allclose(total_I, 1.0, atol=1e-3):
        found = total_I[np.argmax(np.abs(total_I - 1.0))]
        raise GameError(
            f"Probabilities of legal choices must sum to 1 in each row, found {found:.3g}: mask them first."
        )
    share_IA /= total_I[:, None]
    plan_Q = np.ones(1 + legal_IA.size)
    own_IA = plan_Q[1:].reshape(legal_IA.shape)  # a view
    for rows in sets.depths:
        own_IA[rows] = plan_Q[sets.before_I[rows], None] * share_IA[rows]
    return plan_Q


def values(tree: Tree, plans: Sequence[np.ndarray]) -> np.ndarray:
    """value_S: what each seat earns on average where seat s plays by plans[s]."""
    return tree.reward_SE @ _reached(tree, plans, range(len(plans)))


def best_response(tree: Tree, plans: Sequence[np.ndarray], seat: int) -> tuple[float, np.ndarray]:
    """The most that a seat can earn while the others play by their plans, and choice_I with which it does."""
    sets = tree.sets[seat]
    others = [s for s in range(len(plans)) if s != seat]
    paid_E = tree.reward_SE[seat] * _reached(tree, plans, others)
    worth_Q = np.bincount(tree.sequence_SE[seat], paid_E, minlength=1 + sets.legal_IA.size)
    own_IA = worth_Q[1:].reshape(sets.legal_IA.shape)  # a view, to which later sets add what they are worth
    choice_I = np.zeros(len(sets.legal_IA), int)
    for rows in reversed(sets.depths):
        worth_RA = np.where(sets.legal_IA[rows], own_IA[rows], -np.inf)
        choice_I[rows] = worth_RA.argmax(axis=1)
        np.add.at(worth_Q, sets.before_I[rows], worth_RA.max(axis=1))
    return float(worth_Q[0]), choice_I


def exploitability(tree: Tree, plans: Sequence[np.ndarray]) -> float:
    """NashConv / S: the mean over seats of what each could gain by itself. 0 exactly at Nash equilibria."""
    return float(np.mean(gains(tree, plans)))


def gains(tree: Tree, plans: Sequence[np.ndarray]) -> np.ndarray:
    """gain_S: what each seat could earn beyond what it does."""
    return np.array([best_response(tree, plans, seat)[0] for seat in range(len(plans))]) - values(tree, plans)


def _reached(tree: Tree, plans: Sequence[np.ndarray], seats: Sequence[int]) -> np.ndarray:
    """How likely chance and these seats let each transition happen."""
    return prod((plans[s][tree.sequence_SE[s]] for s in seats), start=tree.weight_E)


class _Book:
    """The information sets of a seat that were met so far."""

    def __init__(self, seat: int, features: int, entries: int) -> None:
        self.seat = seat
        self.number: dict[bytes, int] = {}
        self.features = [np.zeros((0, features), np.float32)]
        self.legal_IA = np.zeros((0, entries), bool)
        self.before_I = np.zeros(0, np.int32)

    def look_up(self, features_NF: np.ndarray, legal_NA: np.ndarray, sequence_N: np.ndarray) -> np.ndarray:
        """set_N of nodes in which the seat decides; new ones are added."""
        rows_NF = np.ascontiguousarray(features_NF, np.float32) + np.float32(0.0)  # -0 is 0
        text, width = rows_NF.tobytes(), rows_NF.itemsize * rows_NF.shape[1]
        keys = (text[begin : begin + width] for begin in range(0, len(text), width))
        known, number = len(self.number), self.number
        set_N = np.array([number.setdefault(key, len(number)) for key in keys], np.int32)
        numbers, first = np.unique(set_N, return_index=True)
        new = first[numbers >= known]
        self.features.append(rows_NF[new])
        self.legal_IA = np.concatenate([self.legal_IA, legal_NA[new]])
        self.before_I = np.concatenate([self.before_I, sequence_N[new]])
        for what, same in (
            ("legal entries", (self.legal_IA[set_N] == legal_NA).all()),
            ("choices of its own before", (self.before_I[set_N] == sequence_N).all()),
        ):
            if not same:
                raise GameError(
                    f"Perfect recall: expected the same {what} wherever seat {self.seat} sees the same, found others. "
                    "Show in its features what it did and what it may do, or let openings() return None."
                )
        return set_N

    def closed(self) -> Sets:
        depth_I = np.zeros(len(self.before_I), int)
        for i in np.flatnonzero(self.before_I):  # a set is met after the one before it
            depth_I[i] = 1 + depth_I[(self.before_I[i] - 1) // self.legal_IA.shape[1]]
        depths = tuple(np.flatnonzero(depth_I == depth) for depth in range(depth_I.max(initial=-1) + 1))
        return Sets(np.concatenate(self.features), self.legal_IA, self.before_I, depths)


class _Level(NamedTuple):
    """Nodes that are the same number of moves from the start."""

    state_N: State
    weight_N: np.ndarray
    sequence_SN: np.ndarray
    earned_SN: np.ndarray
    """On the way there."""


@lru_cache(KEPT)
def _grown(structure: Any, leaves: tuple[tuple[bytes, str, tuple[int, ...]], ...]) -> Tree:
    arrays = [jnp.asarray(np.frombuffer(text, kind).reshape(shape)) for text, kind, shape in leaves]
    game: Game = jax.tree.unflatten(structure, arrays)
    spec, level = game.spec, _first(game)
    books = [_Book(seat, spec.features, spec.action.entries) for seat in range(spec.seats)]
    nodes, moves, paid, ends = len(level.weight_N), 0, [], []
    while len(level.weight_N):
        if moves == spec.longest:
            raise GameError(f"Length of games: expected an end after {moves} steps, found one that goes on.")
        set_SN, legal_NSA = _seen(game, level, books)
        nodes, moves = nodes + int(legal_NSA.sum(axis=2).prod(axis=1).sum()), moves + 1
        if nodes > MOST_NODES:
            raise GameError(
                f"The tree of a game: expected at most {MOST_NODES:,} nodes, found {nodes:,} within {moves} moves. "
                "Choose options that make the game smaller, or let openings() return None."
            )
        level, earned_SE, *payments = _next(game, level, set_SN, legal_NSA)
        paid.append(payments)
        ends.append(earned_SE)
    sequences, weights, rewards = zip(*paid, strict=True)
    return Tree(
        tuple(book.closed() for book in books),
        np.concatenate(sequences, axis=1),
        np.concatenate(weights),
        np.concatenate(rewards, axis=1),
        nodes,
        _largest(np.concatenate(ends, axis=1)),
    )


def _largest(earned_SE: np.ndarray) -> float:
    """From what all seats earn in each way that a game can end."""
    return float(earned_SE.max(axis=1).mean() - earned_SE.mean(axis=0).min())


def _first(game: Game) -> _Level:
    opened, action = game.openings(), game.spec.action
    if opened is None:
        raise GameError(
            f"{type(game).__name__} has no exact answer: override openings() where chance falls at the start."
        )
    if len(action.heads) != 1 or action.dimensions:
        raise GameError(
            f"A tree needs actions of one discrete head, found heads {action.heads} and {action.dimensions}."
        )
    if jax.tree.leaves(jax.eval_shape(game.chance, jax.random.key(0))):
        raise GameError(
            "Openings: expected chance at the start alone, found some in chance(). Let openings() return None."
        )
    state_N, weight_N = jax.tree.map(np.asarray, opened)
    if not (weight_N > 0.0).all() or abs(weight_N.sum() - 1.0) > 1e-6:
        raise GameError(f"Openings: expected probabilities that sum to 1, found {weight_N.sum():g}. Count every start.")
    shape = (game.spec.seats, len(weight_N))
    return _Level(state_N, weight_N.astype(float), np.zeros(shape, np.int32), np.zeros(shape))


@quick_jit
def _look(game: Game, state_N: State) -> tuple[Array, Array, Array]:
    seen = jax.vmap(game.observe)(state_N)
    return seen.features_SF, seen.legal_SA, seen.acting_S


@quick_jit
def _move(game: Game, state_N: State, choice_NS: Array) -> tuple[State, Array, Array]:
    action_N = Action(choice_NS[..., None], jnp.zeros((*choice_NS.shape, 0)))
    after_N, step = jax.vmap(game.step, (0, 0, None))(state_N, action_N, ())
    return after_N, step.reward_S, ~(step.over | step.cut)


def _chunks(count: int) -> Iterator[tuple[slice, np.ndarray]]:
    """Parts of a range, each with its indices, the last one repeated where they are few: all have one shape."""
    for begin in range(0, count, CHUNK):
        yield slice(begin, min(begin + CHUNK, count)), np.minimum(np.arange(begin, begin + CHUNK), count - 1)


def _seen(game: Game, level: _Level, books: list[_Book]) -> tuple[np.ndarray, np.ndarray]:
    """set_SN, -1 where a seat does not decide, and legal_NSA."""
    set_SN = np.full(level.sequence_SN.shape, -1, np.int32)
    legal = []
    for part, index in _chunks(len(level.weight_N)):
        shown = _look(game, jax.tree.map(lambda x, index=index: x[index], level.state_N))
        features_NSF, legal_NSA, acting_NS = (np.asarray(x)[: part.stop - part.start] for x in shown)
        for seat, book in enumerate(books):
            now = np.flatnonzero(acting_NS[:, seat])
            sequence_N = level.sequence_SN[seat, part][now]
            set_SN[seat, part.start + now] = book.look_up(features_NSF[now, seat], legal_NSA[now, seat], sequence_N)
        legal.append(legal_NSA)
    return set_SN, np.concatenate(legal)


def _next(
    game: Game, level: _Level, set_SN: np.ndarray, legal_NSA: np.ndarray
) -> tuple[_Level, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The nodes one move later, earned_SE where the game ended, and sequence_SE, weight_E and reward_SE of the
    transitions that pay."""
    parent_E, choice_SE = _joint_choices(legal_NSA)
    own_SE = 1 + set_SN[:, parent_E] * legal_NSA.shape[2] + choice_SE
    sequence_SE = np.where(set_SN[:, parent_E] < 0, level.sequence_SN[:, parent_E], own_SE).astype(np.int32)
    made = []
    for part, index in _chunks(len(parent_E)):
        before = jax.tree.map(lambda x, index=index: x[parent_E[index]], level.state_N)
        choice_NS = jnp.asarray(choice_SE.T[index], jnp.int32)
        moved = jax.tree.map(np.asarray, _move(game, before, choice_NS))
        after, reward_ES, on_E = jax.tree.map(lambda x, part=part: x[: part.stop - part.start], moved)
        made.append((jax.tree.map(lambda x, on=on_E: x[on], after), reward_ES, on_E))
    after, reward, on = zip(*made, strict=True)
    reward_SE, on_E, weight_E = np.concatenate(reward).T.astype(float), np.concatenate(on), level.weight_N[parent_E]
    pays_E = (reward_SE != 0.0).any(axis=0)
    state_N = jax.tree.map(lambda *parts: np.concatenate(parts), *after)
    earned_SE = level.earned_SN[:, parent_E] + reward_SE
    following = _Level(state_N, weight_E[on_E], sequence_SE[:, on_E], earned_SE[:, on_E])
    return following, earned_SE[:, ~on_E], sequence_SE[:, pays_E], weight_E[pays_E], reward_SE[:, pays_E]


def _joint_choices(legal_NSA: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """parent_E and choice_SE: every node with every combination of what its seats may choose."""
    parent_E, choices = np.arange(len(legal_NSA)), []
    for seat in range(legal_NSA.shape[1]):
        row_E, entry_E = np.nonzero(legal_NSA[parent_E, seat])
        parent_E, choices = parent_E[row_E], [*(choice[row_E] for choice in choices), entry_E]
    return parent_E, np.stack(choices)
