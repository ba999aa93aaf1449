"""Sparring: self-play for multi-agent reinforcement learning. The public list, loaded when a name is first used.

Play       make, available, policy, rollout
Train      default_config, RunConfig, start, resume
Look       load
A game     Game, GameSpec, ActionSpec, Feature, Central, Bots, Action, Observation, Step, check_game
Own code   Module, trust
Judges     open_spiel_player, open_spiel_probabilities

Everything else is in the rooms that ARCHITECTURE.md lists. docs/guide/notebooks.md shows how these go together.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for editors and type checkers
    from sparring.core.records import Action as Action
    from sparring.core.records import Observation as Observation
    from sparring.core.records import Step as Step
    from sparring.core.spec import ActionSpec as ActionSpec
    from sparring.core.spec import Central as Central
    from sparring.core.spec import Feature as Feature
    from sparring.core.spec import GameSpec as GameSpec
    from sparring.games.contract import check_game as check_game
    from sparring.games.game import Bots as Bots
    from sparring.games.game import Game as Game
    from sparring.games.registry import available as available
    from sparring.games.registry import make as make
    from sparring.learn.module import Module as Module
    from sparring.play.batch import rollout as rollout
    from sparring.players.loaded import load as load
    from sparring.players.loaded import policy as policy
    from sparring.players.open_spiel import open_spiel_player as open_spiel_player
    from sparring.players.open_spiel import open_spiel_probabilities as open_spiel_probabilities
    from sparring.recipes.defaults import default_config as default_config
    from sparring.setup.config import RunConfig as RunConfig
    from sparring.setup.own_code import trust as trust
    from sparring.training.runs import resume as resume
    from sparring.training.runs import start as start

_PUBLIC = {
    "Action": "sparring.core.records",
    "ActionSpec": "sparring.core.spec",
    "Bots": "sparring.games.game",
    "Central": "sparring.core.spec",
    "Feature": "sparring.core.spec",
    "Game": "sparring.games.game",
    "GameSpec": "sparring.core.spec",
    "Module": "sparring.learn.module",
    "Observation": "sparring.core.records",
    "RunConfig": "sparring.setup.config",
    "Step": "sparring.core.records",
    "available": "sparring.games.registry",
    "check_game": "sparring.games.contract",
    "default_config": "sparring.recipes.defaults",
    "load": "sparring.players.loaded",
    "make": "sparring.games.registry",
    "open_spiel_player": "sparring.players.open_spiel",
    "open_spiel_probabilities": "sparring.players.open_spiel",
    "policy": "sparring.players.loaded",
    "resume": "sparring.training.runs",
    "rollout": "sparring.play.batch",
    "start": "sparring.training.runs",
    "trust": "sparring.setup.own_code",
}

_ELSEWHERE = {
    "train": "sparring.start(sparring.default_config(GAME), RUN)",
    "learn": "sparring.start(sparring.default_config(GAME), RUN)",
    "PPO": "sparring.start(sparring.default_config(GAME), RUN); settings of PPO are those of default_config",
    "evaluate": "sparring.load(RUN).verdict, or `sparring eval RUN`",
    "env": "sparring.make(GAME)",
}
"""What other libraries call it."""


def __dir__() -> list[str]:
    return sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        hint = f"Here it is {_ELSEWHERE[name]}. " if name in _ELSEWHERE else ""
        raise AttributeError(f"sparring has no public name {name!r}. {hint}It has {', '.join(_PUBLIC)}")
    return getattr(import_module(_PUBLIC[name]), name)
