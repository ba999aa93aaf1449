"""Actor and critic: networks for one side, written for one seat and applied to all seats of the side at once.

The actor is the policy: it is what rosters, pools and packages hold. The critic only trains.
"""

from math import log
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.seeding import Seed
from sparring.core.spec import ActionSpec, GameSpec
from sparring.nets.blocks import Dense, Fixed, Residual, filled
from sparring.nets.config import LOG_STD_RANGE, NetConfig
from sparring.nets.distributions import Distribution
from sparring.nets.hyper.hyper import Changed, Hyper, Layer, Traits, layer_of
from sparring.nets.minds import Fusion, Mind, heard, untold
from sparring.nets.normalise import Held, Normaliser, ValueScale
from sparring.nets.trunk import Memory, Trunk, joined

UNTRAINED = (Normaliser, ValueScale, Held, Fixed, Mind)
"""The parts of a network that no gradient of its loss moves: a trainer sets them between updates."""
NOISE_FEATURES = 10
"""Random features of each seat that a noisy critic sees, as many as in the reference."""


class Actor(eqx.Module):
    """A policy: features_NF, legal_NA and memory to a distribution over each seat's action."""

    trunk: Trunk
    head: Dense
    log_std_C: Array | Held | None
    """Trained, set by the trainer, or None where the head gives it."""
    action: ActionSpec = eqx.field(static=True)
    hyper: Hyper | None = None
    """What changes the layers from step to step or from seat to seat; None: nothing."""
    mind: Mind | None = None
    """What believes something of the others; None: nothing does."""
    fusion: Fusion | None = None
    """What joins to the hidden features what the mind says."""

    @classmethod
    def make(cls, seed: Seed, spec: GameSpec, config: NetConfig) -> "Actor":
        action = spec.action
        trunk = Trunk.make(seed / "trunk", spec.features, config, layout=spec.layout)
        start_C = filled(log(config.initial_std), action.dimensions)
        outputs = action.entries + action.dimensions
        if config.std != "state":
            head = Dense.make(seed / "head", trunk.width, outputs, config.policy_gain)
            plain = cls(trunk, head, start_C if config.std == "independent" else Held(start_C), action)
        else:
            head = Dense.make(seed / "head", trunk.width, outputs + action.dimensions, config.policy_gain)
            plain = cls(trunk, Dense(head.weight_IO, head.bias_O.at[outputs:].set(start_C)), None, action)
        if config.hyper == "none":
            return plain
        return generated(seed / "hyper", plain, spec.features, spec, config, gain=config.policy_gain)

    def initial(self, *batch: int) -> Memory:
        memory = self.trunk.initial(*batch)
        return memory if self.hyper is None else (memory, self.hyper.initial(*batch))

    def __call__(self, features_NF: Array, legal_NA: Array, memory: Memory) -> tuple[Distribution, Memory]:
        scores, _, memory = self.scores(features_NF, memory)
        logits_NA, mean_NC = scores[..., : self.action.entries], scores[..., self.action.entries :]
        if self.log_std_C is None:
            mean_NC, log_std_NC = jnp.split(mean_NC, 2, axis=-1)
            log_std_C = jnp.clip(log_std_NC, *LOG_STD_RANGE)
        else:
            log_std_C = self.log_std_C.value if isinstance(self.log_std_C, Held) else self.log_std_C
        return Distribution.make(self.action, logits_NA, legal_NA, mean_NC, log_std_C), memory

    def scores(self, features_NF: Array, memory: Memory) -> tuple[Array, Array, Memory]:
        """What the head says of all entries and dimensions, the hidden features it sees, and the memory after it."""
        said_NM = None if self.fusion is None else heard(memory).said_NM
        memory = untold(memory)
        if self.hyper is None:
            hidden, memory = self.trunk(features_NF, memory)
            hidden = self.fused(hidden, said_NM)
            return self.head(hidden), hidden, memory
        own, past = memory
        if self.hyper.by_seat:
            layers = self.hyper.of_seats(features_NF.shape[-2], self.bases)
            scores, hidden, own = jax.vmap(self.with_layers, (0, -2, -2, -2), -2)(layers, features_NF, own, said_NM)
            return scores, hidden, (own, past)
        changed, past = self.hyper(features_NF, past, self.bases, self.trunk.normaliser)
        hidden, own = self.trunk(features_NF, own, changed=changed)
        hidden = self.fused(hidden, said_NM)
        return changed(len(self.trunk.layers), hidden, self.head(hidden)), hidden, (own, past)

    def with_layers(
        self, layers: list[Any], features_F: Array, memory: Memory, said_M: Array | None
    ) -> tuple[Array, Array, Memory]:
        """The scores of one seat with layers of its own, its hidden features and memory."""
        *body, head = layers
        hidden, memory = eqx.tree_at(lambda trunk: trunk.layers, self.trunk, body)(features_F, memory)
        hidden = self.fused(hidden, said_M)
        return head(hidden), hidden, memory

    def fused(self, hidden: Array, said_NM: Array | None) -> Array:
        """Hidden features with what the mind says, where there is one."""
        if self.fusion is None:
            return hidden
        assert said_NM is not None
        return self.fusion(hidden, said_NM)

    def unfused(self, features_NF: Array, memory: Memory) -> Array:
        """The hidden features without what the mind says."""
        return eqx.tree_at(lambda actor: actor.fusion, self, None).scores(features_NF, untold(memory))[1]

    def for_seats(self, seats: int) -> "Actor":
        """The same policy for many steps: what a hypernetwork makes for each seat alone is made now."""
        if self.hyper is None or not self.hyper.by_seat:
            return self
        made = self.hyper.of_seats(seats, self.bases)
        return eqx.tree_at(lambda actor: actor.hyper.made, self, made, is_leaf=lambda node: node is None)

    @property
    def bases(self) -> list[Any]:
        """The layers that a hypernetwork changes."""
        return [*self.trunk.layers, self.head]

    def traits(self, features_NF: Array, memory: Memory) -> tuple[Traits, Traits]:
        """What determines the weights generated in this step, and in the one before it."""
        assert self.hyper is not None
        return self.hyper.traits(features_NF, untold(memory)[1], self.bases, self.trunk.normaliser)


