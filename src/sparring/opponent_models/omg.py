"""Goals as states to come: opponent modelling by subgoal inference (OMG, Yu, Jiang and Lu, NeurIPS 2024).

A state is told in a few numbers by a variational autoencoder (the prior, its equation 10). In hindsight that of the
next H states is the goal which is worth most to the learner (optimistic, for common interests) or least (conservative,
for conflicts), equations 6 and 7. A second autoencoder guesses that goal from the past alone (equation 5). While
learning, both are mixed: the hindsight goal first, then more and more the guess (equation 8). Letters: R rows, F
features of a state, K past states, the newest last, H later ones, Z numbers of a goal.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from sparring.core.seeding import Seed
from sparring.learn.losses import masked_mean
from sparring.nets.blocks import Dense

KL_WEIGHT = 1e-3
"""As in its table 1."""
NARROWEST, WIDEST = -4.0, 2.0
"""Bounds of the log of a deviation."""


class Passage(NamedTuple):
    """A step with what led to it and what came of it, leaves [..., letters]."""

    history_KF: Array
    """The last states, this one last."""
    later_HF: Array
    there_H: Array
    """Which of the later states are of the same game."""
    return_: Array
    """What the learner earned from here on."""


class Gaussian(NamedTuple):
    """Independent normal numbers."""

    mean_Z: Array
    log_std_Z: Array

    def drawn(self, key: Array) -> Array:
        return self.mean_Z + jnp.exp(self.log_std_Z) * jax.random.normal(key, self.mean_Z.shape)


def divergence(one: Gaussian, two: Gaussian) -> Array:
    """KL(one || two)."""
    ratio_Z = jnp.exp(2.0 * (one.log_std_Z - two.log_std_Z))
    apart_Z = ((one.mean_Z - two.mean_Z) * jnp.exp(-two.log_std_Z)) ** 2
    return 0.5 * (ratio_Z + apart_Z - 1.0 - 2.0 * (one.log_std_Z - two.log_std_Z)).sum(-1)


STANDARD = Gaussian(np.float32(0.0), np.float32(0.0))  # type: ignore[arg-type]


class Net(eqx.Module):
    """Two hidden layers, as in the paper."""

    first: Dense
    second: Dense
    head: Dense

    @classmethod
    def make(cls, seed: Seed, inputs: int, size: int, outputs: int) -> "Net":
        return cls(
            Dense.make(seed / "first", inputs, size, 1.0), Dense.make(seed / "second", size, size, 1.0),
            Dense.make(seed / "head", size, outputs, 0.1),
        )  # fmt: skip

    def __call__(self, x: Array) -> Array:
        return self.head(jnp.tanh(self.second(jnp.tanh(self.first(x)))))


def gaussian(net: Net, x: Array) -> Gaussian:
    mean_Z, log_std_Z = jnp.split(net(x), 2, axis=-1)
    return Gaussian(mean_Z, jnp.clip(log_std_Z, NARROWEST, WIDEST))


class Subgoals(eqx.Module):
    """The prior, the inference and the value by which goals are chosen."""

    encoder: Net
    decoder: Net
    inference: Net
    """From the past to a guess of the goal."""
    reader: Net
    """From a goal and the past without the present to the present: what keeps a guess from saying nothing."""
    value: Net

    @classmethod
    def make(cls, seed: Seed, features: int, history: int, goal: int, size: int) -> "Subgoals":
        return cls(
            encoder=Net.make(seed / "encoder", features, size, 2 * goal),
            decoder=Net.make(seed / "decoder", goal, size, features),
            inference=Net.make(seed / "inference", history * features, size, 2 * goal),
            reader=Net.make(seed / "reader", goal + (history - 1) * features, size, features),
            value=Net.make(seed / "value", features + goal, size, 1),
        )

    def goal_of(self, features_F: Array) -> Gaussian:
        """A state as a goal: p(g | s)."""
        return gaussian(self.encoder, features_F)

    def guessed(self, history_KF: Array) -> Gaussian:
        """What the others are after: q(g | past)."""
        return gaussian(self.inference, history_KF.reshape(*history_KF.shape[:-2], -1))

    def worth(self, features_F: Array, goal_Z: Array) -> Array:
        """V(s, g)."""
        return self.value(jnp.concatenate([features_F, goal_Z], axis=-1))[..., 0]

    def chosen(self, passage: Passage, *, optimistic: bool) -> tuple[Gaussian, Array]:
        """The goal in hindsight, and which of the later states it is; the first where none is of the same game."""
        goal = self.goal_of(passage.later_HF)
        now_HF = jnp.broadcast_to(passage.history_KF[..., -1:, :], passage.later_HF.shape)
        place = selected(self.worth(now_HF, goal.mean_Z), passage.there_H, optimistic=optimistic)
        picked = place[..., None, None]
        return Gaussian(*(jnp.take_along_axis(x, picked, axis=-2)[..., 0, :] for x in goal)), place

    def loss(
        self, passage: Passage, key: Array, epsilon: Array | float, *, optimistic: bool = True, kl: float = KL_WEIGHT
    ) -> tuple[Array, dict[str, Array]]:
        """All parts together, each by name; rows whose game ends at once teach the prior alone."""
        keys, now_F = jax.random.split(key, 4), passage.history_KF[..., -1, :]
        own = self.goal_of(now_F)
        rebuilt = _missed(self.decoder(own.drawn(keys[0])), now_F)
        prior = (rebuilt + kl * divergence(own, STANDARD)).mean()
        target, place = lax.stop_gradient(self.chosen(passage, optimistic=optimistic))
        guess, followed = self.guessed(passage.history_KF), passage.there_H.any(-1)
        drawn_Z = guess.drawn(keys[1])
        past = passage.history_KF[..., :-1, :].reshape(*now_F.shape[:-1], -1)
        read = _missed(self.reader(jnp.concatenate([drawn_Z, past], axis=-1)), now_F)
        apart = divergence(guess, target)
        inference = masked_mean(read + kl * apart, followed)
        goal_Z = lax.stop_gradient(mixed(drawn_Z, target.drawn(keys[2]), keys[3], epsilon))
        value = masked_mean((self.worth(now_F, goal_Z) - passage.return_) ** 2, followed)
        parts = {
            "prior": prior, "inference": inference, "value": value, "rebuilt": rebuilt.mean(),
            "apart": masked_mean(apart, followed), "chosen_step": masked_mean(1.0 + place, followed),
        }  # fmt: skip
        return prior + inference + value, parts


def selected(worth_H: Array, there_H: Array, *, optimistic: bool) -> Array:
    """Which of the later states is chosen: the best or the worst of those that are there."""
    sign = 1.0 if optimistic else -1.0
    return jnp.argmax(jnp.where(there_H, sign * worth_H, -jnp.inf), axis=-1)


def mixed(guess_Z: Array, hindsight_Z: Array, key: Array, epsilon: Array | float) -> Array:
    """The guess, or with probability `epsilon` the goal in hindsight, row by row."""
    eta = jax.random.uniform(key, guess_Z.shape[:-1])
    return jnp.where((eta > epsilon)[..., None], guess_Z, hindsight_Z)


def annealed(updates: Array, first: float, over: int) -> Array:
    """epsilon after so many updates: from `first` to 0 in a straight line."""
    return first * jnp.maximum(1.0 - updates / max(over, 1), 0.0)


def following(x_T: Array, start_T: Array, steps: int) -> tuple[Array, Array]:
    """later_TH: the next H values at each step, and there_TH, which are of the same game and of the rollout."""
    count = len(x_T)
    games_T = jnp.cumsum(start_T.astype(jnp.int32), axis=0)
    later, there = [], []
    for by in range(1, steps + 1):
        place_T = jnp.minimum(jnp.arange(count) + by, count - 1)
        inside_T = (jnp.arange(count) + by < count).reshape(-1, *[1] * (start_T.ndim - 1))
        later.append(x_T[place_T])
        there.append((games_T[place_T] == games_T) & inside_T)
    return jnp.stack(later, axis=start_T.ndim), jnp.stack(there, axis=start_T.ndim)


def _missed(found_F: Array, wanted_F: Array) -> Array:
    return ((found_F - wanted_F) ** 2).sum(-1)
