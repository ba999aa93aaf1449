"""What somebody would do who is after a goal: a model of the others' actions, given each goal (HOP, arXiv:2406.08002;
without goals, the model of other agents of arXiv:1810.08647).

A goal is told by what it looks like from the one who may be after it, so one model serves all goals and all others.
What is illegal has no probability; who has no choice teaches nothing.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.records import Action
from sparring.core.seeding import Seed
from sparring.core.spec import ActionSpec
from sparring.learn.losses import masked_mean
from sparring.nets.blocks import Dense, filled
from sparring.nets.distributions import Distribution
from sparring.opponent_models.sample import Sample, chosen_freely

ACTIVATION = jax.nn.hard_tanh
"""Of the layers that are asked about every goal at every step: bounded like tanh, at a fifth of its cost on a CPU."""


class Near(NamedTuple):
    """Which pairs of other and goal are asked about, out of rows N O G in a line: all, or those there is room for."""

    place_C: Array
    """Their places in the line; where there are fewer, one beyond its end."""
    evaluated: Array
    passed: Array


def near(wanted: Array, room: int) -> Near:
    """The first `room` of the wanted places."""
    line = wanted.reshape(-1)
    place_C = jnp.nonzero(line, size=room, fill_value=line.size)[0]
    evaluated = (line & (jnp.cumsum(line) <= room)).reshape(wanted.shape)
    return Near(place_C, evaluated, wanted & ~evaluated)


class ActionModel(eqx.Module):
    """[..., F] of who watches, number of the other, about [..., Z] to log-probabilities [..., A]."""

    watched: Dense | None
    """Of what the watcher sees; None where it is not looked at."""
    about: Dense
    identity_OH: Array
    hidden: Dense
    head: Dense
    action: ActionSpec = eqx.field(static=True)

    @classmethod
    def make(
        cls, seed: Seed, features: int, others: int, about: int, action: ActionSpec, size: int, *, sees: bool = True
    ) -> "ActionModel":
        """Heads start near 0, so at first all that is legal is as likely."""
        return cls(
            Dense.make(seed / "watched", features, size, 1.0) if sees else None,
            Dense.make(seed / "about", about, size, 1.0),
            filled(0.0, others, size),
            Dense.make(seed / "hidden", size, size),
            Dense.make(seed / "head", size, action.entries, 0.01),
            action,
        )

    def base(self, features: Array) -> Array:
        """What is the same for all goals: [..., F] to [..., O, H]."""
        if self.watched is None:
            return jnp.broadcast_to(self.identity_OH, (*features.shape[:-1], *self.identity_OH.shape))
        return self.watched(features)[..., None, :] + self.identity_OH

    def finished(self, first: Array, legal: Array) -> Array:
        """log_p_A of the sums of the first layer."""
        logits = self.head(ACTIVATION(self.hidden(ACTIVATION(first))))
        return log_p(self.action, logits, legal)

    def __call__(self, features_NF: Array, about_NOGZ: Array, legal_NOA: Array) -> Array:
        """log_p_NOGA, for every goal."""
        first = self.base(features_NF)[..., None, :] + self.about(about_NOGZ)
        return self.finished(first, jnp.broadcast_to(legal_NOA[..., None, :], (*first.shape[:-1], legal_NOA.shape[-1])))

    def of_some(self, features_NF: Array, about_NOGZ: Array, legal_NOA: Array, asked: Near) -> Array:
        """The same where only some pairs are asked about: the others say nothing, whatever is legal is as likely."""
        *batch, goals, width = about_NOGZ.shape
        place_C, size = asked.place_C, asked.evaluated.size
        pair_C, own = jnp.minimum(place_C, size - 1) // goals, self.base(features_NF)
        legal_CA = legal_NOA.reshape(-1, legal_NOA.shape[-1])[pair_C]
        first = own.reshape(-1, own.shape[-1])[pair_C] + self.about(about_NOGZ.reshape(-1, width)[place_C % size])
        flat = jnp.repeat(log_p(self.action, jnp.zeros(legal_NOA.shape), legal_NOA)[..., None, :], goals, axis=-2)
        found = flat.reshape(size, -1).at[place_C].set(self.finished(first, legal_CA), mode="drop")
        return found.reshape(*batch, goals, -1)

    def loss(self, sample: Sample) -> tuple[Array, dict[str, Array]]:
        """Cross-entropy of what was done, given the goal that turned out to be the one; of steps with a choice."""
        about_OZ = jnp.take_along_axis(
            sample.about_OGZ, jnp.maximum(sample.label_O, 0)[..., None, None], axis=-2
        ).squeeze(-2)
        log_p_OA = self.finished(self.base(sample.features_F) + self.about(about_OZ), sample.legal_OA)
        counts_O = (sample.label_O >= 0) & sample.acting_O & chosen_freely(self.action, sample.legal_OA)
        loss = -masked_mean(log_likelihood(self.action, log_p_OA, sample.discrete_OD), counts_O)
        return loss, {"actions": loss}


def log_p(action: ActionSpec, logits_A: Array, legal_A: Array) -> Array:
    """Log-probabilities of the entries of all heads."""
    none = jnp.zeros((*logits_A.shape[:-1], 0))
    return Distribution.make(action, logits_A, legal_A, none, none).log_p_A


def log_likelihood(action: ActionSpec, log_p_A: Array, discrete_D: Array) -> Array:
    """Of what was done, all heads together."""
    none = jnp.zeros((*discrete_D.shape[:-1], 0))
    return Distribution(action, log_p_A, none, none).log_prob(Action(discrete_D, none))
