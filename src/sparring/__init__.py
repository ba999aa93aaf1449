"""Sparring: self-play for multi-agent reinforcement learning. The public list, loaded when a name is first used."""

from importlib import import_module
from typing import Any

_PUBLIC = {
    "Game": "sparring.games.game",
    "Module": "sparring.learn.module",
    "RunConfig": "sparring.setup.config",
    "available": "sparring.games.registry",
    "build": "sparring.setup.build",
    "check_game": "sparring.games.contract",
    "collect": "sparring.play.collect",
    "default_config": "sparring.recipes.defaults",
    "make": "sparring.games.registry",
    "open_spiel_player": "sparring.players.open_spiel",
    "open_spiel_probabilities": "sparring.players.open_spiel",
    "prepare_match": "sparring.evaluation.match",
    "resume": "sparring.training.runs",
    "start": "sparring.training.runs",
    "trust": "sparring.setup.own_code",
}


def __dir__() -> list[str]:
    return sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"sparring has no public name {name!r}; it has {', '.join(_PUBLIC)}")
    return getattr(import_module(_PUBLIC[name]), name)
