"""Connect four: stones fall to the bottom of seven columns of six; four in a row win. As OpenSpiel's `connect_four`.

A row of the board is a whole number, one bit for each column, row 0 at the bottom: four in a row are a few shifts.
"""

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
    board_spec,
    cells_of,
    ending,
    mask_of,
    observation,
)
from sparring.games.cards.table import Positions, one_hot, rows_of, seated
from sparring.games.game import Bots, Chance, Game

ROWS, COLUMNS = 6, 7
CELLS = ROWS * COLUMNS


class ConnectFourState(NamedTuple):
    stones_SY: Array
    """Of each seat the stones in each row, one bit for each column; int32."""
    position_S: Array
    """0 for the seat that began, 1 for the other; int32."""
    turn: Array
    """The position that is to move, or ENDED; int32."""


class ConnectFour(Game):
    spec: GameSpec = eqx.field(static=True)
    rules: tuple

    def start(self, key: Array) -> ConnectFourState:
        none_SY = jnp.zeros((2, ROWS), jnp.int32)
        return ConnectFourState(none_SY, seated(self.spec, key), jnp.array(FIRST, jnp.int32))

    def observe(self, state: ConnectFourState) -> Observation:
        own_SA = cells_of(state.stones_SY, COLUMNS).reshape(2, CELLS).astype(float)
        features_SF = jnp.concatenate([own_SA, own_SA[::-1], one_hot(state.position_S, 2)], axis=1)
        free_A = ~cells_of(state.stones_SY[0, -1] | state.stones_SY[1, -1], COLUMNS)
        return observation(features_SF, jnp.broadcast_to(free_A, (2, COLUMNS)), state.position_S == state.turn)

    def central(self, state: ConnectFourState) -> Array:
        """Nothing is hidden."""
        return self.observe(state).features_SF

    def step(self, state: ConnectFourState, action: Action, chance: Chance) -> tuple[ConnectFourState, Step]:
        del chance
        taken_Y = state.stones_SY[0] | state.stones_SY[1]
        column_S = jnp.where(state.position_S == state.turn, jnp.left_shift(1, action.discrete_SD[:, 0]), 0)
        stones_SY = state.stones_SY | dropped(taken_Y, column_S[:, None]).astype(jnp.int32)
        full = stones_SY[0, -1] | stones_SY[1, -1] == (1 << COLUMNS) - 1
        step = ending(four_in_a_row(stones_SY), full)
        turn = jnp.where(step.over, ENDED, 1 - state.turn).astype(jnp.int32)
        return ConnectFourState(stones_SY, state.position_S, turn), step

    def scene(self, state: ConnectFourState) -> Scene:
        own = [sum(int(row) << COLUMNS * y for y, row in enumerate(rows_Y)) for rows_Y in state.stones_SY]
        return board_scene(own, state.position_S, state.turn, ROWS, COLUMNS, upwards=True)

    def bots(self) -> Bots:
        """`careful` wins where it can, else blocks, else is random; `solid` keeps to the middle meanwhile; `centre`
        keeps to the middle alone. Parameters: weights of winning and blocking, and of the middle."""
        return Bots(("careful", "solid", "centre"), jnp.array([[1.0, 0.0], [1.0, 0.1], [0.0, 0.1]]))

    def bot_scores(self, parameters_J: Array, features_NF: Array, legal_NA: Array) -> tuple[Array, Array]:
        del legal_NA
        own_NY, other_NY = (
            mask_of(features_NF[:, begin : begin + CELLS].reshape(-1, ROWS, COLUMNS)) for begin in (0, CELLS)
        )
        stone_A1 = jnp.left_shift(1, jnp.arange(COLUMNS))[:, None]
        stone_NAY = dropped((own_NY | other_NY)[:, None], stone_A1)
        wins_NA, blocks_NA = (four_in_a_row(rows_NY[:, None] | stone_NAY) for rows_NY in (own_NY, other_NY))
        middle_A = -np.abs(np.arange(COLUMNS) - COLUMNS // 2)
        logits_NA = parameters_J[0] * (2.0 * wins_NA + blocks_NA) + parameters_J[1] * middle_A
        return CERTAIN * logits_NA, jnp.zeros((features_NF.shape[0], 0))


def dropped(taken_Y: Array, column: Array) -> Array:
    """The stone that falls in a column, given by its bit: in the lowest row where it is free, none where it is full."""
    below_Y = jnp.concatenate([jnp.full_like(taken_Y[..., :1], (1 << COLUMNS) - 1), taken_Y[..., :-1]], axis=-1)
    return column & below_Y & ~taken_Y


def four_in_a_row(stones_Y: Array) -> Array:
    """Whether four stones stand side by side, one above another, or along a diagonal; leading axes are a batch."""
    beside_Y = stones_Y & stones_Y >> 1
    found = jnp.any(beside_Y & beside_Y >> 2 > 0, axis=-1)
    for shift in (0, 1, -1):
        moved = [_shifted(stones_Y[..., y : ROWS - 3 + y], shift * y) for y in range(4)]
        found |= jnp.any(moved[0] & moved[1] & moved[2] & moved[3] > 0, axis=-1)
    return found


def _shifted(rows_Y: Array, places: int) -> Array:
    return rows_Y << places if places >= 0 else rows_Y >> -places


def connect_four(positions: Positions = "random") -> ConnectFour:
    """Four in a row, by dropping stones into seven columns of six."""
    board = (ROWS, COLUMNS, 1)
    layout = (Feature("own", board), Feature("other", board), Feature("position", (2,)))
    spec = board_spec(COLUMNS, layout, central=2 * CELLS + 2, shortest=7, longest=CELLS, positions=positions)
    return ConnectFour(spec, ())


def from_open_spiel(game: ConnectFour, rows_RI: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """features_RF and legal_RA of rows of OpenSpiel's observation_tensor where a player decides: planes of the first's
    stones, the second's and empty cells, from the bottom up. They say themselves whose turn it is."""
    del game
    first_RA, second_RA, empty_RA = np.split(rows_of(rows_RI, 3 * CELLS, "connect_four"), 3, axis=1)
    begins_R1 = first_RA.sum(axis=1, keepdims=True) == second_RA.sum(axis=1, keepdims=True)
    own_RA, other_RA = (np.where(begins_R1, *pair) for pair in ((first_RA, second_RA), (second_RA, first_RA)))
    features_RF = np.concatenate([own_RA, other_RA, begins_R1, ~begins_R1], axis=1).astype(np.float32)
    return features_RF, empty_RA[:, -COLUMNS:] > 0.5
