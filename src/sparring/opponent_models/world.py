"""What comes next, by an ensemble that learned it.

One step, from what a seat sees and what everybody does to what it sees then, what it is paid, whether that was its last
step, and what is legal. Members differ in how they began and in which rows they learn from: where they disagree nobody
knows. Whether they are good enough to be believed is decided on rows that they have not seen (`open_gate`). Letters: R
rows, F features, A legal entries and whatever else is yes or no, D heads of an action, O the other seats, E members.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.seeding import Seed
from sparring.core.spec import ActionSpec
from sparring.learn.losses import masked_mean
from sparring.nets.blocks import Dense

KEPT = 0.8
"""Share of the rows that each member learns from."""
LEAST = {"features": 1e-4, "reward": 1e-4, "ended": 1e-2, "legal": 1e-2}
"""What a guess is taken to err at least: where nothing varies there is nothing to foresee, and whoever errs by no more
is as good."""


class Transition(NamedTuple):
    """One step of one seat, leaves [R, ...] or without R."""

    features_F: Array
    own_D: Array
    discrete_OD: Array
    """What the others did."""
    reward: Array
    ended: Array
    """It left, or the game was over: nothing follows."""
    next_features_F: Array
    next_legal_A: Array


class Foreseen(NamedTuple):
    """What a model says of a step, leaves [..., letters]."""

    features_F: Array
    reward: Array
    ended: Array
    """How likely it is the last."""
    legal_A: Array
    """How likely each entry is legal then."""


class Member(eqx.Module):
    first: Dense
    second: Dense
    change: Dense
    """From what is seen to what is seen next: at first nothing changes."""
    pays: Dense
    ends: Dense
    allows: Dense

    @classmethod
    def make(cls, seed: Seed, features: int, flags: int, others: int, action: ActionSpec, size: int) -> "Member":
        inputs = features + (others + 1) * action.entries
        small = 0.01
        return cls(
            Dense.make(seed / "first", inputs, size), Dense.make(seed / "second", size, size),
            Dense.make(seed / "change", size, features, small), Dense.make(seed / "pays", size, 1, small),
            Dense.make(seed / "ends", size, 1, small), Dense.make(seed / "allows", size, flags, small),
        )  # fmt: skip

    def __call__(self, features_F: Array, done_A: Array) -> tuple[Foreseen, Array, Array]:
        """And the logits of the end and of what is legal."""
        hidden = jax.nn.relu(self.second(jax.nn.relu(self.first(jnp.concatenate([features_F, done_A], axis=-1)))))
        ends, allows_A = self.ends(hidden)[..., 0], self.allows(hidden)
        foreseen = Foreseen(
            features_F + self.change(hidden), self.pays(hidden)[..., 0], jax.nn.sigmoid(ends), jax.nn.sigmoid(allows_A)
        )
        return foreseen, ends, allows_A


class Worlds(eqx.Module):
    """The ensemble, members stacked on E."""

    member_E: Member
    action: ActionSpec = eqx.field(static=True)

    @classmethod
    def make(
        cls, seed: Seed, features: int, others: int, action: ActionSpec, members: int, size: int, flags: int = 0
    ) -> "Worlds":
        """`flags`: how many things are yes or no, if they are more than the legal entries."""
        flags = flags or action.entries
        made = [Member.make(seed / number, features, flags, others, action, size) for number in range(members)]
        return cls(jax.tree.map(lambda *x: jnp.stack(x), *made), action)

    @property
    def members(self) -> int:
        return self.member_E.pays.bias_O.shape[0]

    def each(self, transition: Transition) -> tuple[Foreseen, Array, Array]:
        done_A = everybody(transition, self.action)
        return jax.vmap(lambda member: member(transition.features_F, done_A))(self.member_E)

    def foreseen(self, transition: Transition) -> tuple[Foreseen, Array]:
        """The mean of all members, and how far apart they are: the mean deviation of features between them."""
        found, _, _ = self.each(transition)
        return jax.tree.map(lambda x: x.mean(0), found), found.features_F.std(0).mean(-1)

    def loss(self, transition: Transition, key: Array) -> tuple[Array, dict[str, Array]]:
        """Squared errors of features and reward, cross-entropy of end and legal entries, of steps that do not end only
        for what comes after. Each member learns from other rows."""
        found, ends, allows = self.each(transition)
        learns = jax.random.uniform(key, ends.shape) < KEPT
        goes_on = learns & ~transition.ended
        parts = {
            "features": masked_mean(((found.features_F - transition.next_features_F) ** 2).mean(-1), goes_on),
            "reward": masked_mean((found.reward - transition.reward) ** 2, learns),
            "ended": masked_mean(_missed(ends, transition.ended), learns),
            "legal": masked_mean(_missed(allows, transition.next_legal_A).mean(-1), goes_on),
        }
        return sum(parts.values(), jnp.zeros(())), parts

    def judged(self, transition: Transition, useful_R: Array | None = None) -> dict[str, Array]:
        """On rows that were not learned from: each error as a share of what a guess without a model errs. Of features
        that they stay as they are, of the reward that it is the mean, of the end and of legal entries how often it is
        so at all. 0 is perfect; 1 and more is no better than the guess."""
        found, _ = self.foreseen(transition)
        counts = jnp.ones(transition.ended.shape, bool) if useful_R is None else useful_R
        goes_on = counts & ~transition.ended
        mean, rate = masked_mean(transition.reward, counts), masked_mean(1.0 * transition.ended, counts)
        moved = ((transition.next_features_F - transition.features_F) ** 2).mean(-1)
        error = ((transition.next_features_F - found.features_F) ** 2).mean(-1)
        rate_A = jnp.where(goes_on[:, None], transition.next_legal_A, 0.0).sum(0) / jnp.maximum(goes_on.sum(), 1)
        shares = {
            "features": (masked_mean(error, goes_on), masked_mean(moved, goes_on)),
            "reward": (
                masked_mean((transition.reward - found.reward) ** 2, counts),
                masked_mean((transition.reward - mean) ** 2, counts),
            ),
            "ended": (
                masked_mean(_surprise(found.ended, transition.ended), counts),
                masked_mean(_surprise(rate, transition.ended), counts),
            ),
            "legal": (
                masked_mean(_surprise(found.legal_A, transition.next_legal_A).mean(-1), goes_on),
                masked_mean(_surprise(rate_A, transition.next_legal_A).mean(-1), goes_on),
            ),
        }
        return {name: error / jnp.maximum(base, LEAST[name]) for name, (error, base) in shares.items()}


def open_gate(judged: dict[str, Array], most: float = 1.0) -> Array:
    """Whether the next state, the reward and the end are all foreseen better than a guess: only then imagine."""
    return jnp.stack([judged[name] < most for name in ("features", "reward", "ended")]).all()


def everybody(transition: Transition, action: ActionSpec) -> Array:
    """What all did as bits, the own first."""
    done_ND = jnp.concatenate([transition.own_D[..., None, :], transition.discrete_OD], axis=-2)
    bits = [jax.nn.one_hot(done_ND[..., d], size) for d, size in enumerate(action.heads)]
    done_NA = jnp.concatenate(bits, axis=-1)
    return done_NA.reshape(*done_NA.shape[:-2], -1)


def _missed(logits: Array, truth: Array) -> Array:
    """Cross-entropy of yes or no."""
    return jax.nn.softplus(logits) - jnp.where(truth, logits, 0.0)


def _surprise(chance: Array, truth: Array) -> Array:
    chance = jnp.clip(chance, 1e-4, 1.0 - 1e-4)
    return -jnp.where(truth, jnp.log(chance), jnp.log1p(-chance))
