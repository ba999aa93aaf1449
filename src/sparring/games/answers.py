"""What the module of a game, or its tree, knows exactly about it; looked up by name, None where it knows nothing."""

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from sparring.games.game import Game


def exploitability_of(game: Game) -> Callable[[Any, Callable], float] | None:
    """The exact `policy_exploitability(game, probabilities)`: of the module that defines the game, or by its tree where
    it has `openings`; else None."""
    return _exact(game, "policy_exploitability")


def gains_of(game: Game) -> Callable[[Any, Callable], Sequence[float]] | None:
    """The exact `policy_gains(game, probabilities)`: what each seat could gain, of which exploitability is the mean."""
    return _exact(game, "policy_gains")


def largest_exploitability(game: Game) -> float | None:
    """What no policy's exact exploitability can exceed; None where the game does not tell."""
    told = _exact(game, "largest_exploitability")
    return told(game) if told else None


def exact_is_slow(game: Game) -> bool:
    """Whether such an answer takes seconds, as the module that defines the game says (`EXACT_IS_SLOW`)."""
    return bool(_in_module_of(game, "EXACT_IS_SLOW"))


def mixture_exploitability_of(game: Game) -> Callable[[Any, Sequence[Callable], Any], float | None] | None:
    """The same of a mixture, `mixture_exploitability(game, members, weight_M)`: a policy is drawn before each game and
    kept to its end. None where the game has none; it gives None where that cannot be told from single situations."""
    return _exact(game, "mixture_exploitability")


def open_spiel_rows_of(game: Game) -> Callable[..., tuple[Any, Any]] | None:
    """`from_open_spiel(game, rows_RI)` of the module that defines the game, or None: features_RF and legal_RA from rows
    of OpenSpiel's tensors. Where these do not say whose they are, it also takes position_R, the player of each row."""
    return _in_module_of(game, "from_open_spiel")


def _exact(game: Game, name: str) -> Callable | None:
    own = _in_module_of(game, name)
    if own is None and game.openings() is not None:
        return getattr(import_module("sparring.games.tree"), name)
    return own


def _in_module_of(game: Game, name: str) -> Any:
    """What has this name in the module that defines the game."""
    modules = (sys.modules.get(kind.__module__) for kind in type(game).__mro__)
    found = (getattr(module, name, None) for module in modules)
    return next((one for one in found if one is not None), None)
