"""Board games played by hand."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from sparring.core.records import Action, Observation, Step
from sparring.games.game import Game
from sparring.games.trial import quick_jit

STEP = quick_jit(lambda game, state, action: game.step(state, action, ()))
SEE = quick_jit(lambda game, state: game.observe(state))
START = quick_jit(lambda game, key: game.start(key))
SCORE = quick_jit(lambda game, *given: game.bot_scores(*given))


def seen(game: Game, state: Any) -> Observation:
    return jax.tree.map(np.asarray, SEE(game, state))


def mover(game: Game, state: Any) -> int:
    (seat,) = np.flatnonzero(seen(game, state).acting_S)
    return int(seat)


def place(game: Game, state: Any, choice: int) -> tuple[Any, Step]:
    """One choice of the seat whose turn it is; the other asks for the last entry, which must not count."""
    choice_S = np.full((2, 1), game.spec.action.entries - 1, np.int32)
    choice_S[mover(game, state)] = choice
    return jax.tree.map(np.asarray, STEP(game, state, Action(jnp.array(choice_S), jnp.zeros((2, 0)))))


def play(game: Game, *choices: int, seed: int = 0) -> tuple[Any, Step | None]:
    """A whole line of play from the start."""
    state, step = START(game, jax.random.key(seed)), None
    for choice in choices:
        state, step = place(game, state, choice)
    return state, step


def feature(game: Game, row_F: np.ndarray, name: str) -> np.ndarray:
    begin = 0
    for block in game.spec.layout:
        if block.name == name:
            return row_F[begin : begin + block.size].reshape(block.shape)
        begin += block.size
    raise LookupError(name)


def bot_choices(game: Game, name: str, state: Any) -> list[int]:
    """The entries that a bot would choose from where the seat to move stands: more than one where they are alike."""
    bots, shown, seat = game.bots(), seen(game, state), mover(game, state)
    row = bots.table_PJ[bots.names.index(name)]
    logits_NA, _ = SCORE(game, row, shown.features_SF[[seat]], shown.legal_SA[[seat]])
    score_A = np.where(shown.legal_SA[seat], np.asarray(logits_NA)[0], -np.inf)
    return np.flatnonzero(score_A > score_A.max() - 1e-3).tolist()
