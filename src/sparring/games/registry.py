"""Which games there are, by name: ours, those of installed packages (entry points), and code that somebody names.

Listing them imports none: a game is loaded when it is made or described.
"""

import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from sparring.core import code
from sparring.core.errors import ConfigError, GameError, SparringError, unknown
from sparring.core.names import near_names
from sparring.core.sizes import LARGEST, check_size
from sparring.games import interfaces
from sparring.games.skirmish.maps import MAPS

if TYPE_CHECKING:  # listing games loads no jax
    from sparring.games.game import Game

GAMES = {
    "coin": "sparring.games.social.coin:coin",
    "connect_four": "sparring.games.boards.connect_four:connect_four",
    "dark_hex": "sparring.games.boards.unseen:dark_hex",
    "dogfight": "sparring.games.dogfight.game:dogfight",
    "dogfight:2v2": "sparring.games.dogfight.game:dogfight_2v2",
    "goofspiel": "sparring.games.cards.goofspiel:goofspiel",
    "kuhn": "sparring.games.kuhn:kuhn",
    "leduc": "sparring.games.cards.leduc:leduc",
    "liars_dice": "sparring.games.cards.liars_dice:liars_dice",
    "matrix:biased_rock_paper_scissors": "sparring.games.matrix:biased_rock_paper_scissors",
    "matrix:blotto": "sparring.games.matrix:blotto",
    "matrix:chicken": "sparring.games.matrix:chicken",
    "matrix:coordination": "sparring.games.matrix:coordination",
    "matrix:custom": "sparring.games.payoffs:custom",
    "matrix:five_moves": "sparring.games.matrix:five_moves",
    "matrix:matching_pennies": "sparring.games.matrix:matching_pennies",
    "matrix:prisoners_dilemma": "sparring.games.matrix:prisoners_dilemma",
    "matrix:rock_paper_scissors": "sparring.games.matrix:rock_paper_scissors",
    "matrix:stag_hunt": "sparring.games.matrix:stag_hunt",
    "particles:adversary": "sparring.games.particles.adversary:adversary",
    "particles:crypto": "sparring.games.particles.crypto:crypto",
    "particles:push": "sparring.games.particles.push:push",
    "particles:reference": "sparring.games.particles.reference:reference",
    "particles:simple": "sparring.games.particles.simple:simple",
    "particles:speaker_listener": "sparring.games.particles.speaker_listener:speaker_listener",
    "particles:spread": "sparring.games.particles.spread:spread",
    "particles:tag": "sparring.games.particles.tag:tag",
    "particles:world_comm": "sparring.games.particles.world_comm:world_comm",
    "phantom_tic_tac_toe": "sparring.games.boards.unseen:phantom_tic_tac_toe",
    "probe:aim": "sparring.games.probes.riddles:aim",
    "probe:bandit": "sparring.games.probes.riddles:bandit",
    "probe:credit": "sparring.games.probes.episodes:credit",
    "probe:grid": "sparring.games.probes.riddles:grid",
    "probe:heads": "sparring.games.probes.riddles:heads",
    "probe:hybrid": "sparring.games.probes.riddles:hybrid",
    "probe:limit": "sparring.games.probes.episodes:limit",
    "probe:mask": "sparring.games.probes.riddles:mask",
    "probe:memory": "sparring.games.probes.episodes:memory",
    **{f"skirmish:{name}": f"sparring.games.skirmish.game:skirmish:{name}" for name in MAPS},
    "snowdrift": "sparring.games.social.snowdrift:snowdrift",
    "stag_hunt": "sparring.games.social.stag_hunt:stag_hunt",
    "tic_tac_toe": "sparring.games.boards.tic_tac_toe:tic_tac_toe",
    "trio": "sparring.games.boards.trio:trio",
}
"""Name to "module:function". The function returns a Game; its keyword options have types and defaults, and the first
line of its docstring describes the game. Of a family of games that one function makes, such as the maps of a battle,
each is "module:function:variant": the function gets the variant before its options, and `variant_line(variant)` of its
module, if there is one, says what is its own."""

GROUP = "sparring.games"
"""Under this name an installed package lists its games as entry points, each a function as above."""
MANY = 6
"""Variants of one function beyond which a list of games has one row for them."""
WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True)
class Option:
    name: str
    type: Any
    default: Any

    def __str__(self) -> str:
        return f"{self.name}: {_type_name(self.type)} = {self.default!r}"


@dataclass(frozen=True)
class Description:
    name: str
    line: str
    options: tuple[Option, ...]
    open: bool = False
    """Other options are handed on to an environment of somebody else."""

    def __str__(self) -> str:
        return "\n".join([f"{self.name}: {self.line}", *(f"  {option}" for option in self.options)])


