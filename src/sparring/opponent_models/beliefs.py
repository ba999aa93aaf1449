"""What each of the others is after: a belief over its goals, by Bayes' rule from what it does, that starts from what it
was after in earlier games (intra-OM and inter-OM of HOP, arXiv:2406.08002).

b(g) <- b(g) pi(a | s, g) within a game, in logarithms. Three things are added to the paper. One may be after none of
the goals. Goals may change: at every step a share of the belief begins anew, so that none is too sure to be moved. And
what somebody does is not all that tells what it will reach: it matters how near that is, and whether a rival comes
first. With prior=learned a small model reads that off every step, beside the belief that what was done leaves, and is
fitted on goals that were reached.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.seeding import Seed
from sparring.nets.blocks import Dense
from sparring.opponent_models.actions import ACTIVATION
from sparring.opponent_models.sample import Sample
from sparring.opponent_models.spatial import NEVER
from sparring.play.witness import Situation

UNHEARD = -18.4
"""What somebody did was impossible if this is the log of its probability under the whole belief, or less: 1e-8. HOP
asks for 0, which logarithms never reach."""
STEPS = 0.1
"""Scale of the number of steps to a goal, as the models see it."""
FAR = 10.0
"""A lead of more steps than that, or a belief less likely than exp of minus that, is not told from it."""


class Beliefs(NamedTuple):
    """What is believed in a game and kept from game to game; all zeros is blank. Leaves [..., N, ...]."""

    log_b_NOG: Array
    known_NO: Array
    """Whether the belief is of what it is after now: not after a goal was reached, or of who was not there."""
    count_NOK: Array
    """Discounted share of each kind among the goals that were reached; together 1 - discount^(goals reached)."""
    impossible_NO: Array
    """What was done in the last step was impossible for all that was believed."""
    track_NKOGZ: Any = ()
    """What goals looked like to the others in the last steps, the newest last, where that is looked at."""
    found: Any = ()
    """What is remembered to find goals that no game lists."""


class Reader(eqx.Module):
    """How likely each goal is to be the next that is reached, beside what was done: one score for each, by what it
    looks like now, by how near a rival is to it, and by the belief that follows from what was done."""

    hidden: Dense
    head: Dense

    @classmethod
    def make(cls, seed: Seed, about: int, size: int) -> "Reader":
        """The head starts near 0: at first beliefs follow from what is done alone."""
        return cls(Dense.make(seed / "hidden", about + 5, size, 1.0), Dense.make(seed / "head", size, 1, 0.01))

    def __call__(self, about_OGZ: Array, steps_OG: Array, leaning_OG: Array, open_OG: Array, held_OG: Array) -> Array:
        """log_b_OG. `leaning_OG` is how much they leant to goals of this kind, as a log, `held_OG` the log of the
        belief that follows from what they did."""
        lead_OG = lead(steps_OG, open_OG)
        more = STEPS * steps_OG, leaning_OG, STEPS * lead_OG, jnp.sign(lead_OG), STEPS * jnp.maximum(held_OG, -FAR)
        seen = jnp.concatenate([about_OGZ, *(x[..., None] for x in more)], axis=-1)
        return among(held_OG + self.head(ACTIVATION(self.hidden(seen)))[..., 0], open_OG)

    def loss(self, sample: Sample, kinds: tuple[int, ...]) -> Array:
        """Cross-entropy of the goals that turned out to be the ones, of those who had a choice: who has left reaches
        nothing more, and that says nothing of what it wanted."""
        lean_OG = of_kind(sample.leaning_OK, kinds)
        log_OG = self(sample.about_OGZ, sample.steps_OG, lean_OG, sample.open_OG, sample.held_OG)
        known_O = (sample.label_O >= 0) & sample.acting_O
        chosen = jnp.take_along_axis(log_OG, jnp.maximum(sample.label_O, 0)[..., None], axis=-1)[..., 0]
        return -jnp.where(known_O, chosen, 0.0).sum() / jnp.maximum(known_O.sum(), 1)


def lead(steps_OG: Array, open_OG: Array) -> Array:
    """By how many steps each of the others is nearer to each goal than the nearest of the rest; FAR at most, and where
    it is open to nobody else."""
    far_OG = jnp.where(open_OG, steps_OG, jnp.inf)
    first_1G = jnp.argmin(far_OG, axis=-2, keepdims=True)
    is_first = first_1G == jnp.arange(far_OG.shape[-2])[:, None]
    second_1G = jnp.where(is_first, jnp.inf, far_OG).min(-2, keepdims=True)
    rival_OG = jnp.where(is_first, second_1G, far_OG.min(-2, keepdims=True))
    return jnp.clip(rival_OG - steps_OG, -FAR, FAR)


def among(score_G: Array, open_G: Array) -> Array:
    """Log-probabilities of scores among what is open; where nothing is, all alike."""
    masked_G = jnp.where(open_G | ~open_G.any(-1, keepdims=True), score_G, NEVER)
    return jnp.maximum(jax.nn.log_softmax(masked_G), NEVER)


def mixed(log_p: Array, log_q: Array, share: float) -> Array:
    """The log of (1 - share) p + share q."""
    if not share:
        return log_p
    return jnp.maximum(jnp.log((1 - share) * jnp.exp(log_p) + share * jnp.exp(log_q)), NEVER)


def anticipated(beliefs: Beliefs, prior_OG: Array, situation: Situation, switch: float) -> tuple[Array, Array]:
    """log_b_NOG before a step, and where it had to begin anew. A goal that is gone leaves its belief to the rest; where
    nothing is left of a belief, or it is of an earlier goal, the prior stands."""
    open_NOG, known_NO = situation.open, beliefs.known_NO & ~situation.start[..., None]
    left_NOG = jnp.where(open_NOG, beliefs.log_b_NOG, NEVER)
    lost_NO = known_NO & (left_NOG.max(-1) < UNHEARD) & open_NOG.any(-1)
    kept_NOG = mixed(among(left_NOG, open_NOG), prior_OG, switch)
    return jnp.where((known_NO & ~lost_NO)[..., None], kept_NOG, prior_OG), lost_NO


def after(log_b_NOG: Array, log_likelihood_NOG: Array, acting_NO: Array, open_NOG: Array) -> tuple[Array, Array]:
    """Bayes' rule for those who chose something, and where what they did was impossible for all they might be after:
    then all open goals are as likely again."""
    evidence_NO = jax.nn.logsumexp(jnp.where(open_NOG, log_b_NOG + log_likelihood_NOG, NEVER), axis=-1)
    impossible_NO = acting_NO & (evidence_NO < UNHEARD) & open_NOG.any(-1)
    moved_NOG = jnp.where(acting_NO[..., None], log_b_NOG + log_likelihood_NOG, log_b_NOG)
    moved_NOG = jnp.where(impossible_NO[..., None], 0.0, moved_NOG)
    return among(moved_NOG, open_NOG), impossible_NO


def remembered(count_NOK: Array, reached_NOG: Array, kinds: tuple[int, ...], discount: float) -> Array:
    """Counts after a step: c <- d c + (1 - d) 1[kind reached] wherever a goal was reached."""
    kind_GK = jnp.asarray(kinds)[:, None] == jnp.arange(count_NOK.shape[-1])
    reached_NOK = (reached_NOG[..., None] & kind_GK).any(-2)
    share_NOK = reached_NOK / jnp.maximum(reached_NOK.sum(-1, keepdims=True), 1)
    return jnp.where(reached_NOK.any(-1, keepdims=True), discount * count_NOK + (1 - discount) * share_NOK, count_NOK)


def with_aimless(beliefs: Beliefs, start_N: Array, kinds: tuple[int, ...], discount: float) -> Beliefs:
    """Where a game begins: whoever was there to the end of the last one and reached nothing then was after nothing, the
    last of all goals."""
    aimless_NO = start_N[..., None] & beliefs.known_NO
    last_NOG = aimless_NO[..., None] & (jnp.arange(len(kinds)) == len(kinds) - 1)
    return beliefs._replace(count_NOK=remembered(beliefs.count_NOK, last_NOG, kinds, discount))


def leaning(count_NOK: Array) -> Array:
    """Log of how likely each kind of goal was; what is not yet known is shared by all kinds."""
    unknown = jnp.maximum(1.0 - count_NOK.sum(-1, keepdims=True), 0.0)
    return jnp.log(jnp.maximum(count_NOK + unknown / count_NOK.shape[-1], 1e-6))


def of_kind(leaning_OK: Array, kinds: tuple[int, ...]) -> Array:
    """For each goal what is said of its kind: [..., O, G]."""
    return leaning_OK[..., jnp.asarray(kinds)]


def alike_within(leaning_OK: Array, open_OG: Array, kinds: tuple[int, ...]) -> Array:
    """HOP's prior: the kind by its share among the goals of earlier games, all open goals of a kind alike."""
    same_GG = jnp.asarray(kinds)[:, None] == jnp.asarray(kinds)
    open_alike_OG = (open_OG[..., None, :] & same_GG).sum(-1)
    return among(of_kind(leaning_OK, kinds) - jnp.log(jnp.maximum(open_alike_OG, 1)), open_OG)


def kinds_of(names: tuple[str, ...]) -> tuple[int, ...]:
    """The kind of each goal, those of one name being of one; the last is to be after none of them."""
    stems = dict.fromkeys(names)
    return *(list(stems).index(name) for name in names), len(stems)
