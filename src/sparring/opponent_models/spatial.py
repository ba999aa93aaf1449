"""Goals inferred from where somebody has been going: a pointer over the goals of each other seat, fitted on hindsight.

The variational inference of OMG collapsed in an independent replication; what worked there was this, supervised by the
goal that was reached later (facts: arXiv and repository in `docs/guide/opponent-models.md`). Every goal is scored by
one network from how it looked in the last K steps, so that nothing hangs on the order of goals. Letters: R rows, K
steps, the newest last, O the other seats, G goals, Z numbers of one goal.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.seeding import Seed
from sparring.learn.losses import masked_mean
from sparring.nets.blocks import Dense

NEVER = -1e9
"""Log-probability of what cannot be."""


class Track(NamedTuple):
    """What a seat has seen of the others' goals lately, leaves [..., K, O, G, Z] and [..., O, G]."""

    about_KOGZ: Array
    open_OG: Array
    label_O: Array
    """The goal that turned out, -1 where it is not known."""


class Pointer(eqx.Module):
    own: Dense
    """What a goal looked like, step by step."""
    rivals: Dense
    """What the other open goals looked like, on average: near is near only compared with them."""
    hidden: Dense
    head: Dense

    @classmethod
    def make(cls, seed: Seed, about: int, steps: int, size: int) -> "Pointer":
        """The head starts near 0: at first all open goals are as likely."""
        return cls(
            Dense.make(seed / "own", steps * about, size, 1.0),
            Dense.make(seed / "rivals", steps * about, size, 1.0),
            Dense.make(seed / "hidden", size, size, 1.0),
            Dense.make(seed / "head", size, 1, 0.01),
        )

    def __call__(self, about_KOGZ: Array, open_OG: Array) -> Array:
        """log_b_OG among the open goals; where none is open all are as likely."""
        seen_OGX = jnp.moveaxis(about_KOGZ, -4, -2)
        seen_OGX = seen_OGX.reshape(*seen_OGX.shape[:-2], -1)
        open_OG1 = open_OG[..., None].astype(seen_OGX.dtype)
        sum_O1X = (seen_OGX * open_OG1).sum(-2, keepdims=True)
        left = jnp.maximum(open_OG1.sum(-2, keepdims=True) - open_OG1, 1.0)
        rivals_OGX = (sum_O1X - seen_OGX * open_OG1) / left
        first = jnp.tanh(self.own(seen_OGX) + self.rivals(rivals_OGX))
        score_OG = self.head(jnp.tanh(self.hidden(first)))[..., 0]
        return jax.nn.log_softmax(jnp.where(open_OG | ~open_OG.any(-1, keepdims=True), score_OG, NEVER))

    def loss(self, track: Track) -> tuple[Array, dict[str, Array]]:
        """Cross-entropy of the goal that was reached, and how often it was the likeliest."""
        log_b_OG = self(track.about_KOGZ, track.open_OG)
        known_O = track.label_O >= 0
        chosen_O = jnp.take_along_axis(log_b_OG, jnp.maximum(track.label_O, 0)[..., None], axis=-1)[..., 0]
        loss = -masked_mean(jnp.maximum(chosen_O, -20.0), known_O)
        return loss, {
            "spatial": loss,
            "spatial_top1": masked_mean(1.0 * (log_b_OG.argmax(-1) == track.label_O), known_O),
        }


def recent(x_T: Array, start_T: Array, steps: int) -> Array:
    """[T, K, ...]: the last K values at each step, the newest last, as far as they are of the same game; before its
    beginning the first value of the game stands. `start_T` may have more axes, all of which `x_T` has after T."""
    number_T = jnp.arange(len(x_T)).reshape(-1, *[1] * (start_T.ndim - 1))
    begun_T = jax.lax.cummax(jnp.where(start_T, number_T, 0), axis=0)

    def back(by: int) -> Array:
        place_T = jnp.maximum(number_T - by, begun_T)
        place_T = place_T.reshape(*place_T.shape, *[1] * (x_T.ndim - place_T.ndim))
        return jnp.take_along_axis(x_T, jnp.broadcast_to(place_T, x_T.shape), axis=0)

    return jnp.stack([back(by) for by in reversed(range(steps))], axis=start_T.ndim)