@cache
def installed() -> dict[str, EntryPoint]:
    """Games of installed packages by name; installing a package lets it run. Ours keep their names."""
    return {entry.name: entry for entry in entry_points(group=GROUP) if entry.name not in GAMES}


def available() -> tuple[str, ...]:
    """Names of all games that come with the library or are installed beside it."""
    return tuple(sorted({**GAMES, **installed()}))


def is_own(name: str) -> bool:
    """Whether a name is neither ours nor an installed package's, but code: file.py:function or module:function."""
    if name in GAMES or name in installed() or variants(name.partition(":")[0]):  # particles:tga is a slip
        return False
    return not interfaces.is_outside(name) and code.is_code(name)


def variants(family: str) -> tuple[str, ...]:
    """The games called "family:...", whether one function makes them or several."""
    return tuple(name for name in available() if name.startswith(f"{family}:"))


def overview() -> dict[str, tuple[str, ...]]:
    """A short list of all games: its rows, each with the games it stands for; many variants of a function share one,
    such as "skirmish:MAP"."""
    made_by: dict[tuple[str, ...], list[str]] = {}
    for name in available():
        made_by.setdefault(tuple(GAMES.get(name, name).split(":")[:2]), []).append(name)
    shown: dict[str, tuple[str, ...]] = {}
    for names in made_by.values():
        if len(names) > MANY:
            word = next(iter(inspect.signature(_load(names[0])[0]).parameters))
            shown[f"{names[0].partition(':')[0]}:{word.upper()}"] = tuple(names)
        else:
            shown |= {name: (name,) for name in names}
    return shown


def admit(name: str) -> None:
    """Let a game be loaded that is code: somebody has named it."""
    if is_own(name):
        code.admit(name)
    elif own := interfaces.outside_code(name):
        code.admit(own)


def make(name: str, **options: Any) -> "Game":
    """The game of that name. Options are checked against the types of its function's signature. Naming code here lets
    it be loaded."""
    admit(name)
    return _made(name, options)


def configured(name: str, words: Sequence[str] = ()) -> "Game":
    """The game of a config, its options written name=value. A config may come from a file, so code that it names is
    refused unless somebody has named it too."""
    return _made(name, parse_options(name, words))


def _made(name: str, options: dict[str, Any]) -> "Game":
    description = describe(name)
    known = {option.name: option for option in description.options}
    for key, value in options.items():
        if key not in known and description.open:
            continue
        if key not in known:
            raise ConfigError(unknown("option", key, known, of=name))
        options[key] = _checked(name, known[key], value)
    function, variant = _load(name)
    try:
        game = function(*variant, **options)
    except SparringError:
        raise
    except Exception as error:
        if name in GAMES:
            raise
        said, fault = f"{type(error).__name__}: {error}".rstrip("."), code.line_at_fault(error)
        raise GameError(f"{name} made no game: {said}{fault and f', in {fault}'}. Correct it there.") from error
    if not isinstance(game, import_module("sparring.games.game").Game):
        raise GameError(f"{name} returned a {type(game).__name__}, expected a sparring.Game. Return one.")
    check_size(f"The longest game of {name!r}, in steps,", game.spec.longest)
    return game


def describe(name: str) -> Description:
    """One line on the game, and its options with types and defaults; `str` of it is a text for people."""
    function, variant = _load(name)
    parameters = _parameters(name, function)[len(variant) :]
    named = [each for each in parameters if not (each.kind is each.VAR_KEYWORD and interfaces.is_outside(name))]
    options = tuple(_option(name, each) for each in named)
    own = getattr(sys.modules[function.__module__], "variant_line", None) if variant else None
    line = " ".join((common_line(name), *(map(own, variant) if own else ())))
    return Description(name, line, options, open=len(named) < len(parameters))


def _parameters(name: str, function: Callable) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function, eval_str=True).parameters.values())
    except (TypeError, ValueError, NameError) as error:
        raise GameError(f"The options of {name} cannot be read: {error}. Write def race(laps: int = 3).") from error


def _option(name: str, parameter: inspect.Parameter) -> Option:
    """An option as its function declares it; without a type, that of the default."""
    empty, default = inspect.Parameter.empty, parameter.default
    if default is empty or parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
        raise GameError(
            f"The option {str(parameter)!r} of {name} needs a default: games are made by name alone. Write for example "
            f"{parameter.name}: int = 3"
        )
    return Option(parameter.name, type(default) if parameter.annotation is empty else parameter.annotation, default)


def common_line(name: str) -> str:
    """One line on all games that the function of this one makes."""
    return (inspect.getdoc(_load(name)[0]) or "").partition("\n")[0]


