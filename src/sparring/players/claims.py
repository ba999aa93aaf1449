"""What a file from a stranger claims to be, against what is in it: compared before anything of that size is made."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import jax
import numpy as np

from sparring.core.code import reference
from sparring.core.errors import ConfigError, RunError
from sparring.core.seeding import Seed
from sparring.core.settings import from_dict
from sparring.core.spec import GameSpec
from sparring.nets.actor_critic import Actor
from sparring.nets.config import NetConfig, check_net
from sparring.play.mixed import Mixture
from sparring.setup.named_arrays import from_arrays, leaf_names
from sparring.store.packages import PlayerMeta

MOST_CLAIMED = 10_000
"""A whole number in the options of a package's game that needs no weights to show for it: steps, seconds, rounds."""


def net_of(path: Path, meta: PlayerMeta) -> NetConfig:
    """The settings of a package's network, in the ranges that settings of a run have."""
    try:
        net = from_dict(NetConfig, meta.net, where="its network")
        check_net(net)
    except ConfigError as error:
        raise RunError(f"{path} is not a player: {error} Get another copy.") from None
    return net


def check_claims(path: Path, meta: PlayerMeta, arrays: Mapping[str, np.ndarray]) -> None:
    """Refuse a package that claims more than it holds before anything is built: it could ask for all memory there is.

    Sizes of a game make its players as large, so an option that is larger than all weights together is none of theirs.
    """
    held = sum(array.size for array in arrays.values())
    least = least_weights(net_of(path, meta)) * max(1, meta.members)
    if held < least:
        raise RunError(
            f"{path} holds {held:,} weights, and the network it names has {least:,} or more "
            f"({4 * least // 2**20:,} MiB). It is damaged: get another copy."
        )
    for option in meta.options:
        if size_of(option) > max(held, MOST_CLAIMED):
            raise RunError(f"{path} holds {held:,} weights, too few for a game with {option[:40]}. Get another copy.")


def size_of(option: str) -> int:
    """The whole number in an option of a game; 0 where it is something else."""
    try:
        return int(option.partition("=")[2])
    except ValueError:
        return 0


def filled(
    spec: GameSpec, net: NetConfig, arrays: Mapping[str, np.ndarray], source: str, members: int = 0,
    dressed: Callable[[Actor], Actor] = lambda actor: actor,
) -> Any:  # fmt: skip
    """The actor of these settings with these weights, or a mixture of so many members; no array may be missing, and
    none left over. `dressed` adds what it has beside its network, such as a mind."""
    skeleton = jax.eval_shape(lambda: dressed(Actor.make(Seed.of(0), spec, net)))  # nothing is made before shapes agree
    if members:
        stacked = jax.tree.map(lambda x: jax.ShapeDtypeStruct((members, *x.shape), x.dtype), skeleton)
        weight_M: Any = jax.ShapeDtypeStruct((members,), np.float32)
        skeleton = Mixture(stacked, weight_M)
    policy = from_arrays(skeleton, arrays, source=source)
    if members and not (arrays["weight_M"].min() >= 0.0 and abs(arrays["weight_M"].sum() - 1.0) < 1e-4):
        raise RunError(f"{source} has weights of members that are not probabilities. Get another copy.")
    spare = sorted(set(arrays) - leaf_names(skeleton))
    if spare:
        raise RunError(
            f"{source} has {spare[0][:80]!r}, for which its network has no place. Use a package as it was written."
        )
    if not all(np.isfinite(array).all() for array in arrays.values()):
        raise RunError(f"{source} has weights that are not finite: its training went wrong. Choose an earlier one.")
    return policy


def least_weights(net: NetConfig) -> int:
    """A lower bound of the weights of such a network, known before anything is made."""
    widths = 0 if reference(net.body) else sum(a * b for a, b in pairwise(net.hidden)) + sum(net.hidden)
    channels = sum(9 * a * b for a, b in pairwise(net.convolutions)) + sum(net.convolutions)
    return widths + channels + (net.memory_size**2 if net.memory != "none" else 0)
