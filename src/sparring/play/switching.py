"""A learner in whose place a rule plays for a while: it watches, and its policy waits."""

from typing import Any

import equinox as eqx
from jax import Array

from sparring.nets.distributions import Distribution
from sparring.nets.minds import Told, untold
from sparring.play.rollout import where_first


class Switching(eqx.Module):
    """A policy that is heard unless a rule is. Both see every step, so that either may go on from there."""

    policy: Any
    rule: Any
    ruled: Array
    """Whether the rule is heard."""

    def initial(self, *batch: int) -> tuple[Any, Any]:
        return self.policy.initial(*batch), self.rule.initial(*batch)

    def __call__(self, features_NF: Array, legal_NA: Array, memory: Any) -> tuple[Distribution, tuple[Any, Any]]:
        own, by_rule = untold(memory)
        kept = memory._replace(memory=own) if isinstance(memory, Told) else own
        learned, own = self.policy(features_NF, legal_NA, kept)
        scripted, by_rule = self.rule(features_NF, legal_NA, by_rule)
        return where_first(self.ruled, scripted, learned), (own, by_rule)
