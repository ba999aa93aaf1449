"""sparring games [NAME]: list the games or a family of them, or describe one with its options and bots."""

import json as json_text
from dataclasses import dataclass

from rich.console import Console
from rich.table import Column, Table

from sparring.cli.flags import GameWord, parse
from sparring.core.errors import GameError
from sparring.reports.tables import NAMES

EXAMPLES = ("sparring games", "sparring games particles:tag", "sparring games path/to/race.py:race")


@dataclass(frozen=True, kw_only=True)
class Games:
    """List the games, or describe one with its options and bots."""

    name: GameWord = None
    """A game to describe, or a family of games to list; without one, all are listed."""
    json: bool = False
    """Print the result as one JSON object."""


def command(words: list[str]) -> None:
    arguments = parse(Games, words, command="games", examples=EXAMPLES)
    from sparring.games import registry

    name = arguments.name
    if name is not None and (name in registry.available() or not registry.variants(name)):
        return tell(name, arguments.json)
    games = registry.available() if name is None else registry.variants(name)
    if arguments.json:
        print(json_text.dumps({game: line_of((game,)) for game in games}))
        return None
    shown = registry.overview() if name is None else {game: (game,) for game in games}
    table = Table(Column("game", overflow=NAMES), "what it is", box=None)
    for row, names in shown.items():
        table.add_row(row, line_of(names))
    Console().print(table)
    print("\nOne in detail: sparring games GAME")
    return None


def line_of(names: tuple[str, ...]) -> str:
    """What a row says: of one game all, of many what they share and where they are listed."""
    from sparring.games.registry import common_line, describe

    try:
        if len(names) == 1:
            return describe(names[0]).line
    except GameError as error:  # one installed package that is broken does not hide all other games
        return str(error)
    return f"{common_line(names[0])} All {len(names)}: sparring games {names[0].partition(':')[0]}"


def plain(value: "str | float | tuple[int, ...] | tuple[str, ...]") -> str:
    """As a flag says it."""
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def tell(name: str, as_json: bool) -> None:
    from sparring.games.balance import suits_of
    from sparring.games.contract import check_game
    from sparring.games.registry import describe, is_own, make
    from sparring.play.scripted import bot_names
    from sparring.recipes.catalogue import RECIPES

    game, about = make(name), describe(name)
    remarks = check_game(game) if is_own(name) else ()
    spec = game.spec
    fields = {
        "game": about.name,
        "description": about.line,
        "options": {option.name: option.default for option in about.options},
        "seats": list(spec.seat_names),
        "side of each seat": list(spec.side_of_seat),
        "features": {feature.name: list(feature.shape) for feature in spec.layout},
        "discrete heads": list(spec.action.heads),
        "continuous dimensions": spec.action.dimensions,
        "longest game": spec.longest,
        "judged by": spec.score,
        "bots": list(bot_names(game)),
        "rules that stages can change": list(game.rule_names()),
        "shaping terms": {term.name: f"{term.kind}, {term.meaning}" for term in spec.terms},
        "games end by": list(spec.causes),
        "counted": list(spec.counts),
        "goals": {name: spec.goals.count(name) for name in spec.goals},
        "settings that suit it": {name: plain(value) for name, value in suits_of(spec)},
    }
    if as_json:
        print(json_text.dumps(fields))
        return
    table = Table(show_header=False, box=None)
    for key, value in fields.items():
        if not value and isinstance(value, dict | list):
            continue
        joined = "\n" if key == "shaping terms" else ", "
        text = joined.join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else str(value).strip("[]")
        table.add_row(key, text.replace("'", "").replace("=potential, ", ": ").replace("=reward, ", ": "))
    Console().print(table)
    options = "   (other options: --options NAME=VALUE ...)" if about.options else ""
    if is_own(name):
        print(" ".join(("\nIt meets the contract of games.", *remarks)))
    print(f"\nTrain on it: sparring train {name}{options}")
    if suits_of(spec):
        print("What a setting does: sparring train --help NAME   (a flag overrides it)")
    for recipe, make_config in RECIPES.items():
        if make_config().game == name:
            print(f"         or: sparring train --recipe {recipe}")
