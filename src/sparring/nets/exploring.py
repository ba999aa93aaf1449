"""Exploration as part of the policy: what is played has the probability that is stored, so learning stays unbiased."""

from typing import Any

import equinox as eqx
from jax import Array

from sparring.nets.distributions import Distribution


class Exploring(eqx.Module):
    """A policy whose choices are tempered, then mixed with uniformly random ones; None leaves a step out."""

    policy: Any
    temperature: Array | None
    epsilon: Array | None

    def initial(self, *batch: int) -> Any:
        return self.policy.initial(*batch)

    def __call__(self, features_NF: Array, legal_NA: Array, memory: Any) -> tuple[Distribution, Any]:
        distribution, memory = self.policy(features_NF, legal_NA, memory)
        if self.temperature is not None:
            distribution = distribution.tempered(self.temperature)
        if self.epsilon is not None:
            distribution = distribution.mixed(self.epsilon)
        return distribution, memory
