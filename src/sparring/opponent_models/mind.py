"""A mind: what a learner believes of the others at each step, and what it tells its policy of that.

Before a choice it asks, for every goal that one of the others may be after, what somebody after it would do; the belief
weighs the answers. Afterwards what was done moves the belief, by the same answers: each model is asked once a step.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array, lax

from sparring.core.seeding import Seed
from sparring.core.spec import ActionSpec, GameSpec
from sparring.games.game import Game
from sparring.nets.actor_critic import Actor
from sparring.nets.minds import Fusion, Mind
from sparring.opponent_models.actions import ActionModel, log_likelihood, near
from sparring.opponent_models.beliefs import (
    Beliefs,
    Reader,
    after,
    alike_within,
    among,
    anticipated,
    kinds_of,
    leaning,
    of_kind,
    remembered,
    with_aimless,
)
from sparring.opponent_models.config import MindConfig
from sparring.opponent_models.learned import GOAL, Coded, Guessed, finder_of, later
from sparring.opponent_models.replies import ReplyModel
from sparring.opponent_models.sample import Sample, aims, replies_in, rows_of
from sparring.opponent_models.spatial import Pointer, Track
from sparring.opponent_models.view import View
from sparring.opponent_models.world import Worlds
from sparring.play.rollout import Rollout
from sparring.play.witness import Situation, Thought, Witnessed

LEAST = 1e-30
"""Probabilities are at least this before their logarithm is taken."""


class Pending(NamedTuple):
    """What a mind needs after a step of what it thought before it."""

    beliefs: Beliefs
    log_p_NOGA: Array
    """What somebody after each goal would do."""
    situation: Situation


class BeliefMind(Mind):
    reader: Reader | None
    """What tells how likely each goal is by what it looks like now; None: by what was done alone."""
    pointer: Pointer | None
    """What infers goals in place of Bayes' rule; None: nothing."""
    finder: Coded | Guessed | None
    """What finds goals that the game does not list; None: nothing."""
    actions: Any
    """An ActionModel; of each other seat one, stacked, where they are apart."""
    replies: ReplyModel | None
    """What the others do next, given what everybody does now; None: nothing foresees that."""
    action: ActionSpec = eqx.field(static=True)
    kinds: tuple[int, ...] = eqx.field(static=True)
    """The kind of each goal."""
    about: int = eqx.field(static=True)
    """Z."""
    others: int = eqx.field(static=True)
    features: int = eqx.field(static=True)
    said: int = eqx.field(static=True)
    """M: how many numbers the policy is told."""
    in_turn: bool = eqx.field(static=True)
    """Who does not act only waits: it is still there, and after what it was after."""
    config: MindConfig = eqx.field(static=True)
    world: Worlds | None = None
    """What comes next; None where that is not learned."""

    @classmethod
    def make(cls, seed: Seed, spec: GameSpec, about: int, config: MindConfig) -> "BeliefMind":
        """`about`: Z, how many numbers tell one aim from another."""
        others, kinds = spec.seats - 1, kinds_of(goal_names(spec, config))

        def model(own: Seed, count: int) -> ActionModel:
            return ActionModel.make(
                own, spec.features, count, about, spec.action, config.mind_size, sees=config.mind_features
            )

        apart = config.mind_models == "apart"
        models = [model(seed / "actions" / number, 1) for number in range(others)] if apart else []
        return cls(
            reader=Reader.make(seed / "reader", about, config.mind_size)
            if len(kinds) > 1 and config.mind == "belief" and config.mind_prior == "learned"
            else None,
            pointer=Pointer.make(seed / "pointer", about, config.mind_recall, config.mind_size)
            if config.mind == "spatial"
            else None,
            finder=finder_of(seed / "goals", spec.features, config),
            actions=jax.tree.map(lambda *x: jnp.stack(x), *models) if apart else model(seed / "actions", others),
            replies=ReplyModel.make(seed / "replies", spec.features, others, spec.action, config.mind_size)
            if config.mind_replies
            else None,
            action=spec.action,
            kinds=kinds,
            about=about,
            others=others,
            features=spec.features,
            said=others * told_size(config, len(kinds), about, spec.action.entries),
            in_turn=spec.in_turn,
            config=config,
            world=world_of(seed / "world", view_of(spec.action, spec.features, others, kinds, about), config)
            if config.learns_world
            else None,
        )

    def initial(self, *batch: int) -> Beliefs:
        shape, goals = (*batch, self.others), len(self.kinds)
        counts = jnp.zeros((*shape, max(self.kinds) + 1))
        track = jnp.zeros((*batch, self.recall, self.others, goals, self.about)) if self.recall else ()
        found = self.finder.blank(batch, self.others, self.features) if self.finder is not None else ()
        return Beliefs(jnp.zeros((*shape, goals)), jnp.zeros(shape, bool), counts, jnp.zeros(shape, bool), track, found)

    def with_world(self, world: Worlds | None) -> "BeliefMind":
        if self.world is None and world is None:
            return self
        return eqx.tree_at(lambda mind: mind.world, self, world, is_leaf=lambda node: node is None)

    def view(self, features: int) -> View:
        """What it knows in a moment, where a seat sees so many features."""
        return view_of(self.action, features, self.others, self.kinds, self.about)

    @property
    def recall(self) -> int:
        """Steps that are remembered of what goals looked like."""
        return 0 if self.pointer is None else self.config.mind_recall

    def attend(self, situation: Situation, beliefs: Beliefs) -> tuple[Thought, Pending]:
        """What is believed and expected before all choose; leaves [W, N, ...]."""
        if self.finder is None:
            situation = aims(situation, listed=self.listed)
        else:
            beliefs = beliefs._replace(found=self.finder.noticed(situation, beliefs.found))
            situation = self.finder.aims(situation, beliefs.found)
        if self.config.mind_discount:
            beliefs = with_aimless(beliefs, situation.start, self.kinds, self.config.mind_discount)
        open_NOG, lean_NOK = situation.open, leaning(beliefs.count_NOK)
        if self.pointer is None:
            begun_NOG = self.begun(situation, lean_NOK)
            held_NOG, lost_NO = anticipated(beliefs, begun_NOG, situation, self.config.mind_switch)
            beliefs = beliefs._replace(log_b_NOG=held_NOG)
            log_b_NOG = self.read(situation, lean_NOK, held_NOG)
        else:
            track_NKOGZ = later(beliefs.track_NKOGZ, situation.about, situation.start)
            beliefs = beliefs._replace(track_NKOGZ=track_NKOGZ)
            log_b_NOG, lost_NO = self.pointer(track_NKOGZ, open_NOG), jnp.zeros_like(beliefs.known_NO)
            beliefs = beliefs._replace(log_b_NOG=log_b_NOG)
        log_p_NOGA, evaluated_NOG, passed_NOG = self.asked(situation)
        log_p_NOA = jnp.log(jnp.maximum(expected(jnp.exp(log_b_NOG), jnp.exp(log_p_NOGA)), LEAST))
        said_NM = self.tell(situation, log_b_NOG, log_p_NOA)
        present_NOG = open_NOG & situation.acting[..., None]
        thought = Thought(
            said_NM, log_b_NOG, log_p_NOA, evaluated_NOG & present_NOG, passed_NOG, lost_NO | beliefs.impossible_NO,
            lean_NOK, beliefs.log_b_NOG if self.reader is not None else (),
        )  # fmt: skip
        return thought, Pending(beliefs, log_p_NOGA, situation)

    def witness(self, seen: Witnessed, pending: Pending) -> Beliefs:
        """What is held after the step."""
        beliefs, situation = pending.beliefs, pending.situation
        likely_NOG = log_likelihood(self.action, pending.log_p_NOGA, seen.discrete[..., None, :])
        log_b_NOG, impossible_NO = after(beliefs.log_b_NOG, likely_NOG, situation.acting, situation.open)
        reached_NO, count_NOK, found = jnp.zeros_like(situation.acting), beliefs.count_NOK, beliefs.found
        reached_NOG = seen.reached
        if self.finder is not None:
            reached_NOG, found = self.finder.reached(seen, situation, found)
        if self.named:
            reached_NO = reached_NOG.any(-1)
            if self.config.mind_discount:
                count_NOK = remembered(count_NOK, reached_NOG, self.kinds[:-1], self.config.mind_discount)
        if self.pointer is not None:
            impossible_NO = jnp.zeros_like(impossible_NO)
        there_NO = situation.acting
        if self.in_turn:
            there_NO = there_NO | (beliefs.known_NO & ~situation.start[..., None])
        return Beliefs(log_b_NOG, there_NO & ~reached_NO, count_NOK, impossible_NO, beliefs.track_NKOGZ, found)

    @property
    def listed(self) -> bool:
        return self.config.mind_goals == "listed"

    @property
    def named(self) -> bool:
        """Whether there is more than one thing to be after."""
        return len(self.kinds) > 1

    @property
    def looks_over(self) -> bool:
        return isinstance(self.finder, Coded)

    def lived(self, rollout: Rollout) -> tuple[Rollout, Sample]:
        """A rollout in which the others come with their aims, and its rows."""
        if self.finder is None:
            rollout, more = rollout._replace(others=aims(rollout.others, listed=self.listed)), {}
        else:
            rollout, more = self.finder.lived(rollout)
        if self.reader is not None:
            more["held_OG"] = rollout.thought.held_NOG
        if self.replies is not None:
            more["replies"] = replies_in(rollout, self.action)
        return rollout, rows_of(rollout, self.action, self.recall, **more)

    def begun(self, situation: Situation, lean_NOK: Array) -> Array:
        """What is believed before anything is done: all open goals alike where more is read off them, else as HOP."""
        if self.reader is not None:
            return among(jnp.zeros(situation.open.shape), situation.open)
        return alike_within(lean_NOK, situation.open, self.kinds)

    def read(self, situation: Situation, lean_NOK: Array, held_NOG: Array) -> Array:
        """log_b_NOG, from what is held by what was done."""
        if self.reader is None:
            return held_NOG
        lean_NOG = of_kind(lean_NOK, self.kinds)
        return self.reader(situation.about, situation.steps, lean_NOG, situation.open, held_NOG)

    def at_first(self, situation: Situation, lean_NOK: Array) -> Array:
        """log_b_NOG before anything was done."""
        return self.read(situation, lean_NOK, self.begun(situation, lean_NOK))

    def asked(self, situation: Situation) -> tuple[Array, Array, Array]:
        """log_p_NOGA, for which goals a model was asked, and for which near ones there was no room."""
        seen, every = (situation.features, situation.about, situation.legal), jnp.ones_like(situation.open)
        if not self.config.mind_gate:
            return self.answers(*seen), every, ~every
        wanted_NOG = situation.open & situation.acting[..., None] & (situation.steps <= self.config.mind_gate)
        found = near(wanted_NOG, -int(-self.config.mind_room * wanted_NOG.size // 1))
        return self.actions.of_some(*seen, found), found.evaluated, found.passed

    def answers(self, features_NF: Array, about_NOGZ: Array, legal_NOA: Array) -> Array:
        """log_p_NOGA: what each of the others would do, were it after each of these goals."""
        if self.config.mind_models == "shared":
            return self.actions(features_NF, about_NOGZ, legal_NOA)
        one = jax.vmap(
            lambda model, about, legal: model(features_NF, about[..., None, :, :], legal[..., None, :])[..., 0, :, :],
            in_axes=(0, -3, -2), out_axes=-3,
        )  # fmt: skip
        return one(self.actions, about_NOGZ, legal_NOA)

    def tell(self, situation: Situation, log_b_NOG: Array, log_p_NOA: Array) -> Array:
        """said_NM: of each other that is still there how likely each goal is, what they look like on average, and what
        it will do."""
        parts, tells, here_NO1 = [], self.config.mind_tells, (situation.acting | self.in_turn)[..., None]
        if tells in ("both", "goals") and self.config.mind_goals != "none":
            b_NOG = jnp.exp(log_b_NOG)
            parts += [b_NOG, expected(b_NOG, situation.about)]
        if tells in ("both", "actions"):
            parts.append(jnp.exp(log_p_NOA))
        if not parts:
            return jnp.zeros((*situation.start.shape, 0))
        said_NM = jnp.where(here_NO1, jnp.concatenate(parts, axis=-1), 0.0).reshape(*situation.start.shape, -1)
        if self.config.mind_control == "shuffled":
            return jnp.roll(said_NM, 1, axis=0)
        return jnp.zeros_like(said_NM) if self.config.mind_control == "zero" else said_NM

    def loss(self, sample: Sample, key: Array, updates: Array) -> tuple[Array, dict[str, Array]]:
        """Of rows, [R, ...]: of all models together, and of each by name; after so many gradient steps."""
        sought = {}
        if self.finder is not None:
            sample, sought = self.finder.taught(sample, key, updates)
        if self.config.mind_models == "apart":
            parts = jax.vmap(lambda model, o: model.loss(of_other(sample, o))[0])(self.actions, jnp.arange(self.others))
            losses = {"actions": parts.mean()}
        else:
            losses = self.actions.loss(sample)[1]
        if self.reader is not None:
            losses["reader"] = self.reader.loss(sample, self.kinds)
        if self.pointer is not None:
            losses["spatial"] = self.pointer.loss(Track(sample.track_KOGZ, sample.open_OG, sample.label_O))[0]
        losses |= sought
        if self.replies is not None:
            losses["replies"] = self.replies.loss(sample)
        return sum(losses.values(), jnp.zeros(())), losses

    def settled(self, sample: Sample, key: Array) -> "BeliefMind":
        """What a gradient step on these rows leaves."""
        return self if self.finder is None else replace(self, finder=self.finder.settled(sample, key))


def view_of(action: ActionSpec, features: int, others: int, kinds: tuple[int, ...], about: int) -> View:
    """Where no goals are listed there is nothing to tell them by: a subgoal is guessed from features alone."""
    goals = len(kinds) - 1
    return View(action, features, others, goals, about - 1 if goals else 0)


def world_of(seed: Seed, view: View, config: MindConfig) -> Worlds:
    return Worlds.make(
        seed, view.numbers, view.others, view.action, config.imagine_members, config.imagine_size, view.flags
    )


def expected(b_OG: Array, x_OGZ: Array) -> Array:
    """The mean of something over a belief. As a product of matrices: on a CPU that takes a sixth of the time of a sum
    over a middle axis. In full precision, or a GPU would round it to ten bits."""
    return jnp.einsum("...g,...gz->...z", b_OG, x_OGZ, precision=lax.Precision.HIGHEST)


def of_other(sample: Sample, other: Array) -> Sample:
    """The rows as far as a model of actions needs them of one of the others."""
    whole = ("features_F", "useful", "track_KOGZ", "ending_OX", "passage", "replies", "held_OG")
    return sample._replace(
        **{name: jnp.take(x, other[None], axis=1) for name, x in sample._asdict().items() if name not in whole}
    )


def told_size(config: MindConfig, goals: int, about: int, entries: int) -> int:
    """Numbers that are told of each other."""
    tells = config.mind_tells
    of_goals = (goals + about) * (tells in ("both", "goals") and config.mind_goals != "none")
    return of_goals + entries * (tells in ("both", "actions"))


def about_size(game: Game, config: MindConfig) -> int:
    """Z: the numbers by which the game tells goals apart, and one for being after none."""
    if config.mind_goals == "none":
        return 1
    if config.mind_goals != "listed":
        return 1 + GOAL
    return 1 + jax.eval_shape(lambda key: game.goals(game.start(key)), jax.random.key(0)).about_SGZ.shape[-1]


def goal_names(spec: GameSpec, config: MindConfig) -> tuple[str, ...]:
    """What they may be after, those of one name being of one kind."""
    if config.mind_goals in ("none", "subgoal"):
        return ()
    return spec.goals if config.mind_goals == "listed" else tuple(f"code_{c}" for c in range(config.mind_codes))


def watched_size(game: Game, config: MindConfig) -> int:
    """Numbers that a rollout keeps of what one seat saw of the others in a step, and thought of it."""
    spec, about = game.spec, about_size(game, config)
    goals = 1 + max(len(spec.goals), len(goal_names(spec, config)))
    told = told_size(config, goals, about, spec.action.entries)
    views = 2 * spec.features + 2 if config.mind_goals not in ("listed", "none") else 0
    return (spec.seats - 1) * (goals * (about + 6) + 2 * spec.action.entries + told + 8 + views)


def mind_in(learner: Any) -> BeliefMind:
    mind = learner.model.actor.mind
    assert isinstance(mind, BeliefMind)
    return mind


def with_mind(actor: Actor, seed: Seed, game: Game, config: MindConfig) -> Actor:
    """An actor with a mind, if it is to have one. What the mind says starts without a part in what is done."""
    if not config.on:
        return actor
    mind = BeliefMind.make(seed / "mind", game.spec, about_size(game, config), config)
    fusion = None
    if mind.said:
        fusion = Fusion.make(seed / "fusion", mind.said, actor.trunk.width, config.mind_fusion, config.mind_size)
    return Actor(actor.trunk, actor.head, actor.log_std_C, actor.action, actor.hyper, mind, fusion)
