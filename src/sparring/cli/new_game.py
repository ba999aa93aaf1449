"""sparring new-game NAME: a commented game to start from, with a test beside it."""

import json as json_text
import re
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from io import StringIO
from keyword import iskeyword
from pathlib import Path
from token import NAME
from tokenize import generate_tokens
from typing import Annotated

import tyro

from sparring.cli.flags import parse
from sparring.core.errors import ConfigError, RunError
from sparring.store.durable import replace_file

OLD = "runners"
"""What the template's function is called."""
TEST = '''"""The game keeps the contract of games, and its rules are as they were meant."""

from pathlib import Path

import jax
import jax.numpy as jnp

from sparring import check_game, make
from sparring.core.records import Action

HERE = Path(__file__).parent
NAME = f"{HERE / 'runners.py'}:runners"


def test_it_keeps_the_contract_of_games():
    check_game(make(NAME))


def test_the_first_to_arrive_wins():
    game = make(NAME, goal=1.0, risk=0.0)
    action = Action(jnp.zeros((3, 1), jnp.int32), jnp.zeros((3, 0)))
    state = game.start(jax.random.key(0))._replace(place_S=jnp.array([0.0, -1.0, -1.0]))
    _, step = game.step(state, action, game.chance(jax.random.key(1)))
    assert step.over and step.outcome_K.tolist() == [1, -1, -1]
'''
EXAMPLES = ("sparring new-game race", "sparring new-game race --folder games")


@dataclass(frozen=True, kw_only=True)
class NewGame:
    """Write a commented game that keeps the contract, to be changed into your own, and a test beside it."""

    name: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="NAME")]
    """What it is called: lower-case letters, digits and _."""
    folder: Path = Path()
    """Where the files go."""
    json: bool = False
    """Print the result as one JSON object."""


def command(words: list[str]) -> None:
    arguments = parse(NewGame, words, command="new-game", examples=EXAMPLES)
    name = arguments.name
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,60}", name) or iskeyword(name):
        raise ConfigError(f"The name of a game has lower-case letters, digits and _, found {name!r}. Try my_game.")
    game, test = arguments.folder / f"{name}.py", arguments.folder / f"test_{name}.py"
    for path in (game, test):
        if path.exists():
            raise RunError(f"There is a file {path} already, and it is left as it is. Choose another name or --folder.")
    template = files("sparring.games").joinpath("template.py").read_text(encoding="utf-8")
    if find_spec(name) is not None or name in words_of(template) - {OLD}:
        raise ConfigError(f"{name} is already the name of a module or of a part of a game. Choose another.")
    for path, text in ((game, template.replace("FILE", str(game))), (test, TEST)):
        write(path, renamed(text, name))
    if arguments.json:
        print(json_text.dumps({"game": f"{game}:{name}", "file": str(game), "test": str(test)}))
        return
    print(f"game     {game}\ntest     {test}\nnext     sparring games {game}:{name}")
    print(f"         sparring train {game}:{name} --total-steps 300000")


def words_of(text: str) -> set[str]:
    """All names in a piece of Python."""
    return {word.string for word in generate_tokens(StringIO(text).readline) if word.type == NAME}


def renamed(text: str, name: str) -> str:
    """The template with another function, file and class; the words of its comments stay."""
    kind = "".join(part.capitalize() for part in name.split("_"))
    text = text.replace("RunnersGame", f"{kind}Game")
    return re.sub(rf"(?<=:){OLD}\b|\b{OLD}(?=\.py)|(?<=def ){OLD}\b", name, text)


def write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text.encode())
    except OSError as error:
        raise RunError(f"Cannot write {path}: {error.strerror or error}. Choose another --folder.") from error
