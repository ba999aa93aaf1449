"""Networks that people trained in PyTorch as players: a file of weights, and beside it a card that says what is what.

    {"game": "kuhn", "weights": "mine.pt", "layers": ["actor.0", "actor.2"], "activation": "tanh", "head": "actor.4"}

The weights are a state_dict, as safetensors, or as .pt or .pth, which PyTorch reads with weights_only=True. What comes
out are the arrays of a player of ours, so that nothing else need know where they were trained.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as read_arrays

from sparring.bridges.weights import Weights, copied
from sparring.core.errors import ConfigError, RunError, unknown
from sparring.core.settings import from_dict, to_dict
from sparring.core.spec import GameSpec
from sparring.nets.config import Activation, NetConfig
from sparring.store.packages import SUFFIX, PlayerMeta

CARD, TORCH = ".json", (".pt", ".pth")
GATES = {3: ("gru", (1, 0, 2)), 4: ("lstm", (1, 0, 3, 2))}
"""By the number of gates: the cell, and where each of our gates stands in PyTorch's order."""


@dataclass(frozen=True, kw_only=True)
class TorchCard:
    game: str
    """The game that it plays, as everywhere."""
    options: tuple[str, ...] = ()
    """Options of the game, each as name=value."""
    weights: str = ""
    """The file of weights beside the card; empty: the one of its name."""
    layers: tuple[str, ...] = ()
    """Names of the linear layers, each followed by the activation."""
    activation: Activation = "tanh"
    memory: str = ""
    """Name of a GRU or LSTM of one layer, or of such a cell, between layers and head; empty: there is none."""
    head: str
    """Name of the last linear layer: logits of all heads, then means, then log-deviations where log_std names none."""
    log_std: str = ""
    """Name of the array with log-deviations of continuous actions."""
    inputs: tuple[str, ...] = ()
    """What the network sees, in its order: names of blocks of features, single ones "4", ranges "4:9"; empty: all."""
    outputs: tuple[int, ...] = ()
    """For each entry of all heads the output of the network that is its logit; empty: the same order."""
    sides: tuple[int, ...] = ()
    """The sides that it can drive; empty: all."""


def read_card(path: Path) -> TorchCard | Path:
    """The card of a network, which its weights have beside them; else the package that is meant, be it by a card of
    `sparring export`."""
    if path.suffix not in (CARD, *TORCH):
        return path
    card = path.with_suffix(CARD)
    if not card.is_file():
        raise RunError(
            f"{path} needs a card {card.name} beside it that says which game it plays and which layers it has. "
            'For example: {"game": "kuhn", "layers": ["0", "2"], "activation": "tanh", "head": "4"}'
        )
    try:
        told = json.loads(card.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise RunError(f"{card} is not a card: it cannot be read as JSON ({error}). Correct it.") from None
    if not isinstance(told, dict):
        raise RunError(f"{card} is not a card: expected a JSON object, found {type(told).__name__}. Correct it.")
    if "network" in told and isinstance(told.get("weights"), str):
        return beside(card, told["weights"])
    return from_dict(TorchCard, told, where=str(card))


def read_network(path: Path, card: TorchCard, spec: GameSpec) -> tuple[dict[str, np.ndarray], PlayerMeta]:
    """Arrays and header as a package of it would have them."""
    return Reading(path, card, weights_of(path, card), spec).player()


def weights_of(path: Path, card: TorchCard) -> Weights:
    near = [path.with_suffix(end) for end in (SUFFIX, *TORCH)]
    file = beside(path, card.weights) if card.weights else next((one for one in near if one.is_file()), near[0])
    try:
        if file.suffix not in TORCH:
            return copied(read_arrays(file.read_bytes()))
        torch = import_module("torch")
    except OSError as error:
        raise RunError(f"Cannot read the weights {file} of {path}: {error.strerror}. Say which: weights.") from None
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"{file} is not a safetensors file ({error}). Write the state_dict again.") from None
    except ImportError:
        raise RunError(
            f"Reading {file} needs PyTorch, which is not here: pip install 'sparring[torch]', or save the state_dict "
            "as safetensors (safetensors.torch.save_file)."
        ) from None
    try:
        return copied(torch.load(file, map_location="cpu", weights_only=True))
    except OSError as error:
        raise RunError(f"Cannot read the weights {file} of {path}: {error.strerror}. Say which: weights.") from None
    except ConfigError as error:
        raise RunError(f"{file} is not a state_dict: {error}") from None
    except Exception as error:  # PyTorch has many ways to refuse
        reason = str(error).partition("\n")[0][:200]
        raise RunError(f"{file} is not a state_dict of plain data ({reason}). Save module.state_dict().") from None


