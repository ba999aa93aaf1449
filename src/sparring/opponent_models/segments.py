"""Goals that no game has named: learned from how pieces of play end.

A game is cut after every step that paid, and at its end. What a piece leads to is told in one of three ways: the state
at its end (ending), the mean of its states (segment), or the end with how long it took and what it pays (combined). A
few codes, learned like a vector quantiser's, stand for what occurs: they are goals like those that a game lists, each
with the numbers of its code, so that beliefs and models of actions take them as they are. Letters: T steps, R rows, F
features of a state, X numbers of an ending, C codes, Z numbers of a code.
"""

from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array, lax

from sparring.core.seeding import Seed
from sparring.learn.losses import masked_mean
from sparring.nets.blocks import Dense, filled

Learned = Literal["ending", "segment", "combined"]
STEPS = 0.1
"""Scale of a number of steps."""
COMMITMENT = 0.25
"""Weight with which an embedding is drawn to its code (arXiv:1711.00937)."""
FORGETTING = 0.99
"""What one batch leaves of the counts by which unused codes are known."""


class Piece(NamedTuple):
    """The piece of play that each step lies in, leaves [T, ...]."""

    ends_T: Array
    """Number of the step at which it ends."""
    whole_T: Array
    """Whether that end is known: the rollout may stop before it."""
    begins_T: Array


def pieces(reward_T: Array, start_T: Array, ended_T: Array) -> Piece:
    """Cut after each step that paid and at the end of a game. `start_T`: a game begins; `ended_T`: it ends here."""
    count = len(reward_T)
    number_T = jnp.broadcast_to(jnp.arange(count).reshape(-1, *[1] * (reward_T.ndim - 1)), reward_T.shape)
    cut_T = (reward_T != 0) | ended_T
    ends_T = lax.cummin(jnp.where(cut_T, number_T, count), axis=0, reverse=True)
    after_cut_T = jnp.concatenate([jnp.ones_like(cut_T[:1]), cut_T[:-1]]) | start_T
    begins_T = lax.cummax(jnp.where(after_cut_T, number_T, 0), axis=0)
    return Piece(jnp.minimum(ends_T, count - 1), ends_T < count, begins_T)


def endings(features_TF: Array, reward_T: Array, piece: Piece, kind: Learned) -> Array:
    """ending_TX of the piece that each step lies in."""
    length_T, mean_TF = piece.ends_T - piece.begins_T + 1, features_TF
    if kind == "segment":
        total_TF = jnp.cumsum(features_TF, axis=0)
        before_TF = _at(total_TF, piece.begins_T) - _at(features_TF, piece.begins_T)
        mean_TF = (_at(total_TF, piece.ends_T) - before_TF) / length_T[..., None]
    paid_T = _at(reward_T[..., None], piece.ends_T)[..., 0]
    return ending_of(kind, _at(features_TF, piece.ends_T), mean_TF, length_T, paid_T)


def ending_of(kind: Learned, last_F: Array, mean_F: Array, length: Array, paid: Array) -> Array:
    """What a piece leads to, the same at all of its steps: a goal that is the same until it is reached."""
    if kind == "segment":
        return mean_F
    if kind == "ending":
        return last_F
    return jnp.concatenate([last_F, STEPS * length[..., None], paid[..., None]], axis=-1)


class Codes(eqx.Module):
    """An autoencoder of endings whose middle is one of a few codes."""

    encoder: Dense
    hidden: Dense
    decoder: Dense
    codes_CZ: Array
    used_C: Array
    """How often each was the nearest, older batches counting less."""

    @classmethod
    def make(cls, seed: Seed, ending: int, codes: int, width: int, size: int) -> "Codes":
        return cls(
            Dense.make(seed / "encoder", ending, size, 1.0),
            Dense.make(seed / "hidden", size, width, 1.0),
            Dense.make(seed / "decoder", width, ending, 1.0),
            Dense.make(seed / "codes", codes, width, 1.0).weight_IO,
            filled(1.0 / codes, codes),
        )

    def embedded(self, ending_X: Array) -> Array:
        return self.hidden(jnp.tanh(self.encoder(ending_X)))

    def label(self, ending_X: Array) -> Array:
        """The number of the nearest code."""
        return jnp.argmin(apart(self.embedded(ending_X), self.codes_CZ), axis=-1)

    def loss(self, ending_RX: Array, known_R: Array | bool = True) -> tuple[Array, dict[str, Array]]:
        """Endings are rebuilt from their codes, codes drawn to what they stand for, embeddings to their codes; of rows
        whose ending is known."""
        known_R = jnp.broadcast_to(known_R, ending_RX.shape[:1])
        embedded_RZ = self.embedded(ending_RX)
        label_R = jnp.argmin(apart(embedded_RZ, self.codes_CZ), axis=-1)
        code_RZ = self.codes_CZ[label_R]
        through_RZ = embedded_RZ + lax.stop_gradient(code_RZ - embedded_RZ)
        rebuilt = masked_mean(((self.decoder(through_RZ) - ending_RX) ** 2).sum(-1), known_R)
        drawn = masked_mean(((lax.stop_gradient(embedded_RZ) - code_RZ) ** 2).sum(-1), known_R)
        commitment = masked_mean(((embedded_RZ - lax.stop_gradient(code_RZ)) ** 2).sum(-1), known_R)
        in_use = (self.shares(label_R, known_R) > 0).sum()
        return rebuilt + drawn + COMMITMENT * commitment, {"codes": rebuilt, "codes_in_use": 1.0 * in_use}

    def shares(self, label_R: Array, known_R: Array) -> Array:
        found_RC = (label_R[:, None] == jnp.arange(len(self.codes_CZ))) & known_R[:, None]
        return found_RC.sum(0) / jnp.maximum(known_R.sum(), 1)

    def revived(self, ending_RX: Array, key: Array, known_R: Array | bool = True) -> "Codes":
        """With the counts of one batch more; a code that hardly anything falls to moves to where an ending is."""
        known_R = jnp.broadcast_to(known_R, ending_RX.shape[:1])
        some, embedded_RZ = known_R.any(), self.embedded(ending_RX)
        share_C = self.shares(self.label(ending_RX), known_R)
        used_C = jnp.where(some, FORGETTING * self.used_C + (1.0 - FORGETTING) * share_C, self.used_C)
        idle_C = some & (used_C < 0.1 / len(used_C))
        among_known = jnp.where(known_R, 0.0, -jnp.inf)
        fresh_CZ = embedded_RZ[jax.random.categorical(key, among_known, shape=used_C.shape)]
        codes_CZ = jnp.where(idle_C[:, None], fresh_CZ, self.codes_CZ)
        used_C = jnp.where(idle_C, 1.0 / len(used_C), used_C)
        return eqx.tree_at(lambda m: (m.codes_CZ, m.used_C), self, (codes_CZ, used_C))


def apart(one_RZ: Array, code_CZ: Array) -> Array:
    """Squared distances, [R, C]."""
    return ((one_RZ[..., None, :] - code_CZ) ** 2).sum(-1)


def _at(x_TF: Array, place_T: Array) -> Array:
    place_T1 = place_T.reshape(*place_T.shape, *[1] * (x_TF.ndim - place_T.ndim))
    return jnp.take_along_axis(x_TF, jnp.broadcast_to(place_T1, (*place_T.shape, *x_TF.shape[place_T.ndim :])), axis=0)
