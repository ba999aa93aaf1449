"""What weights are generated from: who acts, what it saw in its last steps, or what all of its side saw.

The last steps are a memory of plain observations, [N, K, E], the newest last and a 1 at the end of each that is real.
So the context of the step before can be computed again in training from what is stored with the present one.
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.errors import ConfigError
from sparring.core.records import Action
from sparring.core.seeding import Seed
from sparring.core.spec import ActionSpec, Feature
from sparring.nets.blocks import CELLS, Dense, LayerNorm, Residual, orthogonal
from sparring.nets.config import NetConfig
from sparring.nets.normalise import Normaliser
from sparring.nets.trunk import Grids


class Recall(NamedTuple):
    """A memory that also keeps what was done and what it paid: `told` fills it in after a step is played."""

    steps_NKE: Array
    done_NX: Array
    """Of the last step: the choices, one of so many for each head, the continuous values, the reward if wanted."""


def recalls(memory: Any) -> bool:
    """Whether a policy with such a memory is to be told what it did."""
    nodes = jax.tree.leaves(memory, is_leaf=lambda node: isinstance(node, Recall))
    return any(isinstance(node, Recall) for node in nodes)


def told(memory: Any, spec: ActionSpec, action: Action, reward_N: Array | None) -> Any:
    """The memory of a policy after a step, with what was done in it; that of most policies as it is."""

    def of(node: Any) -> Any:
        if not isinstance(node, Recall):
            return node
        chosen = [jax.nn.one_hot(action.discrete_SD[..., d], size) for d, size in enumerate(spec.heads)]
        parts = [*chosen, action.continuous_SC]
        if node.done_NX.shape[-1] > spec.entries + spec.dimensions:
            if reward_N is None:
                raise ConfigError(
                    "This player acts on the rewards that it was paid (hyper_recalls=rewards), which nobody tells it "
                    "here. Play it in a match or a tournament, or train one with hyper_recalls=actions."
                )
            parts.append(reward_N[..., None])
        return node._replace(done_NX=jnp.concatenate(parts, axis=-1))

    return jax.tree.map(of, memory, is_leaf=lambda node: isinstance(node, Recall))


def told_size(spec: ActionSpec, recalls: str) -> int:
    """Numbers beside an observation."""
    return 0 if recalls == "observations" else spec.entries + spec.dimensions + (recalls == "rewards")


class Attention(eqx.Module):
    """Multi-head self-attention over the second last axis (arXiv:1706.03762), added to what comes in."""

    norm: LayerNorm
    projections: Dense
    output: Dense
    heads: int = eqx.field(static=True)

    @classmethod
    def make(cls, seed: Seed, size: int, heads: int) -> "Attention":
        projections = Dense.make(seed / "projections", size, 3 * size, 1.0)
        return cls(LayerNorm.make(size), projections, Dense.make(seed / "output", size, size, 1.0), heads)

    def __call__(self, x: Array, real: Array | None = None) -> Array:
        """`real` [..., S] says which of the positions are there to be looked at."""
        size = x.shape[-1] // self.heads
        parts = self.projections(self.norm(x)).reshape(*x.shape[:-1], self.heads, 3 * size)
        query, key, value = jnp.split(parts, 3, axis=-1)
        score = jnp.einsum("...qhd,...khd->...hqk", query, key) / size**0.5
        if real is not None:
            score = jnp.where(real[..., None, None, :], score, -1e9)
        seen = jnp.einsum("...hqk,...khd->...qhd", jax.nn.softmax(score), value)
        return x + self.output(seen.reshape(x.shape))


class Transformer(eqx.Module):
    """Positions, attention over the last steps, and a residual block; what the newest step makes of it."""

    place_KZ: Array
    attention: Attention
    block: Residual

    @classmethod
    def make(cls, seed: Seed, size: int, steps: int, heads: int) -> "Transformer":
        place_KZ = jnp.asarray(orthogonal(seed / "place", steps, size, 1.0))
        return cls(place_KZ, Attention.make(seed / "attention", size, heads), Residual.make(seed / "block", size))

    def __call__(self, steps: Array, real: Array) -> Array:
        # Nobody looks at steps before the game: where all are such, the result counts for nothing.
        return self.block(self.attention(steps + self.place_KZ, real)[..., -1, :])


class Context(eqx.Module):
    encoder: Dense | None
    """Of one observation, shared by all seats and steps, or of all steps side by side; None where the seat alone
    counts."""
    grids: Grids | None
    over_time: Any
    """GRU, LSTM or Transformer over the last steps; None where there is one step, or all are encoded side by side."""
    over_seats: Attention | None
    identity_NZ: Array | None
    """What stands for each seat where that is learned."""
    previous: Dense | None
    """Of the weights generated in the step before."""
    joined: Dense
    sees: str = eqx.field(static=True)
    history: int = eqx.field(static=True)
    """Steps that are remembered; 0: the present one is seen, and none remembered."""
    seats: int = eqx.field(static=True)
    """The most that a side has, where each has an identity; 0: they have none."""
    inputs: int = eqx.field(static=True)
    """F."""
    beside: int = eqx.field(static=True)
    """Numbers beside an observation that say what was done."""

    @classmethod
    def make(
        cls, seed: Seed, inputs: int, config: NetConfig, *, seats: int = 0, layout: tuple[Feature, ...] = (),
        of_actor: bool = True, previous: int = 0, beside: int = 0,
    ) -> "Context":  # fmt: skip
        """The context of an actor is as the settings say; that of a critic is what it sees at the moment."""
        size, sees = config.hyper_size, config.hyper_sees if of_actor else "own"
        history = config.hyper_history if of_actor and sees != "nothing" else 0
        seats = seats if of_actor and config.hyper_id != "none" else 0
        learned = seats > 0 and config.hyper_id == "learned"
        encoder = grids = over_time = None
        if sees != "nothing":
            if config.convolutions and layout:
                grids = Grids.make(seed / "grids", layout, config.convolutions, config.activation)
            known = (inputs if grids is None else grids.outputs) + beside
            together = history > 1 and config.hyper_encoder == "stacked"
            encoder = Dense.make(seed / "encoder", history * (known + 1) if together else known, size)
        if history > 1 and config.hyper_encoder == "transformer":
            over_time = Transformer.make(seed / "over_time", size, history, config.hyper_heads)
        elif history > 1 and config.hyper_encoder != "stacked":
            over_time = CELLS[config.hyper_encoder].make(seed / "over_time", size, size)
        parts = size * (encoder is not None) + (size if learned else seats) + size * (previous > 0)
        return cls(
            encoder=encoder,
            grids=grids,
            over_time=over_time,
            over_seats=Attention.make(seed / "over_seats", size, config.hyper_heads) if sees == "joint" else None,
            identity_NZ=jnp.asarray(orthogonal(seed / "identity", seats, size, 2**0.5)) if learned else None,
            previous=Dense.make(seed / "previous", previous, size, 1.0) if previous else None,
            joined=Dense.make(seed / "joined", parts, size, 1.0),
            sees=sees,
            history=history,
            seats=seats,
            inputs=inputs,
            beside=beside,
        )

    def initial(self, *batch: int) -> Any:
        if not self.history:
            return ()
        steps = jnp.zeros((*batch, self.history, self.inputs + self.beside + 1))
        return Recall(steps, jnp.zeros((*batch, self.beside))) if self.beside else steps

    def later(self, features_NF: Array, past: Any) -> Any:
        """The memory with the present observation in it."""
        if not self.history:
            return ()
        steps, done = past if self.beside else (past, None)
        parts = [features_NF, *(() if done is None else (done,)), jnp.ones((*features_NF.shape[:-1], 1))]
        now = jnp.concatenate(parts, axis=-1)[..., None, :]
        steps = jnp.concatenate([steps[..., 1:, :], now], axis=-2)
        return steps if done is None else Recall(steps, jnp.zeros_like(done))

    def of(self, features_NF: Array, past: Any, normaliser: Normaliser | None, previous: Array | None) -> Array:
        """z [..., N, Z] of constant length: [N, Z] where only the seat counts. Of a memory only its steps are seen,
        else the features."""
        parts = []
        if self.encoder is not None:
            parts.append(self.seen(features_NF, past, normaliser))
        if self.previous is not None and previous is not None:
            parts.append(jnp.tanh(self.previous(previous)))
        if self.seats:
            rows = jnp.eye(self.seats) if self.identity_NZ is None else self.identity_NZ
            rows = rows[: features_NF.shape[-2]]
            parts.append(jnp.broadcast_to(rows, (*(parts[0].shape[:-2] if parts else ()), *rows.shape)))
        return unit(self.joined(jnp.concatenate(parts, axis=-1)))

    def seen(self, features_NF: Array, past: Any, normaliser: Normaliser | None) -> Array:
        """What was seen, [..., N, Z]: by each seat, or by all of them for all of them."""
        if self.history:
            steps = past.steps_NKE if self.beside else past
        else:
            steps = jnp.concatenate([features_NF, jnp.ones((*features_NF.shape[:-1], 1))], axis=-1)[..., None, :]
        encoded = self.encoded(steps, normaliser)
        if self.over_seats is None:
            return encoded
        return jnp.broadcast_to(self.over_seats(encoded).mean(-2, keepdims=True), encoded.shape)

    def encoded(self, steps: Array, normaliser: Normaliser | None) -> Array:
        """One vector of the last steps."""
        assert self.encoder is not None
        real = steps[..., -1:]
        if self.history > 1 and self.over_time is None:
            if normaliser is not None or self.grids is not None:  # which would not leave zeros what they are
                steps = jnp.concatenate([real * self.known(steps, normaliser), real], axis=-1)
            return jnp.tanh(self.encoder(steps.reshape(*steps.shape[:-2], -1)))
        encoded = real * jnp.tanh(self.encoder(self.known(steps, normaliser)))
        if isinstance(self.over_time, Transformer):
            return self.over_time(encoded, real[..., 0] > 0)
        last = encoded[..., -1, :]
        if self.over_time is not None:
            memory = self.over_time.initial(*encoded.shape[:-2])
            for step in range(self.history):
                memory, last = self.over_time(memory, encoded[..., step, :])
        return last

    def known(self, steps: Array, normaliser: Normaliser | None) -> Array:
        """Observations as the encoder takes them, with what was done beside each."""
        features, done = steps[..., : self.inputs], steps[..., self.inputs : -1]
        if normaliser is not None:
            features = normaliser(features)
        if self.grids is not None:
            features = self.grids(features)
        return jnp.concatenate([features, done], axis=-1) if self.beside else features


def unit(x: Array) -> Array:
    """Mean 0 and variance 1 over the last axis, hence of one length: what is generated then does not grow with what
    is seen (arXiv:2304.07645)."""
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
