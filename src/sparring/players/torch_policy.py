# pyright: reportMissingImports=false
"""A policy that was exported, in PyTorch: needs torch, safetensors, its card (*.json) and its weights beside this file.

    policy = Policy.load("NAME.json")
    decision = policy(features, legal, memory)      # rows of the batch are seats; legal may be left out where all is
    probabilities, memory = decision.probabilities, decision.memory

`features` [rows, F] are those that the card lists, one block after another; `legal` [rows, A] says for each entry of
all heads, one after another, whether it may be chosen. `memory` is None at the start of a game. Where weights are
generated for each seat, `seat` [rows] says which of its side acts, from 0.
"""

import json
from pathlib import Path
from typing import NamedTuple

from safetensors.torch import load_file
from torch.nn.functional import gelu

import torch
from torch import Tensor, nn

IMPOSSIBLE = -1e9
LOG_STD_RANGE = (-5.0, 2.0)
ACTIVATIONS = {
    "tanh": torch.tanh,
    "relu": torch.relu,
    "silu": nn.functional.silu,
    "gelu": lambda x: gelu(x, approximate="tanh"),
}


class Decision(NamedTuple):
    probabilities: Tensor
    """[rows, A], each head for itself; no columns where the game has no heads."""
    mean: Tensor
    """[rows, C] of continuous actions, before they are clipped to the card's bounds."""
    deviation: Tensor
    memory: tuple[Tensor, ...]


class Policy(nn.Module):
    def __init__(self, card: dict, arrays: dict[str, Tensor]) -> None:
        super().__init__()
        self.card = card
        self.heads, self.dimensions = card["action"]["heads"], len(card["action"]["low"])
        self.layers = nn.ModuleList(LAYERS[step["do"]](arrays, **step) for step in card["network"])
        std = next((arrays[name] for name in ("log_std_C", "log_std_C.value") if name in arrays), None)
        self.log_std = None if std is None else nn.Parameter(std.clone())

    @classmethod
    def load(cls, card: str | Path) -> "Policy":
        told = json.loads(Path(card).read_text(encoding="utf-8"))
        return cls(told, load_file(Path(card).parent / told["weights"])).eval()

    def forward(
        self,
        features: Tensor,
        legal: Tensor | None = None,
        memory: tuple[Tensor, ...] | None = None,
        seat: Tensor | None = None,
    ):
        x, after, z = features, (), None
        for layer in self.layers:
            if isinstance(layer, Context):
                z, after = layer(x, memory, seat)
            elif isinstance(layer, Changed):
                x = layer(x, z)
            elif isinstance(layer, Cell):
                cell = layer(x, memory)
                x, after = cell[0], (*cell, *after)
            else:
                x = layer(x)
        entries = sum(self.heads)
        logits, mean = x[..., :entries], x[..., entries:]
        if legal is not None:
            logits = torch.where(legal.bool(), logits, IMPOSSIBLE)
        chances = [torch.softmax(head, -1) for head in logits.split(self.heads, -1)] if self.heads else [logits]
        if self.log_std is None:
            mean, log_std = mean.split(self.dimensions, -1)
            log_std = log_std.clamp(*LOG_STD_RANGE)
        else:
            log_std = self.log_std.expand_as(mean)
        return Decision(torch.cat(chances, -1), mean, log_std.exp(), after)

    @torch.no_grad()
    def act(
        self,
        features: Tensor,
        legal: Tensor | None = None,
        memory: tuple[Tensor, ...] | None = None,
        seat: Tensor | None = None,
    ):
        """A choice for each head [rows, D], continuous values [rows, C], and the memory, drawn as in training."""
        said = self(features, legal, memory, seat)
        heads = said.probabilities.split(self.heads, -1) if self.heads else ()
        choices = [torch.multinomial(head, 1) for head in heads]
        chosen = torch.cat(choices, -1) if choices else torch.zeros(len(features), 0, dtype=torch.long)
        low, high = (features.new_tensor(self.card["action"][end]) for end in ("low", "high"))
        value = torch.minimum(torch.maximum(torch.normal(said.mean, said.deviation), low), high)
        return chosen, value, said.memory


def dense(arrays: dict[str, Tensor], at: str, **_) -> nn.Linear:
    weight, bias = arrays[f"{at}.weight_IO"], arrays[f"{at}.bias_O"]
    return filled(nn.Linear(*weight.shape), weight=weight.T, bias=bias)


