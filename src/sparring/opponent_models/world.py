"""What comes next: an ensemble that learned it, or the game itself behind the same face.

One step, from what a seat sees and what everybody does to what it sees then, what it is paid, whether that was its last
step, and what is legal. Members differ in how they began and in which rows they learn from: where they disagree nobody
knows. Whether they are good enough to be believed is decided on rows that they have not seen (`open_gate`). The game as
its own model is the upper bound of what any other could give. Letters: R rows, F features, A legal entries, D heads of
an action, O the other seats, E members.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array

from sparring.core.records import Action
from sparring.core.seeding import Seed
from sparring.core.spec import ActionSpec
from sparring.games.game import Chance, Game, State
from sparring.learn.losses import masked_mean
from sparring.nets.blocks import Dense

KEPT = 0.8
"""Share of the rows that each member learns from."""


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
    def make(cls, seed: Seed, features: int, others: int, action: ActionSpec, size: int) -> "Member":
        inputs = features + (others + 1) * action.entries
        small = 0.01
        return cls(
            Dense.make(seed / "first", inputs, size), Dense.make(seed / "second", size, size),
            Dense.make(seed / "change", size, features, small), Dense.make(seed / "pays", size, 1, small),
            Dense.make(seed / "ends", size, 1, small), Dense.make(seed / "allows", size, action.entries, small),
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
    def make(cls, seed: Seed, features: int, others: int, action: ActionSpec, members: int, size: int) -> "Worlds":
        made = [Member.make(seed / number, features, others, action, size) for number in range(members)]
        return cls(jax.tree.map(lambda *x: jnp.stack(x), *made), action)

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

    def judged(self, transition: Transition) -> dict[str, Array]:
        """On rows that were not learned from: each error as a share of what a guess without a model errs. Of features
        that they stay as they are, of the reward that it is the mean, of the end and of legal entries how often it is
        so at all. 0 is perfect; 1 and more is no better than the guess."""
        found, _ = self.foreseen(transition)
        goes_on = ~transition.ended
        moved = ((transition.next_features_F - transition.features_F) ** 2).mean(-1)
        error = ((transition.next_features_F - found.features_F) ** 2).mean(-1)
        rate_A = jnp.where(goes_on[:, None], transition.next_legal_A, 0.0).sum(0) / jnp.maximum(goes_on.sum(), 1)
        shares = {
            "features": (masked_mean(error, goes_on), masked_mean(moved, goes_on)),
            "reward": (((transition.reward - found.reward) ** 2).mean(), transition.reward.var()),
            "ended": (
                _surprise(found.ended, transition.ended).mean(),
                _surprise(transition.ended.mean(), transition.ended).mean(),
            ),
            "legal": (
                masked_mean(_surprise(found.legal_A, transition.next_legal_A).mean(-1), goes_on),
                masked_mean(_surprise(rate_A, transition.next_legal_A).mean(-1), goes_on),
            ),
        }
        # Where nothing varies there is nothing to foresee: whoever errs by no more than rounding is as good.
        return {name: error / jnp.maximum(base, 1e-4) for name, (error, base) in shares.items()}


def open_gate(judged: dict[str, Array], most: float = 1.0) -> Array:
    """Whether the next state, the reward and the end are all foreseen better than a guess: only then imagine."""
    return jnp.stack([judged[name] < most for name in ("features", "reward", "ended")]).all()


def everybody(transition: Transition, action: ActionSpec) -> Array:
    """What all did as bits, the own first."""
    done_ND = jnp.concatenate([transition.own_D[..., None, :], transition.discrete_OD], axis=-2)
    bits = [jax.nn.one_hot(done_ND[..., d], size) for d, size in enumerate(action.heads)]
    done_NA = jnp.concatenate(bits, axis=-1)
    return done_NA.reshape(*done_NA.shape[:-2], -1)


class Oracle(NamedTuple):
    """The game as a model of itself: it needs the state, and what chance will bring."""

    game: Game

    def foreseen(self, state: State, action: Action, chance: Chance) -> tuple[State, Foreseen]:
        """The state after, and what every seat will see of it, leaves [S, ...]."""
        after, step = self.game.step(state, action, chance)
        seen = self.game.observe(after)
        ended_S = step.left_S | step.over
        return after, Foreseen(seen.features_SF, step.reward_S, 1.0 * ended_S, 1.0 * seen.legal_SA)


def _missed(logits: Array, truth: Array) -> Array:
    """Cross-entropy of yes or no."""
    return jax.nn.softplus(logits) - jnp.where(truth, logits, 0.0)


def _surprise(chance: Array, truth: Array) -> Array:
    chance = jnp.clip(chance, 1e-4, 1.0 - 1e-4)
    return -jnp.where(truth, jnp.log(chance), jnp.log1p(-chance))
