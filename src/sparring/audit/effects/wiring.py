"""What the parameters that a treatment adds reach: play, which losses, and how much, on a first minibatch.

JAX gives a parameter that no loss reaches a gradient of zeros, like one that met an unlucky minibatch: so whether there
is a path at all is asked of the program, and how much goes along it of numbers.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array
from jax.custom_derivatives import SymbolicZero

from sparring.audit.effects.minds import FLOOR, PLACE, Minded, drift, minded, policy_changes, studied_by
from sparring.audit.effects.programs import STATE, Traced
from sparring.audit.graph import named, part_of
from sparring.learn.batch import Batch, unroll
from sparring.learn.config import PPOConfig, knobs_of
from sparring.learn.groups import labels
from sparring.learn.learner import behaviour, trainable
from sparring.learn.losses import masked_mean
from sparring.learn.module import weights_of
from sparring.learn.objective import objective
from sparring.play.chance import stream
from sparring.setup.beginning import first_state
from sparring.setup.build import Built
from sparring.setup.named_arrays import leaf_name
from sparring.setup.program import compile_program
from sparring.setup.rows import taken

TERMS = ("policy_loss", "value_loss", "entropy", "anchor_kl", "imitation")


@dataclass(frozen=True)
class Probe:
    """A learner as it begins and a minibatch that it played: enough to ask its objective anything."""

    model: Any
    batch: Batch
    knobs: Any
    kl_weight: Array | None
    ppo: PPOConfig
    weights: Mapping[str, float]
    """Of losses and modules of one's own, each the largest that its schedule gives it."""
    mind: Minded | None

    def terms(self, trained: Any) -> dict[str, Array]:
        """Every term of the objective, and the whole."""
        _, untrained = trainable(self.model)
        key = stream(jax.random.key(0), "modules")
        total, found = objective(trained, untrained, self.batch, self.knobs, self.kl_weight, self.ppo, key)
        own = {} if found.own == () else found.own
        switches = {"anchor_kl": "anchor", "imitation": "imitation"}
        on = (name for name in TERMS if name not in switches or self.ppo.on(switches[name]))
        return {"total": total, **{name: x for name in on if (x := getattr(found, name)).shape == ()}, **own}


def probe(built: Built, group: int = 0) -> Probe:
    """One iteration is played and learned: its minibatch is what the report keeps."""
    state, orders = first_state(built), built.standing
    first = jax.tree.map(lambda x: np.array(x[0, 0]), state.learners[group])
    knobs = jax.tree.map(jnp.asarray, built.knobs(0))
    seeds_R = jnp.asarray(built.seeds_R)
    program = compile_program(built.plan)
    later, report = program(built.game_of(0), state, built.rosters, orders, knobs, seeds_R, jnp.asarray(0))
    batch = taken(report.suspects[group], 0, 0)
    ppo = built.plan.kinds[group].ppo
    own = weights_of(ppo.losses, ppo.modules)
    weights = {name: max(weight.start, weight.end, key=abs) for name, (_, weight) in own.items()}
    mind = minded(built, later, group)
    return Probe(first.model, batch, knobs_of(knobs[group][0], len(own)), first.kl_weight, ppo, weights, mind)


def reached(loss: Callable[[Any], Array], trained: Any) -> set[str]:
    """The parameters to which a gradient of this loss flows, by the structure of the program alone."""
    found: set[str] = set()

    def marked(path: tuple, leaf: Any) -> Any:
        def back(_: None, gradient: Any) -> tuple:
            if isinstance(gradient, SymbolicZero):
                return (jnp.zeros_like(leaf),)
            found.add(leaf_name(path))
            return (gradient,)

        same = jax.custom_vjp(lambda x: x)
        same.defvjp(lambda x: (x.value, None), back, symbolic_zeros=True)
        return same(leaf)

    jax.eval_shape(jax.grad(lambda tree: loss(jax.tree_util.tree_map_with_path(marked, tree))), trained)
    return found


