"""Players of our runs for judges outside: probabilities over OpenSpiel's actions from rows of OpenSpiel's tensors."""

from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike

from sparring.core.errors import ConfigError, GameError
from sparring.games import answers, registry
from sparring.players.named import entrant, game_of, no_player

CHUNK = 1 << 16
"""Rows that are judged by one call of the compiled program; fewer are filled up to a power of two."""


def open_spiel_probabilities(
    run: str | Path, rows_RI: ArrayLike, *, position: ArrayLike | None = None, player: str = "", seed: int | None = None
) -> np.ndarray:
    """probability_RA over OpenSpiel's actions of a run's player, from rows of OpenSpiel's `information_state_tensor`
    (`observation_tensor` for games that hide nothing), all where it is the player's turn.

    `run` is the folder of a run or a player package; `player` a learner of it, its shadow (`learner.shadow`) or a past
    self (`past-900`), as everywhere. `position` is OpenSpiel's number of the player whose rows these are, one for all
    or one for each; games whose rows say it themselves do without.
    """
    return open_spiel_player(run, player=player, seed=seed)(rows_RI, position)


def open_spiel_player(
    run: str | Path, *, player: str = "", seed: int | None = None
) -> Callable[[ArrayLike, ArrayLike | None], np.ndarray]:
    """The same for a judge that asks often: (rows_RI, position) -> probability_RA, read from its files once."""
    text = f"{run}{player and f':{player}'}{'' if seed is None else f'#{seed}'}"
    named = game_of([text])
    if named is None:
        raise no_player(text)
    game = registry.configured(*named)
    read = answers.open_spiel_rows_of(game)
    if read is None:
        raise GameError(f"{named[0]} is not a game that OpenSpiel has: its module has no from_open_spiel().")
    found = entrant(text, game, named[0])
    if found.meta is not None and (found.meta.net["memory"] != "none" or found.meta.net.get("hyper", "none") != "none"):
        raise ConfigError(
            f"{text} has a memory or generated weights, and a row of OpenSpiel's does not say what it remembers or "
            "which seat it is. Name a player without."
        )
    asks_whose = len(signature(read).parameters) > 2

    def probabilities(rows_RI: ArrayLike, position: ArrayLike | None = None) -> np.ndarray:
        rows_RI = np.atleast_2d(np.asarray(rows_RI, np.float32))
        if asks_whose and position is None:
            raise ConfigError(
                f"Rows of {named[0]} are alike for both players: give position=0 or position=1, whose they are."
            )
        whose = np.broadcast_to(np.asarray(position if asks_whose else 0, np.int32), len(rows_RI))
        chunks = [slice(begin, begin + CHUNK) for begin in range(0, len(rows_RI), CHUNK)]
        said = [
            _said(found.policy, read, game, rows_RI[part], *([whose[part]] if asks_whose else [])) for part in chunks
        ]
        return np.concatenate([np.zeros((0, game.spec.action.entries), np.float32), *said])

    return probabilities


def _said(policy: Any, read: Callable, game: Any, rows_RI: np.ndarray, *whose: np.ndarray) -> np.ndarray:
    """One chunk, filled up with its first row so that few shapes are compiled for."""
    size = 1 << (len(rows_RI) - 1).bit_length()
    filled = [np.concatenate([x, np.repeat(x[:1], size - len(x), axis=0)]) for x in (rows_RI, *whose)]
    features_RF, legal_RA = read(game, *filled)
    return np.asarray(_probabilities(policy, jnp.asarray(features_RF), jnp.asarray(legal_RA)))[: len(rows_RI)]


@eqx.filter_jit
def _probabilities(policy: Any, features_RF: Array, legal_RA: Array) -> Array:
    distribution, _ = policy(features_RF, legal_RA, ())
    return jnp.where(legal_RA, jnp.exp(distribution.log_p_A), 0.0)
