"""Goals that no game lists, as a mind uses them: codes of what pieces of play end in (`segments`), or a guess of the
state to come that matters most (`omg`).

Both have one face. In play what is `noticed` is remembered from step to step, `aims` says what the others may be after
as a game's goals would, and `reached` what they got. In study `lived` is a rollout with aims and what else rows need of
it, `taught` are rows as goals are understood by now, with the losses of what finds them, and `settled` is what each
gradient step leaves. Codes look at what the others see and earn, so they may know more than their seat sees; a guess
rests on what the learner itself sees.
"""

from typing import Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array, lax

from sparring.core.seeding import Seed
from sparring.opponent_models import omg
from sparring.opponent_models.config import MindConfig
from sparring.opponent_models.omg import Passage, Subgoals
from sparring.opponent_models.sample import Sample, aims
from sparring.opponent_models.segments import Codes, Learned, ending_of, endings, pieces
from sparring.opponent_models.spatial import recent
from sparring.play.rollout import Rollout
from sparring.play.witness import Situation, Witnessed

GOAL = 8
"""Numbers of a code and of a subgoal."""
HINDSIGHT = 0.5
"""Share of subgoals that are those of hindsight in the beginning (OMG, its table 1)."""
KL = 1e-2
"""Weight of the distance of a guess to the goal of hindsight."""


class Coded(eqx.Module):
    """A few codes: each of the others is after the one that its piece of play will end in, which it does where it is
    paid."""

    codes: Codes
    kind: Learned = eqx.field(static=True)

    @classmethod
    def make(cls, seed: Seed, features: int, config: MindConfig) -> "Coded":
        kind = cast(Learned, config.mind_goals)
        ending = features + 2 * (kind == "combined")
        return cls(Codes.make(seed, ending, config.mind_codes, GOAL, config.mind_size), kind)

    def blank(self, batch: tuple[int, ...], others: int, features: int) -> Array:
        return jnp.zeros((*batch, others, features + 1))

    def noticed(self, situation: Situation, held_NOX: Array) -> Array:
        """What each of the others saw in its piece of play so far, summed up, and in how many steps."""
        seen_NOF = situation.seen
        now_NOX = jnp.concatenate([seen_NOF, jnp.ones_like(seen_NOF[..., :1])], axis=-1)
        return jnp.where(situation.start[..., None, None], now_NOX, held_NOX + now_NOX)

    def aims(self, seen: Any, held: Any = None) -> Any:
        del held
        everywhere = (*seen.acting.shape, len(self.codes.codes_CZ))
        about = jnp.broadcast_to(lax.stop_gradient(self.codes.codes_CZ), (*everywhere, GOAL))
        found = seen._replace(open=jnp.ones(everywhere, bool), steps=jnp.zeros(everywhere), about=about)
        return aims(found, listed=True)

    def reached(self, seen: Witnessed, situation: Situation, held_NOX: Array) -> tuple[Array, Array]:
        """In which code a piece ended, and what is remembered after it."""
        paid_NO = seen.paid
        mean_NOF = held_NOX[..., :-1] / jnp.maximum(held_NOX[..., -1:], 1.0)
        ending_NOX = ending_of(self.kind, situation.seen, mean_NOF, held_NOX[..., -1], paid_NO)
        return self.at_pay(ending_NOX, paid_NO), jnp.where(paid_NO[..., None] != 0, 0.0, held_NOX)

    def at_pay(self, ending_X: Array, paid: Array) -> Array:
        label = self.codes.label(ending_X)[..., None]
        return (label == jnp.arange(len(self.codes.codes_CZ))) & (paid != 0)[..., None]

    def lived(self, rollout: Rollout) -> tuple[Rollout, dict[str, Any]]:
        """Pieces that began before the rollout are as long as it shows them."""
        others: Any = rollout.others
        start_TWNO = jnp.broadcast_to(rollout.start_TW[..., None, None], others.acting.shape)
        ended_TWNO = jnp.concatenate([start_TWNO[1:], jnp.zeros_like(start_TWNO[:1])])
        piece = pieces(others.paid, start_TWNO, ended_TWNO)
        ending_TWNOX = endings(others.seen, others.paid, piece, self.kind)
        aimed = self.aims(others._replace(reached=self.at_pay(ending_TWNOX, others.paid)))
        return rollout._replace(others=aimed), {"ending_OX": ending_TWNOX}

    def kept(self, rows: int, others: int) -> dict[str, Any]:
        return {"ending_OX": jnp.zeros((rows, others, self.codes.encoder.weight_IO.shape[-2]))}

    def known(self, sample: Sample) -> Array:
        """known_RO: rows whose piece ended in a code."""
        return (sample.label_O >= 0) & (sample.label_O < len(self.codes.codes_CZ))

    def taught(self, sample: Sample, key: Array, updates: Array) -> tuple[Sample, dict[str, Array]]:
        """Codes move while they are learned, so labels that were kept are found anew."""
        del key, updates
        ending_ROX, known_RO = sample.ending_OX, self.known(sample)
        about = jnp.pad(lax.stop_gradient(self.codes.codes_CZ), [(0, 1), (0, 1)]).at[-1, -1].set(1.0)
        label_RO = jnp.where(known_RO, self.codes.label(ending_ROX), sample.label_O)
        loss, _ = self.codes.loss(_rows(ending_ROX), known_RO.reshape(-1))
        found = sample._replace(label_O=label_RO, about_OGZ=jnp.broadcast_to(about, sample.about_OGZ.shape))
        return found, {"codes": loss / ending_ROX.shape[-1]}

    def settled(self, sample: Sample, key: Array) -> "Coded":
        known_R = self.known(sample).reshape(-1)
        return Coded(self.codes.revived(_rows(sample.ending_OX), jax.random.fold_in(key, 1), known_R), self.kind)

    def measures(self) -> dict[str, Array]:
        """As how many codes that are as often the one those in use count."""
        share_C = self.codes.used_C / self.codes.used_C.sum()
        return {"codes": jnp.exp(-(share_C * jnp.log(jnp.maximum(share_C, 1e-9))).sum())}


