"""sparring export RUN[:PLAYER]: a player for programs without Sparring: weights and card, PyTorch module, ONNX."""

import json as json_text
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import tyro

from sparring.cli.flags import parse
from sparring.cli.notes import note
from sparring.cli.own_code import CodeConfig, admit

EXAMPLES = ("sparring export runs/first", "sparring export runs/first:deployed --formats torch onnx --out exported")


@dataclass(frozen=True, kw_only=True)
class Export:
    """Write a player for programs without Sparring."""

    player: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="RUN[:PLAYER]")]
    """A learner as everywhere, RUN:PLAYER@ITERATION#SEED, or a package."""
    formats: tuple[Literal["package", "torch", "onnx"], ...] = ("package", "torch")
    """What is written beside the weights (safetensors) and their card (JSON): torch is a file with a module that needs
    no Sparring, onnx a graph (extra onnx)."""
    out: Path = Path("exported")
    """Folder for the files."""
    force: bool = False
    """Replace files of an earlier export."""
    own: CodeConfig = field(default_factory=CodeConfig)
    json: bool = False
    """Print the result as one JSON object."""


def command(words: list[str]) -> None:
    arguments = parse(Export, words, command="export", examples=EXAMPLES)
    admit(arguments.own, arguments.player)
    from sparring.games import registry
    from sparring.players.export import export
    from sparring.players.named import entrant, game_of, no_player

    named = game_of([arguments.player])
    if named is None:
        raise no_player(arguments.player)
    game = registry.configured(*named)
    player = entrant(arguments.player, game, named[0])
    for remark in player.remarks:
        note(remark)
    written = export(player, game.spec, arguments.out, arguments.formats, force=arguments.force)
    if arguments.json:
        print(json_text.dumps({"player": player.name, "game": named[0], "files": [str(path) for path in written]}))
        return
    for path in written:
        print(path)
