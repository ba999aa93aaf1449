"""Weights of a policy that somebody else made: names and arrays, from PyTorch, NumPy or JAX, kept as NumPy on the host.

Neither PyTorch nor JAX is loaded for it: a tensor is told by what it can do, and whoever hands one over has loaded its
library.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from sparring.core.errors import ConfigError

Weights = dict[str, np.ndarray]

_NARROW = ("bfloat16", "float8")
"""Kinds of floats that NumPy does not have; float32 holds each of their values exactly."""


def entries(policy: Any) -> Mapping[str, Any]:
    """Names and arrays of a policy: its `state_dict()`, or the mapping that it is."""
    policy = unwrapped(policy)
    found = policy.state_dict() if callable(getattr(policy, "state_dict", None)) else policy
    if not isinstance(found, Mapping):
        raise ConfigError(
            f"A policy must have a state_dict() or be a mapping of names to arrays, found {type(policy).__name__}. "
            "Pass the module itself, or its weights as a flat dictionary."
        )
    return found


def unwrapped(policy: Any) -> Any:
    """The module within what torch.compile or data parallelism made of it, which have other names for its weights."""
    while True:
        if type(policy).__name__ == "OptimizedModule":
            policy = policy._orig_mod
        elif type(policy).__name__ in ("DistributedDataParallel", "DataParallel"):
            policy = policy.module
        else:
            return policy


def copied(policy: Any) -> Weights:
    """The weights as they are now; what the policy learns later does not reach them."""
    return {str(name): _array(str(name), value) for name, value in entries(policy).items()}


def is_tensor(value: Any) -> bool:
    """Whether it is one of PyTorch's."""
    return callable(getattr(value, "detach", None))


def _array(name: str, value: Any) -> np.ndarray:
    if is_tensor(value):
        value = value.detach().to("cpu")
        value = (value.float() if any(kind in str(value.dtype) for kind in _NARROW) else value).numpy()
    array = np.asarray(value)
    if any(kind in array.dtype.name for kind in _NARROW):
        array = array.astype(np.float32)
    if array.dtype.kind not in "fiub":
        raise ConfigError(
            f"Weights must be arrays of floats, whole numbers or truths, found {name!r} of {type(value).__name__} "
            f"({array.dtype}). Leave it out of the mapping or the state_dict."
        )
    if array.dtype.kind == "f" and np.isnan(array).any():
        raise ConfigError(
            f"The policy has weights that are not numbers (NaN in {name!r}): learning has diverged. Go back to a "
            "checkpoint from before; shadow and pool are as they were."
        )
    return np.array(array, order="C", copy=True)


def check_alike(expected: Weights, found: Mapping[str, Any], what: str) -> None:
    """Refuse weights of another network: one shape serves all opponents."""
    for name in (*expected, *found):
        shapes = [tuple(one[name].shape) if name in one else None for one in (expected, found)]
        if shapes[0] != shapes[1]:
            wanted, has = ("nothing" if shape is None else f"shape {shape}" for shape in shapes)
            raise ConfigError(
                f"{what} must have the weights of the policies before it: expected {wanted} for {name!r}, found {has}. "
                "A network of another shape needs an OpponentManager of its own."
            )


def begun(weights: Weights) -> Weights:
    """A shadow that begins as these weights. Short floats become float32: at a rate of 0.005 the steps of a shadow are
    smaller than float16 can add, so that it would never move."""
    return {
        name: array.astype(np.float32) if array.dtype == np.float16 else array.copy() for name, array in weights.items()
    }


def towards(shadow: Weights, newest: Weights, tau: float) -> Weights:
    """One step of a slow average. Floats are averaged; counters and truths are those of the newest: the mean of two
    counts is the count of nothing."""
    return {
        name: _nearer(slow, newest[name], tau) if slow.dtype.kind == "f" else newest[name].copy()
        for name, slow in shadow.items()
    }


def _nearer(slow: np.ndarray, newest: np.ndarray, tau: float) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # where both are infinite, as in masks, nothing moves
        return np.where(newest == slow, slow, slow + tau * (newest - slow)).astype(slow.dtype)


def handed_out(weights: Weights, *, tensors: bool, device: Any = None) -> dict[str, Any]:
    """A copy for a loop outside, as arrays or as PyTorch's tensors."""
    if not tensors:
        return {name: array.copy() for name, array in weights.items()}
    torch = import_module("torch")
    return {name: torch.tensor(array, device=device) for name, array in weights.items()}