def layer_norm(arrays: dict[str, Tensor], at: str, **_) -> nn.LayerNorm:
    scale, offset = arrays[f"{at}.scale_F"], arrays[f"{at}.offset_F"]
    return filled(nn.LayerNorm(len(scale), eps=1e-5), weight=scale, bias=offset)


def convolution(arrays: dict[str, Tensor], at: str) -> nn.Conv2d:
    weight, bias = arrays[f"{at}.kernel.weight_IO"], arrays[f"{at}.kernel.bias_O"]
    kernel = weight.reshape(3, 3, -1, len(bias)).permute(3, 2, 0, 1)
    return filled(nn.Conv2d(kernel.shape[1], len(bias), 3, padding=1), weight=kernel, bias=bias)


def filled(module: nn.Module, **weights: Tensor) -> nn.Module:
    module.load_state_dict({name: value.contiguous() for name, value in weights.items()})
    return module


class Activation(nn.Module):
    def __init__(self, _: dict[str, Tensor], *, do: str) -> None:
        super().__init__()
        self.function = ACTIVATIONS[do]

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


class Normalise(nn.Module):
    def __init__(self, arrays: dict[str, Tensor], *, at: str, **_) -> None:
        super().__init__()
        count = arrays[f"{at}.count"]
        self.seen = bool(count > 0)
        self.register_buffer("mean", arrays[f"{at}.mean_F"].clone())
        self.register_buffer("deviation", (arrays[f"{at}.square_F"] / count.clamp(min=1e-9) + 1e-8).sqrt())

    def forward(self, x: Tensor) -> Tensor:
        return ((x - self.mean) / self.deviation).clamp(-10.0, 10.0) if self.seen else x


class Residual(nn.Module):
    def __init__(self, arrays: dict[str, Tensor], *, at: str, **_) -> None:
        super().__init__()
        self.norm = layer_norm(arrays, f"{at}.norm")
        self.wide, self.narrow = dense(arrays, f"{at}.wide"), dense(arrays, f"{at}.narrow")

    def forward(self, x: Tensor) -> Tensor:
        return x + self.narrow(torch.relu(self.wide(self.norm(x))))


class Grids(nn.Module):
    """Convolutions over the blocks of features that are grids; the other blocks stay where they are."""

    def __init__(
        self, arrays: dict[str, Tensor], *, at: str, blocks: list, grids: list, depth: int, activation: str, **_
    ):
        super().__init__()
        self.blocks, self.function = blocks, ACTIVATIONS[activation]
        self.grids = grids
        self.stacks = nn.ModuleList(
            nn.ModuleList(convolution(arrays, f"{at}.{number}.{i}") for i in range(depth))
            for number in range(sum(shape is not None for shape in grids))
        )

    def forward(self, x: Tensor) -> Tensor:
        parts, stacks = [], iter(self.stacks)
        for part, shape in zip(x.split(self.blocks, -1), self.grids, strict=True):
            if shape is not None:
                part = part.reshape(-1, *shape).permute(0, 3, 1, 2)
                for layer in next(stacks):
                    part = self.function(layer(part))
                part = part.permute(0, 2, 3, 1).reshape(*x.shape[:-1], -1)
            parts.append(part)
        return torch.cat(parts, -1)


class Cell(nn.Module):
    """PyTorch's cells, whose gates stand in another order; its LSTM adds no 1 to the gate that keeps."""

    def __init__(self, arrays: dict[str, Tensor], *, do: str, at: str) -> None:
        super().__init__()
        order = {"gru": (1, 0, 2), "lstm": (1, 0, 3, 2)}[do]
        weights = {}
        for theirs, ours in (("ih", "inputs"), ("hh", "hidden")):
            for kind, name in (("weight", "weight_IO"), ("bias", "bias_O")):
                gates = arrays[f"{at}.{ours}.{name}"].movedim(-1, 0).chunk(len(order))
                weights[f"{kind}_{theirs}"] = torch.cat([gates[gate] for gate in order])
        size = weights["weight_hh"].shape[1]
        if do == "lstm":
            weights["bias_ih"][size : 2 * size] += 1.0
        kind = {"gru": nn.GRUCell, "lstm": nn.LSTMCell}[do]
        self.cell = filled(kind(weights["weight_ih"].shape[1], size), **weights)

    def forward(self, x: Tensor, memory: tuple[Tensor, ...] | None) -> tuple[Tensor, ...]:
        if isinstance(self.cell, nn.LSTMCell):
            return self.cell(x, memory[:2] if memory else None)
        return (self.cell(x, memory[0] if memory else None),)


