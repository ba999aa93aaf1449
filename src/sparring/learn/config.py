"""The settings of learning. `docs/guide/ppo.md` says of each what it does and when to touch it."""

from collections import namedtuple
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from sparring.core.fields import setting
from sparring.core.schedules import Schedule
from sparring.core.settings import explained
from sparring.core.sizes import LARGEST

Rate = Schedule | None
schedule = Schedule.parse


@explained
@dataclass(frozen=True, kw_only=True)
class PPOConfig:
    """Fields of type Schedule are coefficients: traced, so a change never recompiles; each learner may have its own.

    One that is 0 where 0 means off is left out of the program altogether (`on`).
    """

    # How much of a rollout is used, and how.
    epochs: int = setting(4, least=1, most=LARGEST)
    """Passes over a rollout."""
    minibatches: int = setting(4, least=1, most=LARGEST)
    """Parts a rollout is split into in each pass."""
    critic_epochs: int = setting(0, least=0, most=LARGEST)
    """Further passes in which the critic learns alone while the actor waits."""
    sequence: int = setting(20, least=1, most=LARGEST)
    """Steps in a training sequence of a recurrent policy; must divide the steps of a rollout."""
    burn_in: int = setting(0, least=0, most=LARGEST)
    """Steps before a sequence that only bring the memory up to date, without a loss; must divide the sequence."""
    recompute_old: bool = False
    """Compute the old log-probabilities once more with the training function, so the first ratio is exactly 1."""

    # Trust region.
    loss: Literal["clip", "kl", "clip_kl", "spo"] = "clip"
    """What keeps the new policy near the old: PPO2's clip, PPO1's KL penalty, both, or SPO's quadratic penalty."""
    clip: Schedule = setting(schedule(0.2), above=0)
    """How far the ratio of new to old probability may move before it stops paying, 0.05 to 0.3."""
    kl_weight: float = setting(1.0, above=0)
    """First weight of the KL penalty; it then doubles above kl_max and halves below kl_min, once a rollout."""
    kl_min: Schedule = setting(schedule(0.005), least=0)
    """KL of an iteration below which the penalty is halved."""
    kl_max: Schedule = setting(schedule(0.015), least=0)
    """KL of an iteration above which the penalty is doubled."""
    target_kl: Schedule = setting(schedule(0.0), least=0)
    """Stop the epochs of an iteration when a minibatch's KL exceeds this; 0 never stops. Usual: 0.02."""

    # The shadow: a slow average of the policy.
    shadow_half_life: Schedule = setting(schedule(0.0), least=0)
    """Updates after which the shadow has forgotten half of what it was; 0: no shadow, unless shadow_tau makes one."""
    shadow_tau: Schedule = setting(schedule(0.0), least=0, most=1)
    """Share of the newest weights that the shadow takes at each update, in [0, 1]: the other way to say how slow."""
    anchor: Schedule = setting(schedule(0.0), least=0)
    """Weight of the KL from the policy to its shadow in the loss; 0: none. Needs a shadow."""
    anchor_price: Schedule = setting(schedule(0.0), least=0)
    """The anchor as a price: the log-ratio of policy and shadow, off one's own reward, onto the others'; 0: none."""
    shadow_every: int = setting(1, least=1, most=LARGEST)
    """Updates from one move of the shadow to the next. With shadow_tau 1 it is a copy that stands still in between."""
    behaviour: Literal["self", "shadow"] = "self"
    """Who plays the games of training: the policy that learns, or its shadow, from which it then learns off-policy."""
    align_old: Schedule = setting(schedule(0.0), least=0)
    """Weight of the exact KL from the policy that played to the one that learns; 0: none. Usual: 0.05."""
    past_kl: Schedule = setting(schedule(0.0), least=0)
    """Weight of the KL from the policies of past iterations, the nearest counting most; 0: none."""
    past_policies: int = setting(4, least=1, most=64)
    """How many past iterations past_kl looks back."""
    past_temperature: Schedule = setting(schedule(0.01), above=0)
    """KL by which a past policy must be farther to count 1/e as much in past_kl."""
    imitation: Schedule = setting(schedule(0.0), least=0)
    """Weight of imitating the winner in the last steps before a defeat; 0: none. Needs defeat_share above 0."""

    # Returns and advantages.
    discount: Schedule = setting(schedule(0.99), least=0, most=1)
    """How much the next step counts, in [0, 1]. Raise it for long games; variance grows with it."""
    decay: Schedule = setting(schedule(0.95), least=0, most=1)
    """GAE's lambda, in [0, 1]: 1 trusts the rewards of the rollout, 0 the critic."""
    time_limit: Literal["bootstrap", "end"] = "bootstrap"
    """What follows a game that a time limit cut: the value of its final observation, or nothing, as after an end."""
    advantage: Literal["gae", "vtrace", "expected"] = "gae"
    """GAE; V-trace: again in each epoch, weighted by how far the policy has moved since the rollout; or expected: the
    critic judges every choice, and luck of choices is taken out."""
    trace_clip: Schedule = setting(schedule(1.0), least=0)
    """V-trace: the largest weight of a step."""
    critic_target: Literal["gae", "monte_carlo"] = "gae"
    """What the critic learns: GAE's advantage plus the old value, or the discounted return of the rollout."""
    recompute: Literal["never", "epoch"] = "never"
    """When advantages and targets are computed again with the critic as it then is."""
    normalise_advantage: Literal["none", "batch", "side", "minibatch"] = "batch"
    """Scale advantages of acting seats to mean 0 and deviation 1: over the rollout, for each side, or a minibatch."""
    advantage_noise: Schedule = setting(schedule(0.0), least=0, most=1)
    """Share of Gaussian noise in the scaled advantages, in [0, 1] (Noisy-MAPPO)."""
    value_noise: Schedule = setting(schedule(0.0), least=0)
    """Deviation of noise features that the critic sees, new for each seat in each rollout (Noisy-MAPPO); 0: none."""
    shared_reward: Schedule = setting(schedule(0.0), least=0, most=1)
    """Share of a common mean in a seat's reward, in [0, 1]: 0 its own alone, 1 the mean of those in shared_with."""
    shared_with: Literal["all", "side"] = "all"
    """With whom rewards are shared: all seats of the game, or those of the own side."""
    influence: Schedule = setting(schedule(0.0), least=0)
    """Reward for each unit by which an own action moves what the others are expected to do next (nats, summed over
    them); 0: none. It is in no return that is reported."""
    reward_scale: bool = False
    """Divide rewards by the running deviation of discounted returns."""
    reward_clip: Schedule = setting(schedule(0.0), least=0)
    """Clip rewards (after scaling) to plus and minus this; 0: not."""

    # Imagination (mind.imagine).
    imagine_length: Schedule = setting(schedule("1 -> 5"), least=1, most=32)
    """Steps that are imagined from a moment of the rollout on, rounded to whole ones."""

    # Critic.
    value_weight: Schedule = setting(schedule(0.5), least=0)
    """Weight of the critic's loss."""
    value_loss: Literal["mse", "huber"] = "mse"
    """Squared error, or linear beyond huber_delta."""
    huber_delta: Schedule = setting(schedule(10.0), above=0)
    """Error beyond which Huber's loss is linear, in normalised units where values are normalised."""
    value_clip: Schedule = setting(schedule(0.0), least=0)
    """How far a value may move from the old one before it stops paying, in normalised units; 0: any."""
    value_norm: Literal["none", "running", "popart"] = "none"
    """Learn values in units of their running mean and deviation; PopArt also corrects the output layer."""
    value_norm_rate: Schedule = setting(schedule(0.05), above=0, most=1)
    """Share of the newest rollout in those statistics, in (0, 1]."""

    # Exploration.
    entropy: Schedule = setting(schedule(0.01), least=0)
    """Weight of the entropy bonus: raise it when the policy settles too early."""
    temperature: Schedule = setting(schedule(1.0), above=0)
    """Above 0: scores are divided by it in training games; above 1 explores more."""
    epsilon: Schedule = setting(schedule(0.0), least=0, below=1)
    """Share of uniformly random choices in training games, in [0, 1): part of the policy, so probabilities are true."""
    support: Schedule = setting(schedule(0.0), least=0)
    """Weight of the KL from uniform choices to the policy: it lets no choice die out; 0: none. Usual: 0.01."""
    fixed_std: Schedule = setting(schedule(0.6), above=0)
    """Above 0: standard deviation of continuous actions with std=fixed, in every iteration."""

    # A hypernetwork (net.hyper).
    smooth: Schedule = setting(schedule(0.0), least=0)
    """Weight of the mean square by which a generated weight changes from a step of a game to the next; 0: none."""
    hyper_rate: Schedule = setting(schedule(1e-4), least=0)
    """Step size of the hypernetwork; 0 keeps it as it is, which at the start is the plain policy."""
    hyper_max_grad_norm: Schedule = setting(schedule(0.5), above=0)
    """Gradients of the hypernetwork longer than this are scaled down to it, apart from all others."""

    # Optimiser.
    optimiser: Literal["adam", "adam_rel", "muon"] = "adam"
    """Adam; Adam with its clock set back at each rollout (Adam-Rel); or Muon for matrices and Adam for the rest."""
    learning_rate: Schedule = setting(schedule("7e-4 -> 0"), least=0)
    """Step size. Lower it when the KL is large or returns collapse."""
    actor_rate: Rate = setting(None, least=0)
    """Step size of the actor; none: learning_rate."""
    critic_rate: Rate = setting(None, least=0)
    """Step size of the critic; none: learning_rate."""
    adam_eps: Schedule = setting(schedule(1e-5), least=0)
    """Adam's epsilon."""
    actor_eps: Rate = setting(None, least=0)
    """Adam's epsilon for the actor; none: adam_eps."""
    critic_eps: Rate = setting(None, least=0)
    """Adam's epsilon for the critic; none: adam_eps."""
    max_grad_norm: Schedule = setting(schedule(10.0), above=0)
    """Gradients longer than this are scaled down to it: 10 in MAPPO's reference, 0.5 in CleanRL."""
    clip_groups: bool = False
    """Clip the gradient of actor, critic and trunk each by its own length instead of all by their common one."""
    calm_critic: bool = False
    """Lower the critic's step size to 1/2, then 3/10 of itself when its loss explodes or its values oscillate."""

    # Parts of one's own.
    losses: tuple[str, ...] = ()
    """Loss terms of your own with their weights: 'mine.py:term=0.1 -> 0'."""
    modules: tuple[str, ...] = ()
    """Modules of your own, with parameters, phases and buffers: mine.py:model, or with the weight of its loss."""

    def on(self, name: str) -> bool:
        """Whether a coefficient that means nothing at its neutral value has another one at any time of the run."""
        return getattr(self, name) != NEUTRAL[name]

    @property
    def longest_branch(self) -> int:
        """Steps that are imagined at most."""
        return round(max(self.imagine_length.start, self.imagine_length.end))

    @property
    def has_shadow(self) -> bool:
        return self.on("shadow_half_life") or self.on("shadow_tau")


