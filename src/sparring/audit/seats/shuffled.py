"""A game whose places are dealt out anew before each game: does a difference follow the name or the place?"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from sparring.audit.seats.claims import orders_of
from sparring.games.game import Game
from sparring.games.own_parts import OwnParts


def shuffled(game: Game) -> OwnParts:
    """The game beginning with its seats in an order drawn by chance; everything else is that game's."""
    orders_OS = np.stack([np.arange(game.spec.seats), *orders_of(game.spec)])

    def dealt(state: Any, key: Array) -> Any:
        return game.permute(state, jnp.asarray(orders_OS)[jax.random.randint(key, (), 0, len(orders_OS))])

    return OwnParts(game.spec, game.rules, game, opening=dealt)