class Guessed(eqx.Module):
    """A subgoal: one state to come stands for what all the others together are after."""

    subgoals: Subgoals
    features: int = eqx.field(static=True)
    config: MindConfig = eqx.field(static=True)

    @classmethod
    def make(cls, seed: Seed, features: int, config: MindConfig) -> "Guessed":
        return cls(Subgoals.make(seed, features, config.mind_recall, GOAL, config.mind_size), features, config)

    def blank(self, batch: tuple[int, ...], others: int, features: int) -> Array:
        del others
        return jnp.zeros((*batch, self.config.mind_recall, features))

    def noticed(self, situation: Situation, held_NKF: Array) -> Array:
        return later(held_NKF, situation.features, situation.start)

    def aims(self, seen: Any, held_NKF: Any = None) -> Any:
        """The guess is all that there is to be after."""
        return self.told(aims(seen, listed=False), self.subgoals.guessed(held_NKF).mean_Z)

    def told(self, seen: Any, goal_NZ: Array) -> Any:
        return seen._replace(about=_as_about(goal_NZ, seen.acting.shape))

    def reached(self, seen: Witnessed, situation: Situation, held_NKF: Array) -> tuple[Array, Array]:
        del seen
        return jnp.zeros((*situation.acting.shape, 0), bool), held_NKF

    def lived(self, rollout: Rollout) -> tuple[Rollout, dict[str, Any]]:
        features, config = rollout.features_TWNF, self.config
        start_TWN = jnp.broadcast_to(rollout.start_TW[..., None], rollout.present_TWN.shape)
        history = recent(features, start_TWN, config.mind_recall)
        states = omg.following(features, start_TWN, config.mind_ahead)
        passage = Passage(history, *states, earned(rollout.reward_TWN, start_TWN))
        return rollout._replace(others=self.aims(rollout.others, history)), {"passage": passage}

    def kept(self, rows: int, others: int) -> dict[str, Any]:
        del others
        features, past, ahead = self.features, self.config.mind_recall, self.config.mind_ahead
        states = jnp.zeros((rows, past, features)), jnp.zeros((rows, ahead, features))
        return {"passage": Passage(*states, jnp.zeros((rows, ahead), bool), jnp.zeros(rows))}

    def taught(self, sample: Sample, key: Array, updates: Array) -> tuple[Sample, dict[str, Array]]:
        """Models learn from the goal of hindsight in a share of the rows that falls to none, from the guess in the
        others."""
        passage, config = sample.passage, self.config
        assert isinstance(passage, Passage)
        spread = jnp.maximum(passage.return_.std(), 1e-6)  # only which state is worth most matters, not how much
        passage = passage._replace(return_=(passage.return_ - passage.return_.mean()) / spread)
        epsilon, best = omg.annealed(updates, HINDSIGHT, config.mind_anneal), config.mind_chooses == "optimistic"
        keys = jax.random.split(jax.random.fold_in(key, 1))
        loss, _ = self.subgoals.loss(passage, keys[0], epsilon, optimistic=best, kl=KL)
        target, _ = self.subgoals.chosen(passage, optimistic=best)
        guess_RZ = self.subgoals.guessed(passage.history_KF).mean_Z
        goal_RZ = lax.stop_gradient(omg.mixed(guess_RZ, target.mean_Z, keys[1], epsilon))
        about = _as_about(goal_RZ, sample.acting_O.shape)
        return sample._replace(about_OGZ=about), {"subgoal": loss / passage.history_KF.shape[-1]}

    def settled(self, sample: Sample, key: Array) -> "Guessed":
        del sample, key
        return self

    def measures(self) -> dict[str, Array]:
        return {}


def finder_of(seed: Seed, features: int, config: MindConfig) -> Coded | Guessed | None:
    """What finds the goals of a mind; None where the game lists them, or there are to be none."""
    if config.mind_goals in ("listed", "none"):
        return None
    return (Guessed if config.mind_goals == "subgoal" else Coded).make(seed, features, config)


def later(track_NK: Array, now_N: Array, start_N: Array) -> Array:
    """The last steps with the present one; where a game begins it stands for all of them. What is tracked may have more
    axes after K."""
    axis = start_N.ndim
    now_N1 = jnp.expand_dims(now_N, axis)
    moved_NK = jnp.concatenate([lax.slice_in_dim(track_NK, 1, None, axis=axis), now_N1], axis=axis)
    return jnp.where(start_N.reshape(*start_N.shape, *[1] * (track_NK.ndim - axis)), now_N1, moved_NK)


def earned(reward_T: Array, start_T: Array) -> Array:
    """From each step to the end of its game, or of the rollout."""

    def before(later: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
        reward, start = step
        total = reward + later
        return jnp.where(start, 0.0, total), total

    return lax.scan(before, jnp.zeros_like(reward_T[0]), (reward_T, start_T), reverse=True)[1]


def _as_about(goal_NZ: Array, shape_NO: tuple[int, ...]) -> Array:
    """about_NO1Z of the one aim that all of the others share."""
    told_NZ = jnp.concatenate([goal_NZ, jnp.ones_like(goal_NZ[..., :1])], axis=-1)
    return jnp.broadcast_to(told_NZ[..., None, None, :], (*shape_NO, 1, told_NZ.shape[-1]))


def _rows(x_ROX: Array) -> Array:
    return x_ROX.reshape(-1, x_ROX.shape[-1])
