"""A module of one's own: it learns what the other seats do next, and pays the policy for being hard to foresee by it.

    sparring train matrix:rock_paper_scissors --modules 'examples/own/opponent_model.py:foresight=0.5'

The metrics own/foresight/loss and own/foresight/surprise are in metrics.jsonl and say how well it foresees.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sparring import Module
from sparring.core.seeding import Seed
from sparring.core.spec import GameSpec
from sparring.learn.losses import masked_mean
from sparring.nets.blocks import Dense

BONUS = 0.1


class Foresight(Module):
    hidden: Dense  # fields that are arrays, or modules of arrays, are parameters: the optimiser moves them
    head: Dense
    others: int = eqx.field(static=True)
    choices: int = eqx.field(static=True)

    def log_probabilities(self, features: Array) -> Array:
        """[..., F] to [..., O, A]: of each other seat, how likely each choice of its first head is."""
        scores = self.head(jnp.tanh(self.hidden(features)))
        return jax.nn.log_softmax(scores.reshape(*scores.shape[:-1], self.others, self.choices))

    def missed(self, features: Array, discrete: Array) -> Array:
        """[..., O]: how surprising what the others did was, as minus the log of its probability."""
        chosen = jnp.take_along_axis(self.log_probabilities(features), discrete[..., :1], axis=-1)
        return -chosen[..., 0]

    def buffers(self, worlds: int, seats: int) -> Array:
        """A running mean of the surprise; kept in checkpoints, moved by no gradient."""
        del worlds, seats
        return jnp.zeros(())

    def begin(self, buffers: Array, rollout, key: Array):
        """Before the epochs: a bonus where the others did what was not foreseen."""
        del key
        seen = rollout.others
        surprise_TWNO = jnp.where(seen.acting, self.missed(rollout.features_TWNF, seen.discrete), 0.0)
        bonus_TWN = BONUS * (surprise_TWNO.mean(-1) - buffers) * rollout.acting_TWN
        later = 0.9 * buffers + 0.1 * masked_mean(surprise_TWNO, seen.acting)
        return later, rollout._replace(reward_TWN=rollout.reward_TWN + bonus_TWN)

    def loss(self, model, batch, found, key: Array) -> Array:
        """In every minibatch: foresee better. `key` is the module's own, if it needs chance."""
        del model, found, key
        return masked_mean(self.missed(batch.features, batch.others.discrete), batch.others.acting)

    def measures(self, buffers: Array) -> dict[str, Array]:
        return {"surprise": buffers}


def foresight(seed: Seed, spec: GameSpec) -> Foresight:
    others, choices = spec.seats - 1, spec.action.heads[0]
    hidden = Dense.make(seed / "hidden", spec.features, 32)
    return Foresight(hidden, Dense.make(seed / "head", 32, others * choices, 0.01), others, choices)
