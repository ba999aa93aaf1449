"""Spaces of Gymnasium as rows of numbers: what is seen becomes features, choices and numbers become an action.

Spaces are known by the names of their classes, so those of the older gym will do as well. No JAX.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from sparring.core.errors import GameError

MASK = "action_mask"
"""Under this key of an observation or of an info is what an agent may choose."""
WIDE = 10.0
"""Bound of a number that its space does not bound."""


@dataclass(frozen=True)
class Reader:
    """How the observations of one space become features."""

    size: int
    read: Callable[[Any], np.ndarray]
    """Raises ValueError, with words that follow "an observation", where one does not fit its space."""


@dataclass(frozen=True)
class Writer:
    """How choices and numbers become an action of one space."""

    heads: tuple[int, ...]
    dimensions: int
    write: Callable[[np.ndarray, np.ndarray], Any]
    """write(choices, numbers): numbers lie in [-1, 1] where the space has bounds."""


def kind_of(space: Any) -> str:
    return type(space).__name__


def reader(space: Any) -> Reader:
    kind = kind_of(space)
    if kind == "Box":
        return box_reader(tuple(space.shape), np.dtype(space.dtype) == np.uint8)
    if kind == "Discrete":
        return one_hot(np.asarray([int(space.n)]), np.asarray([int(getattr(space, "start", 0))]))
    if kind == "MultiDiscrete":
        nvec = np.asarray(space.nvec).ravel()
        return one_hot(nvec, np.broadcast_to(np.asarray(getattr(space, "start", 0)).ravel(), nvec.shape))
    if kind == "MultiBinary":
        return box_reader(tuple(np.atleast_1d(space.shape)), pixels=False)
    if kind in ("Dict", "Tuple"):
        inner = space.spaces
        named = list(inner.items()) if kind == "Dict" else list(enumerate(inner))
        return joined({key: reader(part) for key, part in named if key != MASK})
    raise GameError(
        f"An observation space of the kind {kind} cannot become a vector. Use Box, Discrete, MultiDiscrete, "
        "MultiBinary, Dict or Tuple."
    )


def box_reader(shape: tuple[int, ...], pixels: bool) -> Reader:
    def read(value: Any) -> np.ndarray:
        array = np.asarray(value, np.float32)
        if array.shape != shape:
            raise ValueError(f"of shape {array.shape}, and its space says {shape}")
        return array.ravel() / 255.0 if pixels else array.ravel()

    return Reader(prod(shape), read)


def one_hot(nvec: np.ndarray, start: np.ndarray) -> Reader:
    begins, size = np.concatenate([[0], np.cumsum(nvec)[:-1]]), int(nvec.sum())

    def read(value: Any) -> np.ndarray:
        number = np.asarray(value).ravel() - start
        if number.shape != nvec.shape or (number < 0).any() or (number >= nvec).any():
            raise ValueError(f"of value {np.asarray(value).tolist()}, and its space has {nvec.tolist()} values")
        row = np.zeros(size, np.float32)
        row[begins + number.astype(int)] = 1.0
        return row

    return Reader(size, read)


def joined(parts: Mapping[Any, Reader]) -> Reader:
    def read(value: Any) -> np.ndarray:
        try:
            own = [part.read(value[key]) for key, part in parts.items()]
        except (KeyError, IndexError, TypeError):
            raise ValueError(f"without the parts {list(parts)} of its space") from None
        return np.concatenate(own) if own else np.zeros(0, np.float32)

    return Reader(sum(part.size for part in parts.values()), read)


def writer(space: Any) -> Writer:
    kind = kind_of(space)
    if kind == "Discrete":
        begin = int(getattr(space, "start", 0))
        return Writer((int(space.n),), 0, lambda choice, _: int(choice[0]) + begin)
    if kind == "MultiDiscrete":
        nvec, begins = np.asarray(space.nvec), np.asarray(getattr(space, "start", 0))
        return Writer(
            tuple(map(int, nvec.ravel())), 0, lambda choice, _: (choice.reshape(nvec.shape) + begins).astype(np.int64)
        )
    if kind == "MultiBinary":
        shape = tuple(np.atleast_1d(space.shape))
        return Writer((2,) * prod(shape), 0, lambda choice, _: choice.reshape(shape).astype(np.int8))
    if kind == "Box":
        return box_writer(space)
    if kind in ("Dict", "Tuple"):
        inner = space.spaces
        return apart({key: writer(part) for key, part in (inner.items() if kind == "Dict" else enumerate(inner))}, kind)
    raise GameError(
        f"An action space of the kind {kind} is not known. Use Discrete, MultiDiscrete, MultiBinary, Box, Dict, Tuple."
    )


def box_writer(space: Any) -> Writer:
    low, high = (np.asarray(bound, np.float64) for bound in (space.low, space.high))
    bounded = np.isfinite(low) & np.isfinite(high)
    middle, half = np.where(bounded, (low + high) / 2, 0.0), np.where(bounded, (high - low) / 2, WIDE)
    whole = np.issubdtype(space.dtype, np.integer)

    def write(_: np.ndarray, number: np.ndarray) -> np.ndarray:
        value = np.clip(middle + half * number.reshape(low.shape), space.low, space.high)
        return (np.rint(value) if whole else value).astype(space.dtype)

    return Writer((), low.size, write)


def apart(parts: Mapping[Any, Writer], kind: str) -> Writer:
    """Each part of an action from its own stretch of choices and numbers."""

    def write(choice: np.ndarray, number: np.ndarray) -> Any:
        own, head, dimension = {}, 0, 0
        for key, part in parts.items():
            later = head + len(part.heads), dimension + part.dimensions
            own[key] = part.write(choice[head : later[0]], number[dimension : later[1]])
            head, dimension = later
        return own if kind == "Dict" else tuple(own.values())

    heads = tuple(size for part in parts.values() for size in part.heads)
    return Writer(heads, sum(part.dimensions for part in parts.values()), write)


def mask_of(seen: Any, info: Mapping[str, Any]) -> np.ndarray | None:
    """What an agent may choose, all heads one after another; None: anything."""
    found = seen[MASK] if isinstance(seen, Mapping) and MASK in seen else info.get(MASK)
    if found is None:
        return None
    parts = found if isinstance(found, tuple | list) else [found]
    return np.concatenate([np.asarray(part).ravel() for part in parts]).astype(bool)