INHERITED = {
    "actor_rate": "learning_rate",
    "critic_rate": "learning_rate",
    "actor_eps": "adam_eps",
    "critic_eps": "adam_eps",
}
"""Coefficients that follow another one where they are None."""
NEUTRAL = {
    "advantage_noise": schedule(0.0),
    "value_noise": schedule(0.0),
    "shared_reward": schedule(0.0),
    "influence": schedule(0.0),
    "reward_clip": schedule(0.0),
    "value_clip": schedule(0.0),
    "epsilon": schedule(0.0),
    "support": schedule(0.0),
    "shadow_half_life": schedule(0.0),
    "shadow_tau": schedule(0.0),
    "anchor": schedule(0.0),
    "anchor_price": schedule(0.0),
    "align_old": schedule(0.0),
    "past_kl": schedule(0.0),
    "smooth": schedule(0.0),
    "imitation": schedule(0.0),
    "temperature": schedule(1.0),
}
"""Where a coefficient does nothing, and is therefore left out of the program."""
COEFFICIENTS = tuple(field.name for field in fields(PPOConfig) if field.type in (Schedule, Rate))
Knobs = namedtuple("Knobs", (*COEFFICIENTS, "own_M"), defaults=((),))  # pyright: ignore[reportUntypedNamedTuple]
"""The coefficients of one iteration, as traced scalars under their own names; own_M are the weights of losses and
modules of one's own."""


