"""A mind beside a policy: what it believes of the others comes with the memory, and a fusion joins it to what is seen.

What a mind holds and how it is fitted is not known here (opponent_models): no gradient of the policy's moves it.
"""

from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.errors import ConfigError
from sparring.core.seeding import Seed
from sparring.nets.blocks import Dense, filled


class Told(NamedTuple):
    """The memory of a policy, with what its mind says of this step."""

    memory: Any
    said_NM: Array
    ahead: Any = ()
    """The world as it is and what is believed of it, for a policy that looks ahead (play/witness.Ahead)."""


class Mind(eqx.Module):
    """The parent of minds; their weights are fitted apart from the policy's."""

    @property
    def looks_over(self) -> bool:
        """Whether it is to be shown what the others see and earn."""
        return False


class Searcher(eqx.Module):
    """The parent of policies that look ahead before they choose: `policy` is the one that they improve on."""

    policy: eqx.AbstractVar[Any]


class Fusion(eqx.Module):
    """Hidden features changed by what a mind says: by a gain and a shift of each unit (FiLM, arXiv:1709.07871), or by a
    layer that sees both in equal widths. Concatenated to hundreds of features, a few numbers would drown.

    The last layer starts at 0, and then the policy is the plain one to the bit.
    """

    encoder: Dense
    change: Dense
    form: Literal["film", "projection"] = eqx.field(static=True)

    @classmethod
    def make(cls, seed: Seed, said: int, width: int, form: Literal["film", "projection"], size: int) -> "Fusion":
        """`size`: numbers from which gains and shifts are made."""
        size, inputs, outputs = (size, size, 2 * width) if form == "film" else (width, 2 * width, width)
        change = Dense(filled(0.0, inputs, outputs), filled(0.0, outputs))
        return cls(Dense.make(seed / "encoder", said, size), change, form)

    def __call__(self, hidden: Array, said_NM: Array) -> Array:
        encoded = jnp.tanh(self.encoder(said_NM))
        if self.form == "film":
            gain, shift = jnp.split(self.change(encoded), 2, axis=-1)
            return hidden * (1 + gain) + shift
        return hidden + self.change(jnp.concatenate([hidden, encoded], axis=-1))


def heard(memory: Any) -> Told:
    """The memory of a policy that has a mind; refused where nobody watches the others for it."""
    if isinstance(memory, Told):
        return memory
    raise ConfigError(
        "This player acts on what it believes of the others (mind), and nobody shows it here what they do. Play it in "
        "a match (sparring eval, or training), or train one with --mind none."
    )


def telling(memory: Any, said_NM: Array | None) -> Any:
    """The memory with what the mind says; as it is where there is none."""
    return memory if said_NM is None else Told(memory, said_NM)


def untold(memory: Any) -> Any:
    return memory.memory if isinstance(memory, Told) else memory


def searches(policy: Any) -> bool:
    """Whether a policy, or one inside it, looks ahead."""
    while policy is not None and not isinstance(policy, Searcher):
        policy = getattr(policy, "policy", None)
    return policy is not None


def has_mind(policy: Any) -> bool:
    """Whether there is a mind anywhere in a policy."""
    return _has(policy, Mind)


def listens(policy: Any) -> bool:
    """Whether what a mind says has a part in what a policy does: it then remembers, and what is seen does not say all
    of what it will do."""
    return _has(policy, Fusion)


def _has(policy: Any, part: type) -> bool:
    nodes = jax.tree.leaves(policy, is_leaf=lambda node: isinstance(node, part))
    return any(isinstance(node, part) for node in nodes)