class Context(nn.Module):
    """What weights are generated from: the last observations of a row, and its seat. The observations are the last of
    the memory, each with a 1 where there was one."""

    def __init__(
        self, arrays: dict[str, Tensor], *, at: str, inputs: int, history: int, seats: int, over_time: str | None,
        normaliser: str | None, grids: dict | None, **_,
    ):  # fmt: skip
        super().__init__()
        self.inputs, self.history, self.seats = inputs, history, seats
        self.normalise = None if normaliser is None else Normalise(arrays, at=normaliser)
        self.grids = None if grids is None else Grids(arrays, **grids)
        self.encoder = dense(arrays, f"{at}.encoder") if inputs else None
        self.over_time = None if over_time is None else Cell(arrays, do=over_time, at=f"{at}.over_time")
        self.register_buffer("identity", arrays.get(f"{at}.identity_NZ", torch.eye(seats)))
        self.joined = dense(arrays, f"{at}.joined")

    def forward(self, features: Tensor, memory: tuple[Tensor, ...] | None, seat: Tensor | None):
        parts, after = [], ()
        if self.encoder is not None:
            steps = torch.cat([features, torch.ones_like(features[:, :1])], -1)
            if self.history:
                width = self.inputs + 1
                before = memory[-1] if memory else steps.new_zeros(len(steps), self.history * width)
                steps = torch.cat([before[:, width:], steps], -1)
                after = (steps,)
            parts.append(self.encoded(self.encoder, steps.unflatten(-1, (-1, self.inputs + 1))))
        if self.seats:
            if seat is None:
                raise ValueError(
                    "The weights of this policy differ from seat to seat: give seat=, its place on its side."
                )
            parts.append(self.identity[seat.reshape(-1).long()])
        z = self.joined(torch.cat(parts, -1))
        return nn.functional.layer_norm(z, z.shape[-1:], eps=1e-5), after

    def encoded(self, encoder: nn.Module, steps: Tensor) -> Tensor:
        known, real = steps[..., :-1], steps[..., -1:]
        for layer in (self.normalise, self.grids):
            if layer is not None:
                known = layer(known.flatten(0, 1)).unflatten(0, steps.shape[:2])
        if self.over_time is None and self.history > 1:
            return torch.tanh(encoder(torch.cat([real * known, real], -1).flatten(1)))
        *before, last = (real * torch.tanh(encoder(known))).unbind(1)
        if self.over_time is None:
            return last
        memory = None
        for one in before:
            memory = self.over_time(one, memory)
        return self.over_time(last, memory)[0]


class Changed(nn.Module):
    """A layer and what the context z adds to its weights, or factors on what came out of the layer before."""

    def __init__(self, arrays: dict[str, Tensor], *, do: str, change: str, gate: int, at: str = "") -> None:
        super().__init__()
        strength, name = arrays["hyper.gate_L"][gate], "map_ZO" if do == "gain" else "map_KF"
        self.layer = dense(arrays, at) if at else None
        self.map = nn.Parameter(strength * arrays[f"{change}.{name}"])
        down = arrays.get(f"{change}.down_IR")
        self.down = None if down is None else nn.Parameter(down.clone())

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        if self.layer is None:
            return x * (1 + z @ self.map)
        seen = x if self.down is None else x @ self.down
        parts = (seen @ self.map[:-1] + self.map[-1]).unflatten(-1, (z.shape[-1], -1))
        return self.layer(x) + (z.unsqueeze(-1) * parts).sum(-2)


LAYERS = {
    **dict.fromkeys(ACTIVATIONS, Activation),
    **dict.fromkeys(("gru", "lstm"), Cell),
    "dense": dense,
    "layer_norm": layer_norm,
    "normalise": Normalise,
    "residual": Residual,
    "grids": Grids,
    "context": Context,
    **dict.fromkeys(("gain", "changed"), Changed),
}