def knobs_of(knobs_H: Any, own: int = 0) -> Knobs:
    """The coefficients at the front of an array of knobs; weights of shaping terms follow them there, then those of so
    many losses and modules of one's own."""
    return Knobs(*knobs_H[: len(COEFFICIENTS)], own_M=knobs_H[-own:] if own else ())


def columns(knobs_LH: Any) -> tuple[Any, ...]:
    """The knobs of a stack of learners one by one, each taken by its place: what is not used leaves no trace."""
    return tuple(knobs_LH[:, place] for place in range(knobs_LH.shape[1]))


def coefficient(config: PPOConfig, name: str) -> Schedule:
    """The schedule of a coefficient, its own or the one it follows."""
    own = getattr(config, name)
    return getattr(config, INHERITED[name]) if own is None else own


def knobs_at(config: PPOConfig, progress: float, iteration: int = 0) -> np.ndarray:
    """knobs_H: this iteration's coefficients, computed on the host; progress runs from 0 to 1."""
    now = {name: coefficient(config, name).at(progress) for name in COEFFICIENTS}
    if (iteration + 1) % config.shadow_every:  # the shadow stands still
        now |= {"shadow_tau": 0.0, "shadow_half_life": np.inf}
    return np.asarray([now[name] for name in COEFFICIENTS], np.float32)
