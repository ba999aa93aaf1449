"""Three players in turn put stones on a small board; the first with so many in a row wins, and the other two lose.

With three, whoever leaves a threat to the next player may save a move, or be wrong: who moves next must block alone,
who moves after that can be left to the one between. The winner earns 1, the others lose one half each; a full board is
a draw. The rules are ours. Who sits where is drawn, so that seats are alike.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.core.errors import ConfigError
from sparring.core.records import Action, Observation, Step
from sparring.core.scene import Scene
from sparring.core.spec import Feature, GameSpec
from sparring.games.balance import Suits
from sparring.games.boards.scenes import board_scene
from sparring.games.boards.turns import CERTAIN, board_spec, cells_of, ending, mask_of, observation, stone_of
from sparring.games.boards.winning import lines
from sparring.games.cards.table import Positions, one_hot, seated
from sparring.games.game import Bots, Chance, Game

PLAYERS = 3
SUITS: Suits = (("worlds", 192), ("steps", 24), ("discount", 1.0))
"""Worlds that a league of three sides can divide; only the result of a short game counts."""


class TrioState(NamedTuple):
    own_S: Array
    """Stones of a seat, one bit for each cell; int32."""
    position_S: Array
    """0 for the seat that began, 1 for the next, 2 for the last; int32."""
    turn: Array
    """The position that is to move, or 3 once the game has ended; int32."""


class Trio(Game):
    spec: GameSpec = eqx.field(static=True)
    rules: tuple
    size: int = eqx.field(static=True)
    length: int = eqx.field(static=True)

    @property
    def lines_Z(self) -> np.ndarray:
        return np.array(lines(self.size, self.size, self.length), np.int32)

    def start(self, key: Array) -> TrioState:
        return TrioState(jnp.zeros(PLAYERS, jnp.int32), seated(self.spec, key), jnp.zeros((), jnp.int32))

    def observe(self, state: TrioState) -> Observation:
        """Own stones, those of the next to move and of the one after, and the own position."""
        cells = self.size**2
        by_position_P = state.own_S[jnp.argsort(state.position_S)]
        from_own_SP = (state.position_S[:, None] + np.arange(PLAYERS)) % PLAYERS
        stones_SPA = cells_of(by_position_P[from_own_SP], cells)
        board_SX = stones_SPA.reshape(PLAYERS, PLAYERS * cells).astype(float)
        features_SF = jnp.concatenate([board_SX, one_hot(state.position_S, PLAYERS)], axis=1)
        return observation(features_SF, ~jnp.any(stones_SPA, axis=1), state.position_S == state.turn)

    def central(self, state: TrioState) -> Array:
        """Nothing is hidden."""
        return self.observe(state).features_SF

    def step(self, state: TrioState, action: Action, chance: Chance) -> tuple[TrioState, Step]:
        del chance
        own_S = state.own_S | stone_of(action.discrete_SD[:, 0], state.position_S == state.turn)
        full = jnp.sum(own_S) == (1 << self.size**2) - 1  # no two have a stone on one cell
        step = ending(jnp.any(own_S[:, None] & self.lines_Z == self.lines_Z, axis=1), full)
        turn = jnp.where(step.over, PLAYERS, (state.turn + 1) % PLAYERS).astype(jnp.int32)
        return TrioState(own_S, state.position_S, turn), step

    def scene(self, state: TrioState) -> Scene:
        return board_scene(state.own_S, state.position_S, state.turn, self.size, self.size)

    def bots(self) -> Bots:
        """`careful` wins where it can, else blocks the next to move, else the one after, else is random; `solid` keeps
        to the middle meanwhile; `shirker` leaves the one after to the next; `centre` keeps to the middle alone.
        Parameters: weights of winning and of blocking the next, of blocking the one after, and of the middle."""
        table = [[1.0, 1.0, 0.0], [1.0, 1.0, 0.1], [1.0, 0.0, 0.0], [0.0, 0.0, 0.1]]
        return Bots(("careful", "solid", "shirker", "centre"), jnp.array(table))

    def bot_scores(self, parameters_J: Array, features_NF: Array, legal_NA: Array) -> tuple[Array, Array]:
        del legal_NA
        cells, line_Z = self.size**2, self.lines_Z
        stones_NPA = features_NF[:, : PLAYERS * cells].reshape(-1, PLAYERS, cells)
        completed_NPA = mask_of(stones_NPA)[:, :, None] | np.left_shift(1, np.arange(cells), dtype=np.int32)
        wins_NPA = jnp.any(completed_NPA[..., None] & line_Z == line_Z, axis=-1)
        tactics, after, middle = parameters_J
        worth_NA = tactics * (4.0 * wins_NPA[:, 0] + 2.0 * wins_NPA[:, 1]) + after * wins_NPA[:, 2]
        way_A = np.abs(np.arange(self.size) - (self.size - 1) / 2)
        middle_A = -np.maximum(way_A[:, None], way_A).reshape(cells)
        return CERTAIN * (worth_NA + middle * middle_A), jnp.zeros((features_NF.shape[0], 0))


def trio(size: int = 4, length: int = 3, positions: Positions = "random") -> Trio:
    """Three players on a small board: the first with so many stones in a row wins, the other two lose."""
    if not 3 <= size <= 5 or not 3 <= length <= size:
        raise ConfigError(
            f"trio is played on 3x3 to 5x5 cells for 3 in a row up to a whole row, found size={size}, length={length}."
        )
    cells = size * size
    board = (size, size, 1)
    layout = (Feature("own", board), Feature("next", board), Feature("after", board), Feature("position", (PLAYERS,)))
    shortest = min(PLAYERS * (length - 1) + 1, cells)
    spec = board_spec(
        cells, layout, central=PLAYERS * (cells + 1), shortest=shortest, longest=cells, positions=positions,
        seats=PLAYERS, suits=SUITS,
    )  # fmt: skip
    return Trio(spec, (), size, length)
