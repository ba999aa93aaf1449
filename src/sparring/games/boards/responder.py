"""What the best opponent earns against a player of a board that nobody sees, exactly.

The responder remembers everything, so it has a decision for each order of its tries and of their results: millions. The
player is a function of what it knows (own stones, stones it has found), so all that a row of the responder needs is a
weight for each such state of the player: the probability of the player's choices on the way there. With the
responder's stones given, that state is one set of cells, those the player has tried: its own stones and the responder's
stones that it has found.

Rows whose responder knows the same (a `Spot`) differ in their weights alone. So a spot has one matrix, and a turn of
the player is one matrix product for all its rows. In the classical game the tries of one turn are merged: what they
teach is a set of stones, in any order. The last choices need no rows: their worth is a sum over the player's states.
Of phantom tic-tac-toe's 10^10 histories that leaves 0.2 million rows (abrupt: 2 million) with a dozen weights each.

Letters: Q rows of the responder, X and Y states of the player before and after its turn, N tries, J last choices.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np


class Spot(NamedTuple):
    """What the responder knows: cells with its own stones and with stones it has found, as bits."""

    own: int
    found: int


class Try(NamedTuple):
    """A choice of the responder: a cell, once others were refused in the same turn (none in the abrupt game)."""

    refused: int
    cell: int


class Branch(NamedTuple):
    """Where a try leads, and from which states of the player; None where it wins."""

    tried: int
    after: Spot | None
    from_Y: np.ndarray


class Turn(NamedTuple):
    """A turn of the player at a spot."""

    before_X: np.ndarray
    after_Y: np.ndarray
    moves_XY: np.ndarray
    wins_X: np.ndarray
    """How likely the player wins in it."""


@dataclass
class Responder:
    """A best response to one player. Tables are over all sets of cells."""

    cells: int
    abrupt: bool
    begins: bool
    """Whether the responder does."""
    won_X: np.ndarray
    """Sets of stones that win for the responder."""
    lost_X: np.ndarray
    """And for the player."""
    chosen: np.ndarray
    """Probabilities of the player: [own stones, found stones, cell]."""
    judged: dict[Spot, np.ndarray] = field(default_factory=dict)
    """What `_judged` has found."""

    def __post_init__(self) -> None:
        self.every_X = np.arange(1 << self.cells)
        self.count_X = np.array([int(mask).bit_count() for mask in self.every_X])
        self.stone_A = np.left_shift(1, np.arange(self.cells))

    def value(self) -> float:
        """What the best response earns on average: 1 for a win, -1 for a loss."""
        root = Spot(0, 0)
        if self.begins:
            return float(self._values({root: np.ones((1, 1))})[root][0])
        turn = self._turn(root)
        return float(self._values({root: turn.moves_XY.T})[root][0] - turn.wins_X[0])

    def _values(self, weight: dict[Spot, np.ndarray]) -> dict[Spot, np.ndarray]:
        """value_Q of all rows of spots at which the responder is to move, from weight_YQ."""
        tries = {spot: list(self._tries(spot)) for spot in weight}
        worth, sources = {}, defaultdict(list)
        for spot, weight_YQ in weight.items():
            branches = list(self._branches(spot, tries[spot]))
            worth[spot] = self._settled(spot, branches, len(tries[spot]), weight_YQ)
            for branch in branches:
                if branch.after and not self._is_settled(branch.after):
                    sources[branch.after].append((spot, branch))
        later = {}
        for spot, parts in sources.items():
            turn = self._turn(spot)
            weight_XQ = self._arriving(turn.before_X, parts, weight)
            _share(-(turn.wins_X @ weight_XQ), parts, worth)
            later[spot] = turn.moves_XY.T @ weight_XQ
            if self._is_last(spot):  # at once: these are most of the rows
                _share(self._values({spot: later.pop(spot)})[spot], parts, worth)
        if later:
            for spot, value_Q in self._values(later).items():
                _share(value_Q, sources[spot], worth)
        return {spot: _best(tries[spot], worth_NQ) for spot, worth_NQ in worth.items()}

    def _arriving(self, before_X: np.ndarray, parts: list[tuple[Spot, Branch]], weight: dict) -> np.ndarray:
        """weight_XQ of all rows that come to a spot, source by source."""
        weight_XQ = np.zeros((len(before_X), sum(weight[source].shape[1] for source, _ in parts)))
        begin = 0
        for source, branch in parts:
            place = np.searchsorted(before_X, self._states(source, own_turn=True)[branch.from_Y])
            block = weight[source][branch.from_Y]
            weight_XQ[place, begin : begin + block.shape[1]] = block
            begin += block.shape[1]
        return weight_XQ

    def _settled(self, spot: Spot, branches: list[Branch], tries: int, weight_YQ: np.ndarray) -> np.ndarray:
        """worth_NQ of the branches that win or leave no more than a last choice, of which the best is taken."""
        state_Y, worth_NQ = self._states(spot, own_turn=True), np.zeros((tries, weight_YQ.shape[1]))
        settled = [branch for branch in branches if branch.after is None or self._is_settled(branch.after)]
        if settled:
            blocks = [self._judged(branch.after)[:, state_Y] * branch.from_Y for branch in settled]
            begin = np.cumsum([0, *map(len, blocks[:-1])])
            best_BQ = np.maximum.reduceat(np.concatenate(blocks) @ weight_YQ, begin)
            np.add.at(worth_NQ, [branch.tried for branch in settled], best_BQ)
        return worth_NQ

    def _states(self, spot: Spot, *, own_turn: bool) -> np.ndarray:
        """All that the player can have tried when it is the responder's turn at a spot, or the player's."""
        stones_X = self.every_X & ~spot.own
        ahead = own_turn - self.begins
        if self.abrupt:
            fits_X = self.count_X == (spot.own | spot.found).bit_count() + ahead
        else:
            fits_X = self.count_X[stones_X] == spot.own.bit_count() + ahead
        fits_X = fits_X & (self.every_X & spot.found == spot.found) & ~self.lost_X[stones_X]
        return np.flatnonzero(fits_X & (spot.own.bit_count() + self.count_X[stones_X] < self.cells))

    def _tries(self, spot: Spot) -> Iterator[Try]:
        unknown = (1 << self.cells) - 1 & ~(spot.own | spot.found)
        hidden = 0 if self.abrupt else spot.own.bit_count() + (not self.begins) - spot.found.bit_count()
        for refused in _subsets(unknown):
            if refused.bit_count() <= hidden:
                yield from (Try(refused, cell) for cell in range(self.cells) if (unknown & ~refused) >> cell & 1)

    def _branches(self, spot: Spot, tries: list[Try]) -> Iterator[Branch]:
        """Draws lead nowhere."""
        state_Y = self._states(spot, own_turn=True)
        refused_N1, cell_N1 = np.array(tries).T[:, :, None]
        refuses_NY = state_Y & np.left_shift(1, cell_N1) > 0
        placed_NY = ~refuses_NY & (state_Y & refused_N1 == refused_N1)
        room_Y = spot.own.bit_count() + 1 + self.count_X[state_Y & ~spot.own] < self.cells
        for n, (refused, cell) in enumerate(tries):
            own = spot.own | 1 << cell
            if self.won_X[own]:
                yield Branch(n, None, placed_NY[n])
            else:
                yield Branch(n, Spot(own, spot.found | refused), placed_NY[n] & room_Y)
            if self.abrupt:
                yield Branch(n, Spot(spot.own, spot.found | 1 << cell), refuses_NY[n])

    def _turn(self, spot: Spot) -> Turn:
        before_X, after_Y = self._states(spot, own_turn=False), self._states(spot, own_turn=True)
        chance_XA = self.chosen[before_X & ~spot.own, before_X & spot.own]
        then_XA = before_X[:, None] | self.stone_A
        wins_X = np.where(self.lost_X[then_XA & ~spot.own], chance_XA, 0.0).sum(axis=1)
        moves_XY = _placed(chance_XA, then_XA, after_Y)
        if not self.abrupt:  # a refused player goes on from a state with one stone found more: the most found first
            again_XX = _placed(np.where(self.stone_A & spot.own, chance_XA, 0.0), then_XA, before_X)
            found_X = self.count_X[before_X & spot.own]
            for count in range(spot.own.bit_count() - 1, -1, -1):
                now, next_ = np.flatnonzero(found_X == count), np.flatnonzero(found_X == count + 1)
                again = again_XX[np.ix_(now, next_)]
                moves_XY[now] += again @ moves_XY[next_]
                wins_X[now] += again @ wins_X[next_]
        return Turn(before_X, after_Y, moves_XY, wins_X)

    def _is_settled(self, spot: Spot) -> bool:
        """Whether, once the player has moved, the responder has one choice between two cells left, or none at all."""
        if self.abrupt:
            return (spot.own | spot.found).bit_count() >= self.cells - 2
        return 2 * spot.own.bit_count() + (not self.begins) >= self.cells - 1

    def _is_last(self, spot: Spot) -> bool:
        """Whether every try from here is settled."""
        if self.abrupt:
            return (spot.own | spot.found).bit_count() >= self.cells - 3
        return 2 * spot.own.bit_count() + (not self.begins) >= self.cells - 3

    def _judged(self, spot: Spot | None) -> np.ndarray:
        """judged_JX of a settled spot: what each last choice is worth in each state of the player, who is to move."""
        if spot is None:
            return np.ones((1, len(self.every_X)))
        if not self.abrupt:  # what is left is forced, whatever the responder knows
            spot = Spot(spot.own, 0)
        if spot not in self.judged:
            turn = self._turn(spot)
            last_JY = self._last_choices(spot, turn.after_Y)
            self.judged[spot] = np.zeros((len(last_JY), len(self.every_X)))
            self.judged[spot][:, turn.before_X] = last_JY @ turn.moves_XY.T - turn.wins_X
        return self.judged[spot]

    def _last_choices(self, spot: Spot, state_Y: np.ndarray) -> np.ndarray:
        if not self.abrupt:
            last_Y = (1 << self.cells) - 1 & ~(spot.own | state_Y)
            return self.won_X[spot.own | last_Y][None].astype(float)
        tries = list(self._tries(spot))
        worth_NY = np.zeros((max(len(tries), 1), len(state_Y)))
        for branch in self._branches(spot, tries) if len(state_Y) else ():
            worth_NY[branch.tried] += self._judged(branch.after)[0, state_Y] * branch.from_Y
        return worth_NY


def _best(tries: list[Try], worth_NQ: np.ndarray) -> np.ndarray:
    """value_Q: the best try first, then after each refusal the best of the rest; tries with most refusals first."""
    value: dict[int, np.ndarray] = {}
    for (refused, cell), worth_Q in zip(tries, worth_NQ, strict=True):
        then = value.get(refused | 1 << cell)
        worth_Q = worth_Q if then is None else worth_Q + then
        value[refused] = np.maximum(value[refused], worth_Q) if refused in value else worth_Q
    return value[0]


def _share(value_Q: np.ndarray, parts: list[tuple[Spot, Branch]], worth: dict[Spot, np.ndarray]) -> None:
    """Add what rows of a spot are worth to the tries that led there, in the order in which they arrived."""
    begin = 0
    for source, branch in parts:
        end = begin + worth[source].shape[1]
        worth[source][branch.tried] += value_Q[begin:end]
        begin = end


def _placed(chance_XA: np.ndarray, then_XA: np.ndarray, state_Y: np.ndarray) -> np.ndarray:
    """chance_XY from chances of cells and the states they lead to; those that are no state of Y are left out."""
    placed_XY = np.zeros((len(then_XA), len(state_Y)))
    if len(state_Y):
        place_XA = np.minimum(np.searchsorted(state_Y, then_XA), len(state_Y) - 1)
        row, column = np.nonzero((state_Y[place_XA] == then_XA) & (chance_XA > 0.0))
        placed_XY[row, place_XA[row, column]] = chance_XA[row, column]
    return placed_XY


def _subsets(mask: int) -> list[int]:
    """All subsets, supersets before their subsets."""
    subsets = [mask]
    while subsets[-1]:
        subsets.append((subsets[-1] - 1) & mask)
    return subsets
