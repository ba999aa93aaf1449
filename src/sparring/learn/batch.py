"""A rollout as rows to train on, and the policy evaluated on them: what play computed, computed again."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from sparring.core.records import Action
from sparring.nets.actor_critic import Actor, Critic
from sparring.nets.distributions import Distribution
from sparring.nets.minds import telling
from sparring.play.rollout import Choice, Others, Rollout, where_first


class Batch(NamedTuple):
    """Rows to train on, each a stretch of one world's steps with all seats of the side: [M, sequence, N, ...]."""

    features: Array
    legal: Array
    views: Array | None
    action: Action
    log_prob: Array
    distribution: Distribution
    """The policy that played."""
    value: Array
    """The critic that played, in the units of the loss."""
    advantage: Array
    target: Array
    """What the critic learns, in the units of the loss."""
    present: Array
    acting: Array
    start: Array
    warm: Array | None
    """Steps of a burn-in, which carry no loss; None without one."""
    hold: Array | None
    """Steps of a burn-in before the rollout began: there is nothing to see, so the memory stays."""
    memory: tuple
    """[M, ...]: memories of policy and critic at the first step."""
    anchor: Distribution | None = None
    """What the shadow would do, where it is an anchor."""
    imitate: Array | None = None
    """Steps of another player to imitate."""
    others: Others | None = None
    """What the other seats did, where a module asks for it."""
    past: Distribution | None = None
    """What the policies of past iterations would do, where they are anchors: leaves [M, sequence, H, N, ...]."""
    choice: Choice | None = None
    """The choice that decided the step, where the critic judges choices; and the advantage of each own one."""
    merit: Array | None = None
    counts: Array | None = None
    """What the game counted of each seat, [M, sequence, N, J], where a module asks for it."""
    said: Array | None = None
    """What the mind of the policy said, [M, sequence, N, ...], where it has one."""


class Evaluation(NamedTuple):
    """[M, sequence, N]."""

    log_prob: Array
    entropy: Array
    kl: Array
    """KL of the policy that played and the one evaluated, exact."""
    value: Array
    anchor_kl: Array | None
    """KL of the policy evaluated and the anchor, exact."""
    past_kl: Array | None = None
    """KL of each past policy and the one evaluated, exact, [M, sequence, H, N]."""
    jump: Array | None = None
    """Mean square change of the generated weights since the step before; means nothing where a game begins."""
    log_p: Array | None = None
    """[..., A]: of every entry, and the critic's value of it, where it judges choices."""
    worth: Array | None = None
    from_uniform: Array | None = None
    """KL from uniform choices to the policy evaluated, where the loss asks for it."""


