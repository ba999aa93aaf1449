"""Boards on which nobody sees the other's stones: phantom tic-tac-toe, and Hex in the dark.

A player chooses a cell of which it knows no stone. If the cell is free, its stone is placed and the other is to move.
If the other has a stone there, the move is refused: the player learns of that stone and, in the classical game, tries
again; in the abrupt game its turn is over. Nobody is told what the other tried, nor how often. As OpenSpiel's
`phantom_ttt` and `dark_hex` with `obstype=reveal-nothing`; cell = row x columns + column.

What a player sees is what it knows, without the order in which it came to know it: own stones, stones it has found,
unknown cells, how many cells it has tried, its position. The order would tell a little more of what the other may have
met, nothing of where one's own stones count. It is left out because a player is then one table of at most 3^9 rows for
each position, and what the best opponent with perfect memory earns against it is known exactly (`responder.py`).
"""

from functools import lru_cache
from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.errors import ConfigError
from sparring.core.records import Action, Observation, Step
from sparring.core.scene import Scene
from sparring.core.spec import Feature, GameSpec
from sparring.games.balance import HIDDEN
from sparring.games.boards.responder import Responder
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
from sparring.games.boards.winning import connections, lines, won_table
from sparring.games.cards.table import Positions, one_hot, rows_of, seated, seatings
from sparring.games.game import Bots, Chance, Game
from sparring.games.tree import Probabilities

Variant = Literal["classical", "abrupt"]

EXACT_IS_SLOW = True
"""A best response takes seconds."""
LARGEST_BOARD = 9
"""Cells, so that exploitability is exact in seconds."""


class UnseenState(NamedTuple):
    own_S: Array
    """Stones of a seat, one bit for each cell; int32."""
    found_S: Array
    """Those of the other that a seat knows of."""
    position_S: Array
    """0 for the seat that began, 1 for the other; int32."""
    turn: Array
    """The position that is to move, or ENDED; int32."""


