"""What each step was worth: advantages for the actor, targets for the critic."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from sparring.learn.config import PPOConfig
from sparring.learn.losses import Scaled, standardise
from sparring.learn.returns import gae
from sparring.play.rollout import Rollout


class Estimate(NamedTuple):
    advantage_TWN: Array
    """Scaled, as the surrogate uses it."""
    target_TWN: Array
    """What the critic learns, in units of reward."""
    mean: Array
    """Mean and deviation that scaled the advantages; several sides count alike."""
    std: Array
    flat: Array
    """Share of sides whose advantages did not differ, so that they were only centred."""
    merit_TWNA: Array | None = None
    """The critic's part of the advantage of every choice, scaled alike; None where it does not judge choices."""


def estimate(rollout: Rollout, key: Array, knobs, config: PPOConfig, ratio_TWN: Array | None = None) -> Estimate:
    """From the rollout's rewards and values. Ratios of new to old probability turn GAE into V-trace."""
    weight_TWN = None if ratio_TWN is None else jnp.minimum(ratio_TWN, knobs.trace_clip)
    over_TWN = rollout.over_TWN if config.time_limit == "bootstrap" else rollout.ended_TWN
    worth, before_TWN = rollout.worth, rollout.value_TWN
    if worth is not None:
        # Expected SARSA: a step is compared with what its choice was worth, and leads to what the next choice is worth
        # on average. So neither's luck is in the error, and an error of the critic is made good by later ones.
        rollout, before_TWN = with_values(rollout, worth.expected_TWN), worth.chosen_TWN

    def advantage(decay: Array | float) -> Array:
        return gae(
            rollout.reward_TWN, before_TWN, rollout.next_value_TWN, over_TWN, rollout.ended_TWN,
            discount=knobs.discount, decay=decay, weight_TW=weight_TWN,
        )  # fmt: skip

    advantage_TWN = advantage(knobs.decay)
    # With a decay of 1 the values in between cancel: advantage and value together are the plain discounted return.
    learned_TWN = advantage_TWN if config.critic_target == "gae" else advantage(1.0)
    target_TWN = (learned_TWN if weight_TWN is None else weight_TWN * learned_TWN) + before_TWN
    if worth is not None:
        advantage_TWN = advantage_TWN + before_TWN - rollout.value_TWN
    scaled = scale(advantage_TWN, rollout, config)
    if config.on("advantage_noise"):
        # After scaling: only then is a deviation of 1 as much noise as signal, whatever the game pays.
        noise_TWN = jax.random.normal(key, advantage_TWN.shape)
        scaled = scaled._replace(x=(1 - knobs.advantage_noise) * scaled.x + knobs.advantage_noise * noise_TWN)
    found = Estimate(scaled.x, target_TWN, scaled.mean, scaled.std, scaled.flat)
    if worth is None:
        return found
    unit = 1.0 if config.normalise_advantage == "none" else jnp.where(scaled.flat > 0, 1.0, scaled.std)
    return found._replace(merit_TWNA=(worth.q_TWNA - rollout.value_TWN[..., None]) / unit)


def scale(advantage_TWN: Array, rollout: Rollout, config: PPOConfig) -> Scaled:
    """Advantages of acting seats scaled as the settings say; mean and deviation are known also where nothing is."""
    whole = standardise(advantage_TWN, rollout.acting_TWN)
    if config.normalise_advantage == "batch":
        return whole
    if config.normalise_advantage != "side":
        return whole._replace(x=advantage_TWN, flat=jnp.zeros_like(whole.flat))

    def of_side(own_TW: Array) -> Scaled:
        own_TW1 = own_TW[..., None]
        side = standardise(advantage_TWN, rollout.acting_TWN & own_TW1)
        return side._replace(x=jnp.where(own_TW1, side.x, 0.0))

    sides = jax.vmap(of_side, in_axes=-1)(rollout.side_TWK)
    driven_K = rollout.side_TWK.any((0, 1))  # a learner may never drive some sides: those have no mean
    mean, std, flat = (
        jnp.where(driven_K, value_K, 0.0).sum() / driven_K.sum() for value_K in (sides.mean, sides.std, sides.flat)
    )
    return Scaled(sides.x.sum(0), mean, std, flat)


def with_values(rollout: Rollout, value_TWN: Array) -> Rollout:
    """The rollout as another critic sees it.

    What follows a cut, and the last step, keep the value of the critic that played: those observations are not kept.
    """
    following_TWN = jnp.concatenate([value_TWN[1:], rollout.next_value_TWN[-1:]])
    next_value_TWN = jnp.where(rollout.ended_TWN, rollout.next_value_TWN, following_TWN)
    return rollout._replace(value_TWN=value_TWN, next_value_TWN=next_value_TWN)