class Wire(NamedTuple):
    """What one parameter reaches."""

    size: int
    plays: bool
    """Games depend on it as it is."""
    used: bool
    """Something that the baseline has too depends on it, now or in a later iteration."""
    losses: tuple[str, ...]
    """Those whose gradient reaches it."""
    gradient: float
    """Of the whole objective, its length."""
    optimiser: str
    """The group that steps it."""


def wires(on: Traced, found: Probe, wanted: Iterable[str], outcomes: set[str], group: int = 0) -> dict[str, Wire]:
    """By name, what parameters of the model reach; `outcomes` are those that the baseline has too."""
    place, program = f"{STATE}learners.{group}.model.", on.iterate
    games = part_of(program.jaxpr, [name.startswith((f"{STATE}cursor", "tally.")) for name in program.gives])
    played, used = program.used(games), program.used(program.part(outcomes))
    trained, _ = trainable(found.model)
    terms = {*jax.eval_shape(found.terms, trained)} - {"total"}
    flows = {term: reached(lambda tree, term=term: found.terms(tree)[term], trained) for term in sorted(terms)}
    slopes, groups, leaves = (named(("",), (x,)) for x in (gradients(found)["total"], labels(trained), trained))
    if found.mind is not None:
        own, steep = studied_by(found.mind, reached)
        flows, slopes, leaves = flows | own, slopes | steep, leaves | steep
        groups |= dict.fromkeys(steep, "the mind's own")
    wires = {}
    for name in (name for name in wanted if name in leaves and leaves[name].size):
        losses = tuple(term for term, names in flows.items() if name in names)
        acts, norm = (f"{place}{name}" in played, f"{place}{name}" in used), float(jnp.linalg.norm(slopes[name]))
        wires[name] = Wire(leaves[name].size, *acts, losses, norm, groups[name])
    return wires


def gradients(found: Probe) -> dict[str, Any]:
    """Of each term, the gradient of everything trained."""
    return jax.jit(jax.jacrev(found.terms))(trainable(found.model)[0])


def shares(found: Probe) -> dict[str, float]:
    """Of each loss of one's own: how long its gradient is, by its weight, beside that of the whole objective."""
    norms = {term.removesuffix("/loss"): float(optax.global_norm(tree)) for term, tree in gradients(found).items()}
    own, whole = {name: abs(weight) for name, weight in found.weights.items() if name in norms}, norms["total"]
    return {name: weight * norms[name] / max(whole, FLOOR) for name, weight in own.items()}


class Influence(NamedTuple):
    """What becomes of the learner when a part is replaced: the largest of zeros, noise and its own numbers shuffled."""

    kl: float
    """Of the policy, in nats."""
    value: float
    """Mean change of the critic's values."""
    gradient: float
    """Change of the gradient of actor and critic, as a share of its length; for a part of a mind, of that of what was
    done."""

    @property
    def felt(self) -> bool:
        """More than rounding: an output that a normalisation takes away leaves as much as that."""
        return self.kl > 1e-6 or self.value > 1e-6 or self.gradient > 1e-5