@dataclass(frozen=True)
class Cut:
    """How the steps of a rollout fall into rows: sequences, each with the steps of a burn-in before it."""

    steps: int
    sequence: int
    burn_in: int = 0

    def rows(self, x_TW: Array) -> Array:
        """[T, W, ...] as [M, burn_in + sequence, ...]; zeros stand before the first step."""
        _, worlds, *rest = x_TW.shape
        if self.burn_in:
            padded = jnp.concatenate([jnp.zeros((self.burn_in, worlds, *rest), x_TW.dtype), x_TW])
            parts = padded[self.first[:, None] + jnp.arange(self.burn_in + self.sequence)]
        else:
            parts = x_TW.reshape(self.steps // self.sequence, self.sequence, worlds, *rest)
        rows = parts.shape[0] * worlds
        return jnp.swapaxes(parts, 1, 2).reshape(rows, self.burn_in + self.sequence, *rest)

    def in_time(self, rows: Array) -> Array:
        """The inverse of `rows`: [M, burn_in + sequence, ...] as [T, W, ...]."""
        rest = rows.shape[2:]
        stretches = self.steps // self.sequence
        worlds = rows.shape[0] // stretches
        parts = rows[:, self.burn_in :].reshape(stretches, worlds, self.sequence, *rest)
        return jnp.swapaxes(parts, 1, 2).reshape(self.steps, worlds, *rest)

    @property
    def first(self) -> Array:
        """The first step of each sequence."""
        return jnp.arange(0, self.steps, self.sequence)


def to_rows(rollout: Rollout, cut: Cut) -> Batch:
    """The rollout in rows. Advantages and targets are not known yet."""
    unknown = jnp.zeros_like(rollout.value_TWN)
    batch = Batch(
        features=rollout.features_TWNF, legal=rollout.legal_TWNA, views=rollout.views_TWVG, action=rollout.action,
        log_prob=rollout.log_prob_TWN, distribution=rollout.distribution, value=rollout.value_TWN, advantage=unknown,
        target=unknown, present=rollout.present_TWN, acting=rollout.acting_TWN,
        start=rollout.start_TW if rollout.blank_TW is None else rollout.blank_TW,
        warm=None, hold=None, memory=(), imitate=rollout.imitate_TWN, others=rollout.others,
        choice=None if rollout.worth is None else rollout.worth.choice,
        counts=rollout.counts_TWNJ, said=None if rollout.thought is None else rollout.thought.said_NM,
    )  # fmt: skip
    batch = jax.tree.map(cut.rows, batch)
    if not cut.burn_in:
        return batch._replace(memory=jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), rollout.memory))
    kept = jnp.maximum(cut.first // cut.burn_in - 1, 0)
    warm = jnp.broadcast_to(jnp.arange(cut.burn_in + cut.sequence) < cut.burn_in, batch.start.shape)
    return batch._replace(
        warm=warm,
        hold=warm & jnp.repeat(cut.first == 0, rollout.start_TW.shape[1])[:, None],
        acting=batch.acting & ~warm[..., None],
        present=batch.present & ~warm[..., None],
        imitate=None if batch.imitate is None else batch.imitate & ~warm[..., None],
        memory=jax.tree.map(lambda x: x[kept].reshape(-1, *x.shape[2:]), rollout.memory),
    )


def unroll(policy: Any, critic: Critic, batch: Batch, actor: Actor | None = None, support: bool = False) -> Evaluation:
    """Every row evaluated, all rows together: what play computed, computed again. `actor` is the one inside the policy
    where the changes of its generated weights are asked for; `support`: whether the KL from uniform choices is."""

    def at_step(memory: tuple, row: Batch) -> tuple[tuple, Evaluation]:
        blank = jax.tree.map(jnp.zeros_like, memory)
        actor_memory, critic_memory = where_first(row.start, blank, memory)
        jump = None if actor is None else jump_of(actor, row.features, actor_memory)
        distribution, actor_memory = policy(row.features, row.legal, telling(actor_memory, row.said))
        told = () if row.choice is None or row.choice.told is None else (row.choice.told,)
        value, critic_memory = critic(row.features if row.views is None else row.views, critic_memory, *told)
        log_p = worth = None
        if row.choice is not None:
            log_p, value, worth = distribution.log_p_A, value[..., 0], value[..., 1:]
        value = jnp.broadcast_to(value, row.log_prob.shape)
        log_prob, entropy = distribution.log_prob(row.action), distribution.entropy()
        later = (actor_memory, critic_memory)
        if (
            row.warm is not None and row.hold is not None
        ):  # a burn-in brings the memory up to date, but no gradient flows through it
            later = where_first(row.warm, lax.stop_gradient(later), later)
            later = where_first(row.hold, memory, later)
        anchor_kl = None if row.anchor is None else distribution.kl(row.anchor)
        past_kl = None if row.past is None else row.past.kl(jax.tree.map(lambda x: x[..., None, :, :], distribution))
        kl = row.distribution.kl(distribution)
        even = distribution.from_uniform() if support else None
        return later, Evaluation(log_prob, entropy, kl, value, anchor_kl, past_kl, jump, log_p, worth, even)

    if batch.start.shape[1] == 1:  # no step needs the one before it
        return at_step(jax.tree.map(lambda x: x[:, None], batch.memory), batch)[1]
    steps = jax.tree.map(lambda x: jnp.swapaxes(x, 0, 1), batch._replace(memory=()))
    found = lax.scan(at_step, batch.memory, steps)[1]
    return jax.tree.map(lambda x: jnp.swapaxes(x, 0, 1), found)


def jump_of(actor: Actor, features: Array, memory: Any) -> Array:
    assert actor.hyper is not None
    now, before = actor.traits(features, memory)
    return actor.hyper.mean_square(tuple(a - b for a, b in zip(now, before, strict=True)))


def opinions(policy: Any, batch: Batch, minibatches: int) -> Distribution:
    """What another policy would do in every row, without gradient. Where policies remember, it starts each row from
    the memory of the one that played."""

    def at_step(memory: Any, row: Batch) -> tuple[Any, Distribution]:
        memory = where_first(row.start, jax.tree.map(jnp.zeros_like, memory), memory)
        distribution, later = policy(row.features, row.legal, telling(memory, row.said))
        return (later if row.hold is None else where_first(row.hold, memory, later)), distribution

    def of_row(row: Batch) -> Distribution:
        return lax.scan(at_step, row.memory[0], row._replace(memory=()))[1]

    size = batch.start.shape[0] // minibatches
    parts = jax.tree.map(lambda x: x.reshape(minibatches, size, *x.shape[1:]), batch)
    found = lax.map(jax.vmap(of_row), parts)
    return lax.stop_gradient(jax.tree.map(lambda x: x.reshape(minibatches * size, *x.shape[2:]), found))


def evaluated(policy: Any, critic: Critic, batch: Batch, minibatches: int) -> Evaluation:
    """All rows, without gradient, in parts of the size of a minibatch: the same program as training."""
    size = batch.start.shape[0] // minibatches
    parts = jax.tree.map(lambda x: x.reshape(minibatches, size, *x.shape[1:]), batch)
    found = lax.map(lambda part: unroll(policy, critic, part), parts)
    return lax.stop_gradient(jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), found))
