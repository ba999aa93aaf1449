"""What a run is like where nobody says otherwise: the library's defaults, then what suits the game."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from sparring.core.fields import is_table
from sparring.core.settings import from_dict
from sparring.core.spec import GameSpec
from sparring.games import registry
from sparring.games.balance import PRESET, suits_of
from sparring.recipes import self_play
from sparring.setup.config import RunConfig

OF_PRESETS = frozenset(one.name for one in fields(self_play.SelfPlay))


def default_config(game: str, *, options: tuple[str, ...] = (), **settings: Any) -> RunConfig:
    """The config that `sparring train GAME` trains with, opponents included; `settings` are values of flags by name,
    such as total_steps=300_000 or learning_rate="3e-4 -> 0", and win over what suits the game."""
    config = RunConfig(game=game, options=options)
    registry.admit(game)
    spec = spec_of(config)
    said = settings.pop(PRESET, None)
    config = with_settings(suited(config, spec), settings, where="default_config")
    name = said or preset_for(spec, config)
    config = opposed(config, spec, name) if name else config
    return with_settings(config, settings, where="default_config")


def suited(config: RunConfig, spec: GameSpec, *, corrected: bool = False) -> RunConfig:
    """The config with all that suits the game but its preset of self-play, which depends on the rest, and the numbers
    by which the game corrects that preset: without it they would mean nothing."""
    settings = {
        name: value for name, value in suits_of(spec) if name != PRESET and (corrected or name not in OF_PRESETS)
    }
    return with_settings(config, settings, where=f"what suits {config.game}")


def opposed(config: RunConfig, spec: GameSpec, name: str) -> RunConfig:
    """The config with the opponents of a preset; where it is the game's own, the game may correct its numbers."""
    config = self_play.apply(config, name)
    return suited(config, spec, corrected=True) if name == dict(suits_of(spec)).get(PRESET) else config


def preset_for(spec: GameSpec, config: RunConfig) -> str:
    """Who opposes where nobody says: what suits the game or its kind, or the default where two sides are alike; else
    nothing. Minds need co-players that stay, and who says that seats learn apart, or names a bot, has said who
    opposes."""
    if config.mind.on or config.seats.opponent or config.seats.share == "seat":
        return ""
    own = dict(suits_of(spec)).get(PRESET)
    if own is not None:
        return str(own)
    return self_play.DEFAULT if spec.sides == 2 and spec.exchangeable_sides and not config.play.worlds % 2 else ""


def spec_of(config: RunConfig) -> GameSpec:
    return registry.configured(config.game, config.options).spec


def with_settings(config: RunConfig, settings: Mapping[str, Any], *, where: str) -> RunConfig:
    """The config with settings by the names of their flags, whichever table they stand in."""
    return from_dict(RunConfig, _in_tables(config, dict(settings)), where=where, base=config)


def _in_tables(config: Any, settings: dict[str, Any], *, whole: bool = True) -> dict[str, Any]:
    """The settings each in its table; what no table has stays on the first page, where reading refuses it."""
    found: dict[str, Any] = {}
    for one in fields(config):
        value = getattr(config, one.name)
        if is_table(value):
            if inner := _in_tables(value, settings, whole=False):
                found[one.name] = inner
        elif one.name in settings:
            found[one.name] = settings.pop(one.name)
    return {**found, **settings} if whole else found
