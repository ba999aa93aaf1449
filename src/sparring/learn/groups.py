"""Optimiser groups: which weights step together, how far, and by which rule.

Every weight belongs to exactly one group: one that no group takes would never learn, and nobody would notice.
"""

from collections.abc import Sequence
from math import sqrt
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax import Array
from optax.contrib import MuonDimensionNumbers, scale_by_muon

from sparring.core.errors import ConfigError
from sparring.learn.config import PPOConfig

GROUPS = {
    "actor": ("actor_rate", "actor_eps"),
    "critic": ("critic_rate", "critic_eps"),
    "trunk": ("learning_rate", "adam_eps"),
    "modules": ("learning_rate", "adam_eps"),
    "hyper": ("hyper_rate", "adam_eps"),
}
"""Of each group the knobs that hold its step size and its Adam's epsilon."""

NETWORKS = ("actor", "critic", "trunk")
"""The groups that are there without modules of one's own."""

Table = Sequence[tuple[str, str]]
MODULES = ("modules", "modules")
HEADS: Table = (
    ("actor", "actor.head"),
    ("actor", "actor.log_std_C"),
    ("actor", "actor.fusion"),
    ("critic", "critic.trunk"),
    ("critic", "critic.head"),
    ("hyper", "actor.hyper"),
    ("hyper", "critic.hyper"),
    MODULES,
)
SEPARATE: Table = (("actor", "actor.trunk"), *HEADS)
"""Pairs of a group and the path under which its weights are; no path may lie under that of another group."""
SHARED: Table = (("trunk", "actor.trunk"), *HEADS)
"""The same where the critic reads the actor's trunk."""
APART = ("modules", "hyper")
"""Groups whose gradients never shorten the steps of the others."""


def labels(trained: Any, table: Table | None = None) -> Any:
    """The tree with the name of its group in place of each weight."""
    if table is None:
        table = SHARED if trained.critic.trunk is None else SEPARATE

    def label(path: tuple, _: Any) -> str:
        name = name_of(path)
        found = sorted({group for group, prefix in table if f"{name}.".startswith(f"{prefix}.")})
        if len(found) != 1:
            known = ", ".join(f"{group} ({prefix})" for group, prefix in table)
            raise ConfigError(
                f"Each weight belongs to one optimiser group, but {name} belongs to {' and '.join(found) or 'none'} "
                f"of {known}. Give it one line in the table of sparring.learn.groups."
            )
        return found[0]

    return jax.tree_util.tree_map_with_path(label, trained)


def optimiser(
    config: PPOConfig,
    knobs: Any,
    labels: Any,
    critic_factor: Array | float = 1.0,
    *,
    moving: Sequence[str] = tuple(GROUPS),
) -> optax.GradientTransformation:
    """Clip, then a step for each group. Its updates are to be added: they hold the rate of their group, and the sign.

    Rates and epsilons are traced, so they are multiplied in and live in the knobs alone. Groups that are not `moving`
    count as if they had no gradient: their weights, moments and clocks stay, and the clip does not see them.
    """
    present = sorted(set(jax.tree.leaves(labels)))
    steps: dict[Any, optax.GradientTransformation] = {}
    for group in present:
        rate, eps = (getattr(knobs, name) for name in GROUPS[group])
        rate = rate * critic_factor if group == "critic" else rate
        rules: dict[Any, optax.GradientTransformation] = {
            group: optax.chain(optax.scale_by_adam(eps=eps), optax.scale(-rate))
        }
        if config.optimiser == "muon":
            rules[matrices(group)] = muon(rate)
        steps |= rules if group in moving else {name: waiting(rule) for name, rule in rules.items()}

    def rules_of(tree: Any) -> Any:
        return hidden(tree, labels) if config.optimiser == "muon" else labels

    whole = optax.chain(clipping(config, knobs, labels), optax.partition(steps, rules_of))
    if set(present) <= set(moving):
        return whole

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        return whole.update(only(updates, labels, *moving), state, params)

    return optax.GradientTransformation(whole.init, update)


def clipping(config: PPOConfig, knobs: Any, labels: Any) -> optax.GradientTransformation:
    """Gradients clipped by their common length, or part by part."""
    clip, present = optax.clip_by_global_norm(knobs.max_grad_norm), set(jax.tree.leaves(labels))
    parts = labels
    if not config.clip_groups:
        if not present & set(APART):
            return clip
        parts = jax.tree.map(lambda label: label if label in APART else "common", labels)
    clips = dict.fromkeys(sorted(set(jax.tree.leaves(parts))), clip)
    if "hyper" in clips:
        clips["hyper"] = optax.clip_by_global_norm(knobs.hyper_max_grad_norm)
    return optax.partition(clips, lambda _: parts)


def at_rollout(state: Any, config: PPOConfig) -> Any:
    """The optimiser's state as a new rollout begins: Adam-Rel sets Adam's clock to 0 and keeps the moments.

    The objective is a new one, and large first gradients of it then move no further than those of a fresh start
    (arXiv:2412.17113).
    """
    if config.optimiser != "adam_rel":
        return state

    def adam(node: Any) -> bool:
        return isinstance(node, optax.ScaleByAdamState)

    return jax.tree.map(
        lambda node: node._replace(count=jnp.zeros_like(node.count)) if adam(node) else node, state, is_leaf=adam
    )


def group_norms(gradient: Any, labels: Any) -> dict[str, Array]:
    """The length of each group's gradient before it is clipped; 0 for a group that is not there."""
    pairs = list(zip(jax.tree.leaves(gradient), jax.tree.leaves(labels), strict=True))
    return {name: jnp.asarray(optax.global_norm([x for x, label in pairs if label == name])) for name in NETWORKS}


def only(updates: Any, labels: Any, *groups: str) -> Any:
    """Zeros for every other group."""
    return jax.tree.map(lambda x, label: x if label in groups else jnp.zeros_like(x), updates, labels)


def waiting(rule: optax.GradientTransformation) -> optax.GradientTransformation:
    """A rule that has the state of another and leaves it as it is; updates, which are zeros by then, pass."""

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        del params
        return updates, state

    return optax.GradientTransformation(rule.init, update)


def muon(rate: Array | float) -> optax.GradientTransformation:
    """Momentum made orthogonal (Jordan 2024, github.com/KellerJordan/Muon).

    An orthogonal matrix has entries of root mean square 1 / sqrt(longer side). 0.2 * sqrt(longer side) brings them to
    the 0.2 that is usual of Adam's steps, so that the learning rates of Adam serve (arXiv:2502.16982, section 2.2).
    """

    def plain(tree: Any) -> Any:
        return jax.tree.map(lambda _: MuonDimensionNumbers(), tree)

    def scaled(matrix: Any, _: Any) -> Array:
        return -rate * (0.2 * sqrt(max(matrix.shape))) * matrix

    return optax.chain(scale_by_muon(weight_dimension_numbers=plain), optax.stateless_with_tree_map(scaled))


def hidden(tree: Any, labels: Any) -> Any:
    """Labels in which the matrices inside trunks are apart, for Muon.

    Its authors leave heads, biases, gains and other vectors to Adam. They do so with layers that read words, too; the
    first layer of a trunk reads numbers and counts as hidden here.
    """

    def label(path: tuple, x: Any, group: str) -> str:
        return matrices(group) if x.ndim == 2 and "trunk" in name_of(path).split(".") else group

    return jax.tree_util.tree_map_with_path(label, tree, labels)


def matrices(group: str) -> str:
    return f"{group}_matrices"


def name_of(path: tuple) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".")