def parse_options(name: str, words: Sequence[str]) -> dict[str, Any]:
    """Options of a game from words like "agents=4", typed by the game's signature."""
    description = describe(name)
    known = {option.name: option for option in description.options}
    options: dict[str, Any] = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals:
            raise ConfigError(f"An option of a game is written name=value, found {word!r}. {_example(known)}")
        if key not in known and not description.open:
            raise ConfigError(unknown("option", key, known, of=name))
        if key in options:
            raise ConfigError(f"Option {key!r} of game {name!r} is given twice: keep one.")
        options[key] = _parsed(name, known[key], text) if key in known else interfaces.guessed(text)
    return options


def spelled_out(name: str, words: Sequence[str]) -> dict[str, Any]:
    """All options of a game as words set them, or as they are by default: other words may say the same."""
    return {option.name: option.default for option in describe(name).options} | parse_options(name, words)


def _load(name: str) -> tuple[Callable[..., "Game"], tuple[str, ...]]:
    """The function that makes a game, and the variant it is called with, if it has any."""
    if interfaces.is_outside(name):
        return interfaces.loaded(name)
    if name in installed():
        try:
            return installed()[name].load(), ()
        except Exception as error:
            raise GameError(
                f"The installed game {name!r} cannot be loaded: {error}. Correct or remove its package."
            ) from error
    if is_own(name):
        return code.load(name), ()
    if name not in GAMES:
        raise GameError(_refusal(name))
    module, function, *variant = GAMES[name].split(":", 2)
    return getattr(import_module(module), function), tuple(variant)


def _refusal(name: str) -> str:
    """The sentence for a name that is no game: near ones of its family, all of them, or the nearest of all games."""
    if name.endswith(".py"):
        own = code.functions_of(Path(name))
        if own:
            return f"{name} is a file. It has {', '.join(own)}: name one, as {name}:{own[-1]}"
        return f"{name} is a file without a function, or none. A game of your own is named file.py:function."
    family, _, variant = name.partition(":")
    known = variants(family)
    meant = near_names(family, interfaces.OUTSIDE, cutoff=0.75)
    if not known and meant:
        example = f"{meant[0]}:{variant or interfaces.EXAMPLES[meant[0]]}"
        return f"Unknown game {name!r}. " + (
            f"Did you mean {example!r}?" if variant else f"Name one, such as {example!r}."
        )
    if not known:
        near = near_names(name, available())
        about = [] if near else [game for game in GAMES if name.lower() in common_line(game).lower()]
        if about:
            return f"Unknown game {name!r}. Did you mean {' or '.join(map(repr, about[:4]))}?"
        return (
            f"{unknown('game', name, available() if near else overview())} One of your own is named file.py:function."
        )
    near = near_names(variant, [game.partition(":")[2] for game in known], n=3, cutoff=0.5)
    if near:
        return f"Unknown game {name!r}. Did you mean {' or '.join(repr(f'{family}:{word}') for word in near)}?"
    return f"{f'Unknown game {name!r}. ' if variant else ''}Which {family}? {', '.join(known)}."


def _checked(name: str, option: Option, value: Any) -> Any:
    """The value, if it has the option's type; a whole number may stand for a float, a bool for nothing else."""
    if get_origin(option.type) is Literal:
        fits = value in get_args(option.type)
    elif option.type is float:
        fits = isinstance(value, int | float) and not isinstance(value, bool)
        value = float(value) if fits else value
    else:
        fits = type(value) is option.type
    if not fits:
        raise ConfigError(_mismatch(name, option, value))
    if option.type is int:
        check_size(f"Option {option.name!r} of game {name!r}", value, least=-LARGEST)
    return value


def _parsed(name: str, option: Option, text: str) -> Any:
    try:
        if option.type is bool:
            return WORDS[text.lower()]
        return _checked(name, option, option.type(text) if option.type in (int, float) else text)
    except (ValueError, KeyError):
        raise ConfigError(_mismatch(name, option, text)) from None


def _mismatch(name: str, option: Option, found: Any) -> str:
    expected = f"Option {option.name!r} of game {name!r} expects {_type_name(option.type)}, found {found!r}."
    return f"{expected} Write for example {option.name}={_text(option.default)}."


def _example(known: dict[str, Option]) -> str:
    shown = ", ".join(f"{option.name}={_text(option.default)}" for option in known.values())
    return f"Options and defaults: {shown}." if shown else "This game has no options."


def _type_name(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return " or ".join(repr(choice) for choice in get_args(kind))
    return {int: "a whole number", float: "a number", bool: "true or false", str: "a word"}.get(kind, str(kind))


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
