"""sparring games [NAME]: list the games, or describe one with its options and bots."""

import json as json_text
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from sparring.cli.flags import GameWord, parse


@dataclass(frozen=True, kw_only=True)
class Games:
    """List the games, or describe one with its options and bots."""

    name: GameWord = None
    """A game to describe; without one, all are listed."""
    json: bool = False
    """Print the result as one JSON object."""


def command(words: list[str]) -> None:
    arguments = parse(Games, words, command="games")
    from sparring.games.registry import available, describe

    if arguments.name is not None:
        return tell(arguments.name, arguments.json)
    lines = {name: describe(name).line for name in available()}
    if arguments.json:
        print(json_text.dumps(lines))
        return None
    table = Table("game", "what it is", box=None)
    for name, line in lines.items():
        table.add_row(name, line)
    Console().print(table)
    print("\nOne in detail: sparring games GAME")
    return None


def tell(name: str, as_json: bool) -> None:
    from sparring.games.registry import describe, make
    from sparring.play.scripted import bot_names
    from sparring.recipes.catalogue import RECIPES

    about, game = describe(name), make(name)
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
    options = " --options " + " ".join(f"{k}={v}" for k, v in fields["options"].items()) if about.options else ""
    print(f"\nTrain on it: sparring train {name}{options}")
    for recipe, make_config in RECIPES.items():
        if make_config().game == name:
            print(f"         or: sparring train --recipe {recipe}")
