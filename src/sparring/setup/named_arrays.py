"""The state of a run as named arrays, and back. Structure comes from config and code, never from a file."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

from sparring.core.errors import RunError


def to_arrays(tree: Any) -> dict[str, np.ndarray]:
    """Every leaf under its path. Copies: a view of a live buffer would silently forbid its donation."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {leaf_name(path): np.array(leaf, copy=True) for path, leaf in leaves}


def from_arrays(
    skeleton: Any, arrays: Mapping[str, np.ndarray], *, source: str, rename: Callable[[str], str] = lambda name: name
) -> Any:
    """The skeleton with its leaves taken from arrays; names, shapes and types must all agree."""

    def fill(path: tuple, leaf: Any) -> Any:
        name = rename(leaf_name(path))
        if name not in arrays:
            raise RunError(
                f"{source} has no array {name}: it comes from a network or game of another kind. Use the same settings."
            )
        found = arrays[name]
        if found.shape != leaf.shape or found.dtype != leaf.dtype:
            raise RunError(
                f"{name} of {source} is {found.dtype}{list(found.shape)}, expected {leaf.dtype}{list(leaf.shape)}. "
                "Use the same game and network settings as the run it comes from."
            )
        return jax.device_put(found)  # jnp.asarray would compile a program for every shape

    return jax.tree_util.tree_map_with_path(fill, skeleton)


def leaf_names(tree: Any) -> set[str]:
    """The names that `to_arrays` would give, of shapes too."""
    return {leaf_name(path) for path, _ in jax.tree_util.tree_flatten_with_path(tree)[0]}


def leaf_name(path: tuple) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".")