class Unseen(Game):
    spec: GameSpec = eqx.field(static=True)
    rules: tuple
    rows: int = eqx.field(static=True)
    columns: int = eqx.field(static=True)
    sets: tuple[tuple[int, ...], tuple[int, ...]] = eqx.field(static=True)
    """The sets of cells that win for the first and for the second."""
    abrupt: bool = eqx.field(static=True)
    hexagonal: bool = eqx.field(static=True)
    """Whether cells have six neighbours: how it is drawn, and how OpenSpiel writes it down."""

    @property
    def cells(self) -> int:
        return self.rows * self.columns

    def start(self, key: Array) -> UnseenState:
        none_S = jnp.zeros(2, jnp.int32)
        return UnseenState(none_S, none_S, seated(self.spec, key), jnp.array(FIRST, jnp.int32))

    def observe(self, state: UnseenState) -> Observation:
        own_SA, found_SA = cells_of(state.own_S, self.cells), cells_of(state.found_S, self.cells)
        free_SA = ~(own_SA | found_SA)
        tried_S1 = jnp.sum(~free_SA, axis=1, keepdims=True)
        features_SF = jnp.concatenate(
            [
                *(plane.astype(float) for plane in (own_SA, found_SA, free_SA, tried_S1 == jnp.arange(self.cells))),
                one_hot(state.position_S, 2),
            ],
            axis=1,
        )
        return observation(features_SF, free_SA, state.position_S == state.turn)

    def step(self, state: UnseenState, action: Action, chance: Chance) -> tuple[UnseenState, Step]:
        del chance
        stone_S = stone_of(action.discrete_SD[:, 0], state.position_S == state.turn)
        refused_S = stone_S & state.own_S[::-1]
        own_S = state.own_S | (stone_S ^ refused_S)
        full = own_S[0] | own_S[1] == (1 << self.cells) - 1
        step = ending(has_won(own_S, state.position_S, self.sets), full)
        again = jnp.any(refused_S > 0) & (not self.abrupt)
        turn = jnp.where(step.over, ENDED, jnp.where(again, state.turn, 1 - state.turn)).astype(jnp.int32)
        return UnseenState(own_S, state.found_S | refused_S, state.position_S, turn), step

    def scene(self, state: UnseenState) -> Scene:
        return board_scene(
            state.own_S, state.position_S, state.turn, self.rows, self.columns,
            slant=0.5 if self.hexagonal else 0.0, found_S=state.found_S,
        )  # fmt: skip

    def bots(self) -> Bots:
        """`builder` adds to the winning set of which it has most and knows no foreign stone; `blocker` does so too and
        stands in the way of the stones it has found; `centre` goes from the middle outwards, `sweep` cell by cell.
        Parameters: weights of building, blocking, nearness to the middle, the order of cells."""
        table = [[1.0, 0.0, 0.1, 0.0], [1.0, 0.9, 0.1, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
        return Bots(("builder", "blocker", "centre", "sweep"), jnp.array(table))

    def bot_scores(self, parameters_J: Array, features_NF: Array, legal_NA: Array) -> tuple[Array, Array]:
        del legal_NA
        own_NA, found_NA = features_NF[:, : self.cells], features_NF[:, self.cells : 2 * self.cells]
        is_first_N1 = features_NF[:, -2:-1] > 0.5
        build_first_NA, build_second_NA = (_prospects(own_NA, found_NA, sets) for sets in self.sets)
        block_first_NA, block_second_NA = (_prospects(found_NA, own_NA, sets) for sets in self.sets)
        builds_NA = jnp.where(is_first_N1, build_first_NA, build_second_NA)
        blocks_NA = jnp.where(is_first_N1, block_second_NA, block_first_NA)
        row_A, column_A = np.divmod(np.arange(self.cells), self.columns)
        aside_A = np.hypot(row_A - (self.rows - 1) / 2, column_A - (self.columns - 1) / 2)
        order_A = np.arange(self.cells)
        weight = parameters_J * CERTAIN
        goal_NA = jnp.maximum(weight[0] * builds_NA, weight[1] * blocks_NA)
        logits_NA = goal_NA - weight[2] * aside_A - weight[3] * order_A
        return logits_NA, jnp.zeros((features_NF.shape[0], 0))


def _prospects(own_NA: Array, other_NA: Array, sets: tuple[int, ...]) -> Array:
    """How far along a cell is: 1 and the stones of the fullest winning set through it in which no stone of the other is
    known; 0 where there is none."""
    set_ZA = np.array([[mask >> cell & 1 for cell in range(own_NA.shape[1])] for mask in sets], np.float32)
    open_NZ = other_NA @ set_ZA.T < 0.5
    along_NZ = jnp.where(open_NZ, 1.0 + own_NA @ set_ZA.T, 0.0)
    return jnp.max(along_NZ[:, :, None] * set_ZA, axis=1)


def phantom_tic_tac_toe(variant: Variant = "classical", positions: Positions = "random") -> Unseen:
    """Tic-tac-toe without seeing the other's marks; a refused move shows one. Exploitability is exact."""
    three = lines(3, 3, 3)
    return _unseen(3, 3, (three, three), variant, positions, shortest=5, hexagonal=False)


def dark_hex(
    variant: Variant = "classical", positions: Positions = "random", rows: int = 3, columns: int = 3
) -> Unseen:
    """Hex without seeing the other's stones; a refused move shows one. Exploitability is exact."""
    if min(rows, columns) < 2 or rows * columns > LARGEST_BOARD:
        raise ConfigError(
            f"dark_hex has at least 2 rows and 2 columns and at most {LARGEST_BOARD} cells, found {rows} x {columns}: "
            "on larger boards exploitability would not be exact."
        )
    shortest = min(2 * rows - 1, 2 * columns)
    return _unseen(rows, columns, connections(rows, columns), variant, positions, shortest=shortest, hexagonal=True)


def _unseen(
    rows: int, columns: int, sets: tuple[tuple[int, ...], tuple[int, ...]], variant: str, positions: str, *,
    shortest: int, hexagonal: bool,
) -> Unseen:  # fmt: skip
    if variant not in ("classical", "abrupt"):
        raise ConfigError(f"variant is 'classical' or 'abrupt', found {variant!r}: abrupt ends a turn that is refused.")
    cells = rows * columns
    layout = tuple(Feature(name, (cells,)) for name in ("own", "found", "unknown", "tried"))
    layout += (Feature("position", (2,)),)
    spec = board_spec(
        cells,
        layout,
        central=2 * (4 * cells + 2),
        shortest=shortest,
        longest=2 * cells - 1,
        positions=positions,
        suits=(*HIDDEN, ("total_steps", 10_000_000)),
    )
    return Unseen(spec, (), rows, columns, sets, variant == "abrupt", hexagonal)


def from_open_spiel(game: Unseen, rows_RI: np.ndarray, position_R: np.ndarray) -> tuple[Array, Array]:
    """features_RF and legal_RA of rows of OpenSpiel's information_state_tensor where a player decides.

    A row begins with what is known of each cell and goes on with the own tries in order, which are not needed. It does
    not say whose it is: the one that has found a stone sees what the one that placed it sees.
    """
    cells, kinds = game.cells, 9 if game.hexagonal else 3
    rows_RI = rows_of(rows_RI, cells * (kinds + cells), "dark_hex" if game.hexagonal else "phantom_ttt")
    if (
        game.hexagonal
    ):  # nine kinds of a cell, of which 3 is white and 5 black: the others say what a stone is joined to
        first_RA, second_RA = rows_RI[:, 5 : 9 * cells : 9], rows_RI[:, 3 : 9 * cells : 9]
    else:  # planes of empty cells, noughts and crosses
        second_RA, first_RA = rows_RI[:, cells : 2 * cells], rows_RI[:, 2 * cells : 3 * cells]
    stones = [mask_of(jnp.asarray(cells_RA)) for cells_RA in (first_RA, second_RA)]
    whose_R = jnp.asarray(position_R, jnp.int32)
    own_R, found_R = (jnp.where(whose_R == FIRST, *pair) for pair in (stones, stones[::-1]))
    return _seen(game, own_R, found_R, whose_R)


def largest_exploitability(_: Unseen) -> float:
    """A game pays 1 at most, and what one gains the other loses."""
    return 1.0


def policy_exploitability(game: Unseen, probabilities: Probabilities) -> float:
    """NashConv / 2 of a policy, exact: the mean of what the best first and the best second player earn against it.

    With random positions each seat is first half of the time: the gap is the mean over the two ways to sit.
    """
    asked = [[_chosen(game, probabilities, seat, position) for position in range(2)] for seat in range(2)]
    ways = seatings(game.spec)
    if all(np.array_equal(*pair) for pair in zip(*asked, strict=True)):
        ways = ways[:1]  # the same player in both seats
    gaps = [
        _response(game, asked[second][SECOND], begins=True) + _response(game, asked[first][FIRST], begins=False)
        for first, second in ways
    ]
    return float(np.mean(gaps)) / 2.0


def _response(game: Unseen, chosen: np.ndarray, *, begins: bool) -> float:
    first_X, second_X = (won_table(sets, game.cells) for sets in game.sets)
    won_X, lost_X = (first_X, second_X) if begins else (second_X, first_X)
    return Responder(game.cells, game.abrupt, begins, won_X, lost_X, chosen).value()


def _chosen(game: Unseen, probabilities: Probabilities, seat: int, position: int) -> np.ndarray:
    """What a seat chooses in one position: [own stones, found stones, cell], zeros where it never decides."""
    own_R, found_R = _knowledge(game.cells)
    seen = _seen(game, *(jnp.asarray(x, jnp.int32) for x in (own_R, found_R, np.full_like(own_R, position))))
    chosen = np.zeros((1 << game.cells, 1 << game.cells, game.cells))
    chosen[own_R, found_R] = probabilities(seat, *map(np.asarray, seen))
    return chosen


@lru_cache
def _knowledge(cells: int) -> tuple[np.ndarray, np.ndarray]:
    """own_R and found_R of all that a player can know while a cell is unknown to it."""
    own_R, found_R = np.divmod(np.arange(1 << 2 * cells), 1 << cells)
    possible_R = (own_R & found_R == 0) & (own_R | found_R != (1 << cells) - 1)
    return own_R[possible_R], found_R[possible_R]


@eqx.filter_jit
def _seen(game: Unseen, own_R: Array, found_R: Array, position_R: Array) -> tuple[Array, Array]:
    """features_RF and legal_RA of players to move, as the game itself shows them: in seat 0 of a world."""

    def seen(own: Array, found: Array, position: Array) -> tuple[Array, Array]:
        own_S, found_S = jnp.stack([own, found]), jnp.stack([found, jnp.zeros_like(own)])
        shown = game.observe(UnseenState(own_S, found_S, jnp.stack([position, 1 - position]), position))
        return shown.features_SF[0], shown.legal_SA[0]

    return jax.vmap(seen)(own_R, found_R, position_R)
