"""A player taken away, for programs without Sparring: its package, a card in JSON, a PyTorch module, an ONNX graph."""

import json
from collections.abc import Collection
from importlib.resources import files
from pathlib import Path
from typing import Literal

from sparring.core.errors import ConfigError, RunError
from sparring.core.spec import GameSpec
from sparring.play.mixed import Mixture
from sparring.players.card import card_of
from sparring.players.guests import plain_name
from sparring.players.named import Entrant, save_entrant
from sparring.players.onnx_graph import onnx_bytes
from sparring.setup.named_arrays import to_arrays
from sparring.store.durable import replace_file
from sparring.store.packages import SUFFIX

Format = Literal["package", "torch", "onnx"]


def export(
    player: Entrant, spec: GameSpec, folder: Path, formats: Collection[Format], *, force: bool = False
) -> list[Path]:
    """Write a player to a folder, the card and the package always; the files. All that can be refused is refused before
    the first is written."""
    if player.meta is None:
        raise ConfigError(f"{player.name} is a bot, which is code and not weights. Name a learner or a package.")
    stem = plain_name(player.name)
    contents = {f"{stem}.json": b""}
    if {"torch", "onnx"} & set(formats):
        if isinstance(player.policy, Mixture):
            raise ConfigError(
                f"{player.name} is a mixture that draws one of {player.meta.members} policies before each game, which "
                "no single network is. Export one of them by its name, or the package alone: --formats package"
            )
        card = card_of(player.meta, spec, player.policy, stem + SUFFIX)
        if "torch" in formats:
            contents[f"{stem}.py"] = files("sparring.players").joinpath("torch_policy.py").read_bytes()
        if "onnx" in formats:
            contents[f"{stem}.onnx"] = onnx_bytes(card, to_arrays(player.policy))
    else:
        card = card_of(player.meta, spec, None, stem + SUFFIX)
    contents[f"{stem}.json"] = (json.dumps(card, indent=2) + "\n").encode()
    for path in (folder / name for name in (stem + SUFFIX, *contents)):
        if path.exists() and not force:
            raise RunError(f"There is a file {path} already. Choose another --out, or pass --force to replace it.")
    written = [save_entrant(player, folder / (stem + SUFFIX))]
    for name, content in contents.items():
        replace_file(folder / name, content)
        written.append(folder / name)
    return written
