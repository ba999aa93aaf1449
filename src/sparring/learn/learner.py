"""A learner: weights, optimiser state, statistics. Learners of one family are stacked on L, also when L = 1."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sparring.learn import calm, reward_scale
from sparring.learn.calm import Calm
from sparring.learn.config import COEFFICIENTS, Knobs, PPOConfig
from sparring.learn.groups import labels, optimiser
from sparring.learn.reward_scale import RewardScale
from sparring.nets.actor_critic import UNTRAINED, Actor, ActorCritic
from sparring.nets.exploring import Exploring
from sparring.nets.normalise import Held
from sparring.play.chance import stream


class Learner(NamedTuple):
    """What an option needs is None while it is off."""

    model: ActorCritic
    optimiser: Any
    updates: Array
    """Gradient steps taken."""
    player: Array
    """The identity whose keys this learner uses, uint32; it keeps it wherever it is stored."""
    kl_weight: Array | None
    calm: Calm | None
    reward: RewardScale | None
    shadow: Actor | None = None
    buffers: dict[str, Any] | None = None
    """What modules of one's own remember."""
    past: Actor | None = None
    """The policies of the last iterations, the newest first: leaves [H, ...]."""
    study: Any = None
    """What fits the models in the actor's mind, with what they are fitted on (opponent_models/study)."""


def new_learner(model: ActorCritic, player: Array | int, config: PPOConfig, worlds: int, seats: int) -> Learner:
    """A learner that will play in that many worlds with that many seats."""
    trained: Any = trainable(model)[0]
    any_knobs = Knobs(*(1.0 for _ in COEFFICIENTS))
    return Learner(
        model=model,
        optimiser=optimiser(config, any_knobs, labels(trained)).init(trained),
        updates=jnp.zeros((), jnp.int32),
        player=jnp.asarray(player, jnp.uint32),
        kl_weight=jnp.asarray(config.kl_weight, jnp.float32) if config.loss in ("kl", "clip_kl") else None,
        calm=calm.start() if config.calm_critic else None,
        reward=reward_scale.start(worlds, seats) if config.reward_scale else None,
        # A copy: a buffer that two leaves share cannot be given back to be written over.
        shadow=jax.tree.map(jnp.copy, model.actor) if config.has_shadow else None,
        buffers=None
        if model.modules is None
        else {name: module.buffers(worlds, seats) for name, module in model.modules.items()},
        past=jax.tree.map(lambda x: jnp.repeat(x[None], config.past_policies, axis=0), model.actor)
        if config.on("past_kl")
        else None,
    )


def trainable(model: Any) -> tuple[Any, Any]:
    """What gradients move, and the rest: statistics, and what the trainer sets."""

    def spec(node: Any) -> Any:
        return jax.tree.map(lambda _: not isinstance(node, UNTRAINED), node)

    return eqx.partition(model, jax.tree.map(spec, model, is_leaf=lambda node: isinstance(node, UNTRAINED)))


def behaviour(actor: Actor, knobs: Any, config: PPOConfig) -> Any:
    """The policy that plays in training and that learns: the actor, with exploration inside its distribution."""
    temperature = knobs.temperature if config.on("temperature") else None
    epsilon = knobs.epsilon if config.on("epsilon") else None
    return actor if temperature is None and epsilon is None else Exploring(actor, temperature, epsilon)


def ready(learner: Learner, key: Array, knobs: Any) -> Learner:
    """What an iteration sets before play: the deviation of fixed actions, and the noise that the critic sees."""
    model = learner.model
    log_std, noise = model.actor.log_std_C, model.critic.noise_NZ
    if isinstance(log_std, Held):
        fixed = jnp.full_like(log_std.value, jnp.log(knobs.fixed_std))
        model = eqx.tree_at(lambda m: m.actor.log_std_C.value, model, fixed)
    if noise is not None:
        own = jax.random.fold_in(stream(key, "value noise"), learner.player)
        drawn_NZ = knobs.value_noise * jax.random.normal(own, noise.value.shape)
        model = eqx.tree_at(lambda m: m.critic.noise_NZ.value, model, drawn_NZ)
    return learner._replace(model=model)


def while_games_go_on(learners: Learner, before: Learner) -> Learner:
    """Learners with other weights in the worlds they had: what running games have paid so far is true of those."""
    if learners.reward is None or before.reward is None:
        return learners
    return learners._replace(reward=learners.reward._replace(return_WN=before.reward.return_WN))