def beside(card: Path, name: str) -> Path:
    if Path(name).name != name:
        raise RunError(f"{card} must name a file beside it, found weights {name!r}. Put the weights there.")
    return card.with_name(name)


@dataclass(frozen=True)
class Reading:
    """A network while it is read."""

    path: Path
    card: TorchCard
    weights: Weights
    spec: GameSpec

    def player(self) -> tuple[dict[str, np.ndarray], PlayerMeta]:
        card, action = self.card, self.spec.action
        arrays, widths = {}, [self.spec.features]
        for i, name in enumerate(card.layers):
            weight_IO, bias_O = self.linear(name)
            arrays |= dense(f"trunk.layers.{i}", self.seen(name, weight_IO, widths), bias_O)
            widths.append(len(bias_O))
        net = NetConfig(hidden=tuple(widths[1:]), activation=card.activation)
        if card.memory:
            kind, cell = self.cell(widths)
            arrays |= cell
            widths.append(len(cell["trunk.cell.hidden.weight_IO"]))
            net = NetConfig(hidden=net.hidden, activation=card.activation, memory=kind, memory_size=widths[-1])
        weight_IO, bias_O = self.linear(card.head)
        weight_IO, log_std_C = self.seen(card.head, weight_IO, widths), self.log_std()
        order = self.order(len(bias_O))
        arrays |= dense("head", weight_IO[:, order], bias_O[order])
        if log_std_C is not None:
            arrays["log_std_C"] = log_std_C
        told = to_dict(net) | {"std": "independent" if log_std_C is not None or not action.dimensions else "state"}
        meta = PlayerMeta(game=card.game, options=card.options, net=told, player=self.path.stem, sides=card.sides)
        return {name: np.ascontiguousarray(array, np.float32) for name, array in arrays.items()}, meta

    def linear(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        weight_OI = self.array(f"{name}.weight")
        if weight_OI.ndim != 2:
            self.refuse(f"{name} must be a linear layer, with weights of two axes, found {list(weight_OI.shape)}")
        return weight_OI.T, self.weights.get(f"{name}.bias", np.zeros(len(weight_OI), np.float32))

    def cell(self, widths: list[int]) -> tuple[Any, dict[str, np.ndarray]]:
        """Our gates in our order; PyTorch's LSTM adds no 1 to the gate that keeps, ours does."""
        name, layer = self.card.memory, "_l0" if f"{self.card.memory}.weight_ih_l0" in self.weights else ""
        if f"{name}.weight_ih_l1" in self.weights or f"{name}.weight_ih_l0_reverse" in self.weights:
            self.refuse(f"{name} has several layers or directions, and memory here has one")
        inputs, hidden = (self.array(f"{name}.weight_{part}{layer}") for part in ("ih", "hh"))
        rows, size = hidden.shape
        if rows % size or rows // size not in GATES or len(inputs) != rows:
            self.refuse(f"{name} must be a GRU or an LSTM, found weights {list(inputs.shape)} and {list(hidden.shape)}")
        kind, order = GATES[rows // size]
        arrays = {}
        for ours, weight, part in (("inputs", inputs, "ih"), ("hidden", hidden, "hh")):
            bias = self.weights.get(f"{name}.bias_{part}{layer}", np.zeros(rows, np.float32))
            weight_OI, bias_O = (
                np.concatenate([np.split(x, len(order))[gate] for gate in order]).astype(np.float32)
                for x in (weight, bias)
            )
            if kind == "lstm" and ours == "inputs":
                bias_O[:size] -= 1.0
            weight_IO = self.seen(name, weight_OI.T, widths) if ours == "inputs" else weight_OI.T
            arrays |= dense(f"trunk.cell.{ours}", weight_IO, bias_O)
        return kind, arrays

    def seen(self, name: str, weight_IO: np.ndarray, widths: list[int]) -> np.ndarray:
        """Weights for what comes before; in the first layer, for all features of the game in their order."""
        before = self.inputs() if len(widths) == 1 else list(range(widths[-1]))
        if len(weight_IO) != len(before):
            source = "the card's inputs are" if len(widths) == 1 else "the layer before it gives"
            self.refuse(f"{name} takes {len(weight_IO)} inputs, and {source} {len(before)}")
        placed = np.zeros((widths[-1], weight_IO.shape[1]), np.float32)
        placed[before] = weight_IO
        return placed

    def inputs(self) -> list[int]:
        ends = np.cumsum([0, *(block.size for block in self.spec.layout)]).tolist()
        blocks = {block.name: range(*ends) for block, ends in zip(self.spec.layout, pairwise(ends), strict=True)}
        found: list[int] = []
        for word in self.card.inputs or tuple(blocks):
            begin, colon, end = word.partition(":")
            if word in blocks:
                found += blocks[word]
            elif begin.isdecimal() and (end.isdecimal() or not colon) and (not colon or int(begin) < int(end)):
                found += range(int(begin), int(end) if colon else int(begin) + 1)
            else:
                self.refuse(unknown("block of features in inputs", word, blocks).rstrip("."))
        if len(set(found)) < len(found) or max(found, default=0) >= self.spec.features:
            self.refuse(f"inputs must name each feature at most once, of 0 to {self.spec.features - 1}, found {found}")
        return found

    def order(self, outputs: int) -> list[int]:
        """Which output of theirs is which of ours."""
        action, card = self.spec.action, self.card
        entries = list(card.outputs) or list(range(action.entries))
        if len(entries) != action.entries or not set(entries) <= set(range(outputs)):
            self.refuse(
                f"outputs must name one of {outputs} outputs for each of {action.entries} entries, found {entries}"
            )
        wanted = action.entries + action.dimensions * (1 if card.log_std or not action.dimensions else 2)
        if outputs != wanted and not (card.outputs and not action.dimensions):
            self.refuse(
                f"{card.head} gives {outputs} outputs, and {card.game} needs {wanted}: {action.entries} logits of "
                f"heads {list(action.heads)}, {wanted - action.entries} numbers of {action.dimensions} dimensions"
            )
        return [*entries, *range(action.entries, outputs)] if action.dimensions else entries

    def log_std(self) -> np.ndarray | None:
        """None where the head gives it."""
        size = self.spec.action.dimensions
        if not self.card.log_std:
            return None if size else np.zeros(0, np.float32)
        found = self.array(self.card.log_std).reshape(-1)
        if len(found) != size:
            self.refuse(
                f"{self.card.log_std} has {len(found)} log-deviations, and {self.card.game} has {size} dimensions"
            )
        return found

    def array(self, name: str) -> np.ndarray:
        if name not in self.weights:
            self.refuse(unknown("array in its weights", name, self.weights).rstrip("."))
        return self.weights[name]

    def refuse(self, why: str) -> NoReturn:
        raise RunError(f"{self.path} does not fit: {why}. Correct the card, or give other weights.")


def dense(at: str, weight_IO: np.ndarray, bias_O: np.ndarray) -> Mapping[str, np.ndarray]:
    return {f"{at}.weight_IO": weight_IO, f"{at}.bias_O": bias_O}
