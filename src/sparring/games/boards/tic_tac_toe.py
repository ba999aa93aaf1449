"""Tic-tac-toe: three in a row on nine cells, everything seen; cell = row x 3 + column, as in OpenSpiel's `tic_tac_toe`.

Boards are few (5,478), so best play and the best answer to any policy are known exactly: nothing is hidden, so what is
best on a board does not depend on how it came about.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.records import Action, Observation, Step
from sparring.core.scene import Scene
from sparring.core.spec import Feature, GameSpec
from sparring.games.boards.scenes import board_scene
from sparring.games.boards.turns import (
    CERTAIN,
    ENDED,
    FIRST,
    SECOND,
    board_spec,
    cells_of,
    ending,
    has_won,
    mask_of,
    observation,
    stone_of,
)
from sparring.games.boards.winning import lines, won_table
from sparring.games.cards.table import Positions, one_hot, rows_of, seated, seatings
from sparring.games.game import Bots, Chance, Game
from sparring.games.tree import Probabilities

CELLS = 9
LINES = lines(3, 3, 3)


class TicTacToeState(NamedTuple):
    own_S: Array
    """Marks of a seat, one bit for each cell; int32."""
    position_S: Array
    """0 for the seat that began, 1 for the other; int32."""
    turn: Array
    """The position that is to move, or ENDED; int32."""


class TicTacToe(Game):
    spec: GameSpec = eqx.field(static=True)
    rules: tuple

    def start(self, key: Array) -> TicTacToeState:
        return TicTacToeState(jnp.zeros(2, jnp.int32), seated(self.spec, key), jnp.array(FIRST, jnp.int32))

    def observe(self, state: TicTacToeState) -> Observation:
        own_SA = cells_of(state.own_S, CELLS)
        features_SF = jnp.concatenate(
            [own_SA.astype(float), own_SA[::-1].astype(float), one_hot(state.position_S, 2)], axis=1
        )
        return observation(features_SF, ~(own_SA | own_SA[::-1]), state.position_S == state.turn)

    def central(self, state: TicTacToeState) -> Array:
        """Nothing is hidden."""
        return self.observe(state).features_SF

    def step(self, state: TicTacToeState, action: Action, chance: Chance) -> tuple[TicTacToeState, Step]:
        del chance
        own_S = state.own_S | stone_of(action.discrete_SD[:, 0], state.position_S == state.turn)
        full = own_S[0] | own_S[1] == (1 << CELLS) - 1
        step = ending(has_won(own_S, state.position_S, (LINES, LINES)), full)
        turn = jnp.where(step.over, ENDED, 1 - state.turn).astype(jnp.int32)
        return TicTacToeState(own_S, state.position_S, turn), step

    def scene(self, state: TicTacToeState) -> Scene:
        return board_scene(state.own_S, state.position_S, state.turn, 3, 3)

    def bots(self) -> Bots:
        """`perfect` keeps the value of every board, any such move alike; `careful` wins where it can, else blocks;
        `centre` takes the middle, then corners. Parameters: weights of best play, of that, and of the middle."""
        table = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
        return Bots(("perfect", "careful", "centre"), jnp.array(table))

    def bot_scores(self, parameters_J: Array, features_NF: Array, legal_NA: Array) -> tuple[Array, Array]:
        del legal_NA
        own_N, other_N = mask_of(features_NF[:, :CELLS]), mask_of(features_NF[:, CELLS : 2 * CELLS])
        stone_A, line_Z = np.left_shift(1, np.arange(CELLS)), np.array(LINES)
        wins_NA, blocks_NA = (
            jnp.any((mask_N[:, None] | stone_A)[:, :, None] & line_Z == line_Z, axis=2) for mask_N in (own_N, other_N)
        )
        best_NA = jnp.asarray(best_moves())[own_N, other_N]
        place_A = np.array([1, 0, 1, 0, 2, 0, 1, 0, 1])
        best, tactics, middle = parameters_J
        logits_NA = best * best_NA + tactics * (2.0 * wins_NA + blocks_NA) + middle * place_A
        return CERTAIN * logits_NA, jnp.zeros((features_NF.shape[0], 0))


def tic_tac_toe(positions: Positions = "random") -> TicTacToe:
    """Three in a row on nine cells; solved, so exploitability is exact."""
    layout = (Feature("own", (CELLS,)), Feature("other", (CELLS,)), Feature("position", (2,)))
    spec = board_spec(CELLS, layout, central=20, shortest=5, longest=CELLS, positions=positions)
    return TicTacToe(spec, ())


def from_open_spiel(game: TicTacToe, rows_RI: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """features_RF and legal_RA of rows of OpenSpiel's observation_tensor where a player decides: planes of empty cells,
    noughts and crosses. They say themselves whose turn it is: crosses begin."""
    del game
    empty_RA, second_RA, first_RA = np.split(rows_of(rows_RI, 3 * CELLS, "tic_tac_toe"), 3, axis=1)
    begins_R1 = first_RA.sum(axis=1, keepdims=True) == second_RA.sum(axis=1, keepdims=True)
    own_RA, other_RA = (np.where(begins_R1, *pair) for pair in ((first_RA, second_RA), (second_RA, first_RA)))
    return np.concatenate([own_RA, other_RA, begins_R1, ~begins_R1], axis=1).astype(np.float32), empty_RA > 0.5


@lru_cache
def best_moves() -> np.ndarray:
    """Which moves keep the value of a board: [own marks, the other's, cell]."""
    best = np.zeros((1 << CELLS, 1 << CELLS, CELLS), np.int8)

    def keep(own: int, other: int, worth: dict[int, float]) -> float:
        value = max(worth.values())
        best[own, other, [cell for cell, one in worth.items() if one == value]] = 1
        return value

    _solved(keep, keep)
    return best


def largest_exploitability(_: TicTacToe) -> float:
    """A game pays 1 at most, and what one gains the other loses."""
    return 1.0


def policy_exploitability(game: TicTacToe, probabilities: Probabilities) -> float:
    """NashConv / 2 of a policy, exact: the mean of what the best first and the best second player earn against it.

    With random positions each seat is first half of the time: the gap is the mean over the two ways to sit.
    """
    chosen = [[_chosen(probabilities, seat, position) for position in range(2)] for seat in range(2)]

    def best(_own: int, _other: int, worth: dict[int, float]) -> float:
        return max(worth.values())

    def gap(first: int, second: int) -> float:
        earned = _solved(best, chosen[second][SECOND])
        lost = _solved(chosen[first][FIRST], best)
        return (earned - lost) / 2.0

    return float(np.mean([gap(*way) for way in seatings(game.spec)]))


def _chosen(probabilities: Probabilities, seat: int, position: int) -> Callable[[int, int, dict[int, float]], float]:
    """How a seat values a board by what it does there; it is asked about all boards at once."""
    own_R, other_R = np.divmod(np.arange(1 << 2 * CELLS), 1 << CELLS)
    marks = [int(mask).bit_count() for mask in range(1 << CELLS)]
    count_X = np.array(marks)
    turn_R = (own_R & other_R == 0) & (count_X[other_R] - count_X[own_R] == position)
    own_R, other_R = own_R[turn_R], other_R[turn_R]
    own_RA, other_RA = (mask_R[:, None] >> np.arange(CELLS) & 1 for mask_R in (own_R, other_R))
    free_RA = own_RA + other_RA == 0
    room_R = free_RA.any(axis=1)
    position_RP = np.tile(np.eye(2)[position], (len(own_R), 1))
    features_RF = np.concatenate([own_RA, other_RA, position_RP], axis=1).astype(np.float32)
    chance = np.zeros((1 << CELLS, 1 << CELLS, CELLS))
    chance[own_R[room_R], other_R[room_R]] = probabilities(seat, features_RF[room_R], free_RA[room_R])
    return lambda own, other, worth: sum(float(chance[own, other, cell]) * one for cell, one in worth.items())


def _solved(first: Callable, second: Callable) -> float:
    """What the first player earns; each of the two says what a board is worth to it, from what its moves are worth."""
    won_X, known = won_table(LINES, CELLS), {}

    def value(own: int, other: int, mover: Callable, waiting: Callable) -> float:
        """To the player that moves."""
        if (own, other) not in known:
            worth = {}
            for cell in (cell for cell in range(CELLS) if not (own | other) >> cell & 1):
                mark = own | 1 << cell
                over = won_X[mark] or mark | other == (1 << CELLS) - 1
                worth[cell] = float(won_X[mark]) if over else -value(other, mark, waiting, mover)
            known[own, other] = mover(own, other, worth)
        return known[own, other]

    return value(0, 0, first, second)
