"""What a player computes, as plain data: its card. Enough to rebuild it in another library from its named arrays.

    {"game": "kuhn", "weights": "kuhn-1.safetensors", "features": [...], "action": {...},
     "network": [{"do": "dense", "at": "trunk.layers.0"}, {"do": "tanh"}, {"do": "dense", "at": "head"}]}

Each step of the network works on the last axis; `at` is where the names of its arrays begin. Where weights are
generated, the first step gives the context z of a row, and later ones are changed by it.
"""

from dataclasses import asdict
from typing import Any

from sparring.core.errors import ConfigError
from sparring.core.spec import GameSpec
from sparring.nets.actor_critic import Actor
from sparring.nets.blocks import Dense, Fixed, Residual
from sparring.nets.hyper.context import Transformer
from sparring.nets.hyper.generated import Gain
from sparring.nets.hyper.hyper import Hyper
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
    trunk, steps = actor.trunk, []
    if actor.hyper is not None:
        steps.append(context_step(actor.hyper, trunk))
    if trunk.normaliser is not None:
        steps.append({"do": "normalise", "at": "trunk.normaliser"})
    if trunk.grids is not None:
        steps.append(grids_step(trunk.grids, "trunk.grids"))
    steps += norm_step(trunk.input_norm, "trunk.input_norm")
    for i, (layer, norm) in enumerate(zip(trunk.layers, trunk.norms, strict=True)):
        own = changed_steps(actor.hyper, layer_step(layer, i), i)
        steps += [*own, *activation_step(trunk), *norm_step(norm, f"trunk.norms.{i}")]
    if trunk.cell is not None:
        steps.append({"do": type(trunk.cell).__name__.lower(), "at": "trunk.cell"})
    steps += norm_step(trunk.cell_norm, "trunk.cell_norm")
    return [*steps, *changed_steps(actor.hyper, {"do": "dense", "at": "head"}, len(trunk.layers))]


def context_step(hyper: Hyper, trunk: Trunk) -> Step:
    """What weights are generated from, of each row by itself: the seat, and a memory of its last observations."""
    context = hyper.context
    reasons = {
        "add up from step to step (hyper=recurrent)": hyper.recurrent,
        "depend on what other seats see (hyper_sees=joint)": context.sees == "joint",
        "depend on what it did, which nobody tells it there (hyper_recalls)": context.beside > 0,
        "have a longest change (hyper_cap)": hyper.cap > 0,
        "come from a transformer (hyper_encoder)": isinstance(context.over_time, Transformer),
    }
    found = [reason for reason, there in reasons.items() if there]
    if found:
        raise ConfigError(
            f"The generated weights of this player {' and '.join(found)}, which is not written for other libraries. "
            "Export it for ours, --formats package, and play it with sparring.load or as an opponent."
        )
    over_time = None if context.over_time is None else type(context.over_time).__name__.lower()
    return {
        "do": "context",
        "at": "hyper.context",
        "inputs": context.inputs if context.encoder is not None else 0,
        "history": context.history,
        "seats": context.seats,
        "over_time": over_time,
        "normaliser": None if trunk.normaliser is None else "trunk.normaliser",
        "grids": None if context.grids is None else grids_step(context.grids, "hyper.context.grids"),
    }


def changed_steps(hyper: Hyper | None, step: Step, number: int) -> list[Step]:
    """The step of a layer with what a hypernetwork makes of it."""
    if hyper is None:
        return [step]
    told = {"change": f"hyper.changes.{number}", "gate": number}
    if isinstance(hyper.changes[number], Gain):
        return [step, {"do": "gain", **told}]
    return [{"do": "changed", "at": step["at"], **told}]


def activation_step(trunk: Trunk) -> list[Step]:
    return [] if trunk.activation is None else [{"do": trunk.activation}]


def norm_step(norm: Any, at: str) -> list[Step]:
    return [] if norm is None else [{"do": "layer_norm", "at": at}]


def layer_step(layer: Any, number: int) -> Step:
    kinds = {Dense: "dense", Fixed: "dense", Residual: "residual"}
    if type(layer) not in kinds:
        raise ConfigError(
            f"The body of this player is code of its own ({type(layer).__name__}), which cannot be written for another "
            "library. Export its weights alone: --formats package"
        )
    return {"do": kinds[type(layer)], "at": f"trunk.layers.{number}"}


def grids_step(grids: Grids, at: str) -> Step:
    return {
        "do": "grids",
        "at": f"{at}.stacks",
        "blocks": [block.size for block in grids.layout],
        "grids": [list(block.shape) if is_grid(block) else None for block in grids.layout],
        "depth": len(grids.stacks[0]),
        "activation": grids.activation,
    }