def influences(found: Probe, parts: Mapping[str, Iterable[str]], seed: int = 0) -> dict[str, Influence]:
    """Of each part, given by the names of its parameters."""

    @jax.jit
    def seen(model: Any) -> tuple[Array, Array, Any]:
        given = unroll(behaviour(model.actor, found.knobs, found.ppo), model.judge, found.batch)
        trained, _ = trainable(model)
        gradient = jax.grad(lambda tree: found.terms(tree)["total"])(trained)
        return given.kl, given.value, (gradient.actor, gradient.critic)

    ways = (
        np.zeros_like, lambda x: generator.normal(size=x.shape),
        lambda x: generator.permutation(x.ravel()).reshape(x.shape),
    )  # fmt: skip

    def replaced(model: Any, names: set[str]) -> list[Any]:
        return [with_leaves(model, names, way) for way in ways]

    of_mind = {part: names for part, names in parts.items() if part.startswith(PLACE.rstrip("."))}
    batch, generator, told = found.batch, np.random.default_rng(seed), {}
    if found.mind is not None and of_mind:
        # What a mind says starts without a part in what is done: with all that is added at random it has one.
        at_random = with_leaves(found.mind.learner.model, {name for own in parts.values() for name in own}, ways[1])
        changes = policy_changes(found.mind, at_random, of_mind, replaced)
        told = {part: Influence(kl, 0.0, gradient) for part, (kl, gradient) in changes.items()}
    kl, value, gradient = seen(found.model)
    for part, names in ((part, {*names}) for part, names in parts.items() if part not in told):
        changes = []
        for model in replaced(found.model, names):
            other_kl, other, moved = seen(model)
            apart = masked_mean(jnp.abs(other - value), batch.present)
            changes.append(
                [float(x) for x in (masked_mean(jnp.abs(other_kl - kl), batch.acting), apart, drift(moved, gradient))]
            )
        told[part] = Influence(*np.max(changes, axis=0).tolist())
    return {part: told[part] for part in parts}


def with_leaves(model: Any, names: set[str], replaced: Callable[[np.ndarray], np.ndarray]) -> Any:
    def leaf(path: tuple, x: Any) -> Any:
        array = np.asarray(x)
        return np.asarray(replaced(array), array.dtype) if leaf_name(path) in names else x

    return jax.tree_util.tree_map_with_path(leaf, model)


def added(off: Traced, on: Traced, group: int = 0) -> list[str]:
    """Parameters of a group's model that the baseline's of the same learners has not, or has of another kind."""
    mine, learner = f"models.{group}.", on.built.lineup.learners[group][0]
    theirs = next((i for i, names in enumerate(off.built.lineup.learners) if learner in names), 0)
    kinds = {name.removeprefix(mine): kind_of(told) for name, told in on.inputs.items() if name.startswith(mine)}
    return [name for name, kind in kinds.items() if kind != kind_of(off.inputs.get(f"models.{theirs}.{name}"))]


def kind_of(told: str | None) -> str:
    """Type and shape of an array, by its digest, without the axes of seeds and learners."""
    kind, _, shape = (told or "").rpartition(" ")[0].partition("[")
    return f"{kind}{shape.split(', ')[2:]}"


def part_names(names: Iterable[str]) -> dict[str, list[str]]:
    """Parameters by the part of the model that they belong to: a layer, or a field of a module."""
    found: dict[str, list[str]] = {}
    for name in names:
        above = name.rpartition(".")[0]
        found.setdefault(above if above.count(".") > 1 or not name.startswith("modules.") else name, []).append(name)
    return found


def constants_in(tree: Any, where: str = "") -> list[str]:
    """Fields of numbers that no gradient ever moves: static ones, and arrays of whole numbers."""
    if isinstance(tree, dict | list | tuple):
        items = tree.items() if isinstance(tree, dict) else enumerate(tree)
        return [line for key, value in items for line in constants_in(value, f"{where}.{key}")]
    if hasattr(tree, "dtype"):
        return [where.strip(".")] if tree.dtype.kind in "iu" else []
    if not isinstance(tree, eqx.Module):
        return []
    found = []
    for field in tree.__dataclass_fields__.values():
        value, place = getattr(tree, field.name, None), f"{where}.{field.name}".strip(".")
        if not field.metadata.get("static"):
            found += constants_in(value, place)
        elif hasattr(value, "shape") or is_table(value):
            found.append(place)
    return found


def is_table(value: Any) -> bool:
    """Several numbers with a point, in a tuple or in tuples of tuples."""
    leaves = jax.tree.leaves(value)
    return isinstance(value, tuple) and len(leaves) > 1 and all(isinstance(x, float) for x in leaves)