class Critic(eqx.Module):
    """views_VG and memory to value_V, in units of reward; with `choices`, to [V, 1 + A]: the value, then what it
    is once each entry is chosen."""

    trunk: Any
    """None where it is the actor's: `ActorCritic.judge` puts that in."""
    head: Dense
    scale: ValueScale | None
    """The head's output is in these units; None: in units of reward."""
    noise_NZ: Held | None
    """What tells seats with one view apart (Noisy-MAPPO, arXiv:2106.14334); the value is then value_N."""
    sees: Literal["local", "central"] = eqx.field(static=True)
    choices: bool = eqx.field(static=True, default=False)
    told: int = eqx.field(static=True, default=0)
    """Width of what it is told of others' choices, where all choose at once and it judges choices."""
    hyper: Hyper | None = None

    @classmethod
    def make(
        cls, seed: Seed, spec: GameSpec, config: NetConfig, *, value_scale: bool = False, noise_seats: int = 0,
        choices: bool = False,
    ) -> "Critic":  # fmt: skip
        central = config.critic == "central"
        told = (spec.seats - 1) * spec.action.entries if choices and not spec.in_turn else 0
        trunk = Trunk.make(
            seed / "trunk",
            spec.central.size if central else spec.features,
            config,
            hidden=config.critic_hidden or config.hidden,
            layout=() if central else spec.layout,
            beside=(NOISE_FEATURES if noise_seats else 0) + told,
        )
        head = Dense.make(seed / "head", trunk.width, 1 + spec.action.entries if choices else 1, 1.0)
        noise_NZ = Held(filled(0.0, noise_seats, NOISE_FEATURES)) if noise_seats else None
        scale = ValueScale.make() if value_scale else None
        plain = cls(trunk, head, scale, noise_NZ, config.critic, choices, told)
        if not config.hyper_critic:
            return plain
        inputs = spec.central.size if central else spec.features
        return generated(seed / "hyper", plain, inputs, spec, config, gain=1.0)

    def initial(self, *batch: int) -> Memory:
        return self.trunk.initial(*batch)

    def rows(self, seats: int, shared_view: bool) -> int:
        """How many rows its memory and values have: one for a view that all seats share, unless noise parts them."""
        return 1 if shared_view and self.noise_NZ is None else seats

    def __call__(self, views_VG: Array, memory: Memory, told_VO: Array | None = None) -> tuple[Array, Memory]:
        """The value is from before anybody chooses; what a choice is worth, from when those of others are told."""
        changed = None
        if self.hyper is not None:
            changed, _ = self.hyper(views_VG, ((), ()), [*self.trunk.layers, self.head], self.trunk.normaliser)
        hidden, later = self.trunk(views_VG, memory, self.beside(views_VG, None), changed)
        value = self.said(hidden, changed) if self.choices else self.said(hidden, changed)[..., 0]
        if told_VO is not None:
            informed, _ = self.trunk(views_VG, memory, self.beside(views_VG, told_VO), changed)
            value = jnp.concatenate([value[..., :1], self.said(informed, changed)[..., 1:]], axis=-1)
        return value if self.scale is None else self.scale.real(value), later

    def said(self, hidden: Array, changed: Changed | None) -> Array:
        """What the head makes of hidden features."""
        values = self.head(hidden)
        return values if changed is None else changed(len(self.trunk.layers), hidden, values)

    def beside(self, views_VG: Array, told_VO: Array | None) -> Array | None:
        """What joins after the normaliser, which would undo the deviation that the trainer gave to noise."""
        noise_NZ = None if self.noise_NZ is None else self.noise_NZ.value
        if not self.told:
            return noise_NZ
        if told_VO is None:
            told_VO = jnp.zeros((*views_VG.shape[:-1], self.told))
        return told_VO if noise_NZ is None else joined(told_VO, noise_NZ)


