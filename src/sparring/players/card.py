"""What a player computes, as plain data: its card. Enough to rebuild it in another library from its named arrays.

    {"game": "kuhn", "weights": "kuhn-1.safetensors", "features": [...], "action": {...},
     "network": [{"do": "dense", "at": "trunk.layers.0"}, {"do": "tanh"}, {"do": "dense", "at": "head"}]}

Each step of the network works on the last axis; `at` is where the names of its arrays begin.
"""

from dataclasses import asdict
from typing import Any

from sparring.core.errors import ConfigError
from sparring.core.spec import GameSpec
from sparring.nets.actor_critic import Actor
from sparring.nets.blocks import Dense, Residual
from sparring.nets.trunk import Grids, Trunk, is_grid
from sparring.store.packages import PlayerMeta

FORMAT, FORMAT_VERSION = "sparring-card", 1

Step = dict[str, Any]


def card_of(meta: PlayerMeta, spec: GameSpec, policy: Any, weights: str) -> dict[str, Any]:
    """The card of a player whose weights are in a file of that name beside it."""
    told = {"format": FORMAT, "version": FORMAT_VERSION, **asdict(meta), "weights": weights}
    return told | {
        "features": [{"name": block.name, "shape": list(block.shape)} for block in spec.layout],
        "action": asdict(spec.action),
        "network": steps_of(policy) if isinstance(policy, Actor) else [],
    }


def steps_of(actor: Actor) -> list[Step]:
    """The network as steps, one after another; the last gives scores of all entries, then means of all dimensions,
    then log-deviations where no array `log_std_C` gives them."""
    if actor.hyper is not None:
        raise ConfigError(
            "The weights of this player are generated as it plays, from which seat it is and what it saw, and no "
            "single network for another library says that. Export its weights alone: --formats package, and play it "
            "with sparring.load or as an opponent."
        )
    trunk, steps = actor.trunk, []
    if trunk.normaliser is not None:
        steps.append({"do": "normalise", "at": "trunk.normaliser"})
    if trunk.grids is not None:
        steps.append(grids_step(trunk.grids))
    steps += norm_step(trunk.input_norm, "trunk.input_norm")
    for i, (layer, norm) in enumerate(zip(trunk.layers, trunk.norms, strict=True)):
        steps += [layer_step(layer, i), *activation_step(trunk), *norm_step(norm, f"trunk.norms.{i}")]
    if trunk.cell is not None:
        steps.append({"do": type(trunk.cell).__name__.lower(), "at": "trunk.cell"})
    return [*steps, *norm_step(trunk.cell_norm, "trunk.cell_norm"), {"do": "dense", "at": "head"}]


def activation_step(trunk: Trunk) -> list[Step]:
    return [] if trunk.activation is None else [{"do": trunk.activation}]


def norm_step(norm: Any, at: str) -> list[Step]:
    return [] if norm is None else [{"do": "layer_norm", "at": at}]


def layer_step(layer: Any, number: int) -> Step:
    kinds = {Dense: "dense", Residual: "residual"}
    if type(layer) not in kinds:
        raise ConfigError(
            f"The body of this player is code of its own ({type(layer).__name__}), which cannot be written for another "
            "library. Export its weights alone: --formats package"
        )
    return {"do": kinds[type(layer)], "at": f"trunk.layers.{number}"}


def grids_step(grids: Grids) -> Step:
    return {
        "do": "grids",
        "at": "trunk.grids.stacks",
        "blocks": [block.size for block in grids.layout],
        "grids": [list(block.shape) if is_grid(block) else None for block in grids.layout],
        "depth": len(grids.stacks[0]),
        "activation": grids.activation,
    }