def generated(seed: Seed, plain: Any, inputs: int, spec: GameSpec, config: NetConfig, *, gain: float) -> Any:
    """An actor or a critic whose layers a hypernetwork changes. Layers that it generates in full have no weights of
    their own."""
    *layers, head = [*plain.trunk.layers, plain.head]
    shapes = [
        layer_of(layer, 2**0.5) if isinstance(layer, Dense) else Layer(0, width_of(layer), 0.0) for layer in layers
    ]
    of_actor = isinstance(plain, Actor)
    hyper = Hyper.make(seed, inputs, [*shapes, layer_of(head, gain)], spec, config, of_actor=of_actor)
    if config.hyper == "full":
        plain = eqx.tree_at(lambda p: p.head, plain, without_weights(head))
        if config.hyper_layers != "last":
            plain = eqx.tree_at(lambda p: p.trunk.layers, plain, [without_weights(layer) for layer in layers])
    return eqx.tree_at(lambda p: p.hyper, plain, hyper, is_leaf=lambda node: node is None)


def width_of(layer: Any) -> int:
    """Outputs of a layer that is not dense: a residual block, or a body that is code."""
    return layer.narrow.bias_O.shape[-1] if isinstance(layer, Residual) else layer.width


def without_weights(layer: Dense) -> Fixed:
    return Fixed(filled(0.0, *layer.weight_IO.shape), filled(0.0, *layer.bias_O.shape))


class ActorCritic(eqx.Module):
    actor: Actor
    critic: Critic
    modules: dict[str, Any] | None = None
    """Parts of one's own that learn beside them (learn/module); None where there are none."""

    @classmethod
    def make(
        cls, seed: Seed, spec: GameSpec, config: NetConfig, *, value_scale: bool = False, noise_seats: int = 0,
        choices: bool = False,
    ) -> "ActorCritic":  # fmt: skip
        """`noise_seats`: the seats of the side, where its critic is to see noise. `choices`: it judges each of them."""
        critic = Critic.make(
            seed / "critic", spec, config, value_scale=value_scale, noise_seats=noise_seats, choices=choices
        )
        if config.trunk == "shared":
            critic = eqx.tree_at(lambda c: c.trunk, critic, None)
        return cls(Actor.make(seed / "actor", spec, config), critic)

    @property
    def judge(self) -> Critic:
        """The critic with the trunk it reads: its own, or the actor's."""
        if self.critic.trunk is not None:
            return self.critic
        return eqx.tree_at(lambda c: c.trunk, self.critic, self.actor.trunk, is_leaf=lambda node: node is None)
