"""The learners of `mind_cost` as they are often written: a Python loop over agents, at every step of play and at every
minibatch. Each piece is compiled and has all worlds side by side; only what the library puts into one program is apart.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from sparring.core.records import Action
from sparring.learn.batch import to_rows
from sparring.learn.config import knobs_of
from sparring.learn.epochs import Progress, minibatch, shuffled, with_estimate
from sparring.learn.estimate import estimate
from sparring.learn.ppo import cut_of
from sparring.nets.minds import telling
from sparring.opponent_models.study import studied
from sparring.play.chance import action_noise
from sparring.play.decide import decide, judge, look
from sparring.play.rollout import Driver, where_first
from sparring.play.seating import Group, Seating
from sparring.play.starts import fresh_starts
from sparring.play.turns import Happened, to_rollout, turn
from sparring.play.witness import afterwards, attended, blank_mind, kept_of, said, watched, witnessed
from sparring.recipes.defaults import default_config
from sparring.setup.beginning import first_state
from sparring.setup.build import build
from sparring.setup.rows import taken


class Loop:
    """Call it for one iteration of play and learning."""

    def __init__(self, settings: dict[str, Any], worlds: int) -> None:
        self.built = build(default_config("stag_hunt", share="seat", worlds=worlds, eval_games=0, **settings))
        plan, game, spec = self.built.plan, self.built.game, self.built.game.spec
        self.plan, self.game, self.agents, self.worlds = plan, game, range(spec.seats), worlds
        self.groups = [Group(f"agent_{i}", (((0, i),),), learns=True) for i in self.agents]
        self.seating = Seating(spec, plan.seating.seats_of_side, 1, worlds, tuple(self.groups))
        stacks = first_state(self.built).learners[0]
        self.learners = [taken(stacks, 0, i) for i in self.agents]
        self.minds = [
            jax.jit(lambda learner, group=group: blank_mind(self.seating, group, self.driver(learner)))(learner)
            for group, learner in zip(self.groups, self.learners, strict=True)
        ]
        self.state, self.start_BW = fresh_starts(game, jax.random.key(0), worlds), jnp.ones((1, worlds), bool)
        self.iteration, self.ppo = 0, plan.ppo
        self.compile()

    def driver(self, learner: Any) -> Driver:
        one = jax.tree.map(lambda x: x[None], learner)
        return Driver(one.model.actor, one.model.judge, one.player)

    def compile(self) -> None:
        seating, groups, game, ppo, mind = self.seating, self.groups, self.game, self.ppo, self.plan.mind
        drive = self.driver
        self.look = jax.jit(lambda state, learner: look(game, seating, [drive(learner)], state))
        self.watch = jax.jit(lambda cursor, sight: watched(game, cursor, sight, seating))
        self.attend = [jax.jit(lambda lr, *x, g=g: attended(seating, g, drive(lr), *x)) for g in groups]
        self.choose = [jax.jit(lambda lr, s, m, n, g=g: decide(seating, g, drive(lr), s, m, n)) for g in groups]
        self.judge = [jax.jit(lambda lr, s, g=g: judge(seating, g, drive(lr), s, ())[0]) for g in groups]
        self.to_seats = jax.jit(lambda parts: Action(*(seating.to_seats(x) for x in zip(*parts, strict=True))))
        self.step = jax.jit(lambda state, action: jax.vmap(game.step)(state, action, ()))
        self.after = jax.jit(lambda seen, *x: afterwards(seen, game, *x))
        self.witness = [jax.jit(lambda lr, *x, g=g: witnessed(seating, g, drive(lr), *x)) for g in groups]
        self.turn = [
            jax.jit(lambda lr, d, v, h, th, g=g: turn(seating, g, drive(lr), d, v, None, h, th)) for g in groups
        ]
        self.restart = jax.jit(lambda ended, new, old: where_first(ended, new, old))
        self.rollout = [jax.jit(lambda turns, g=g: alone(turns, seating.sides_of(g))) for g in groups]

        def prepared(rollout: Any, key: Any, knobs: Any) -> Any:
            cut, found = cut_of(rollout, ppo), estimate(rollout, key, knobs, ppo)
            rows = to_rows(rollout._replace(others=None), cut)
            return rows, found, shuffled(key, ppo.epochs, rows, ppo)

        self.prepare = jax.jit(lambda rollout, key, knobs_H: prepared(rollout, key, knobs_of(knobs_H)))
        self.estimated = jax.jit(lambda lr, rows, found, rollout: with_estimate(lr, rows, cut_of(rollout, ppo), found))
        self.minibatch = jax.jit(lambda p, r, f, o, knobs_H, key: minibatch(p, r, f, (o,), knobs_of(knobs_H), ppo, key))
        self.study = jax.jit(lambda lr, rollout, key: studied(lr, rollout, key, mind))
        self.noise = jax.jit(partial(action_noise, seating, steps=self.plan.steps))
        self.fresh = jax.jit(lambda key: fresh_starts(game, key, self.worlds))

    def __call__(self) -> Any:
        key = jax.random.fold_in(jax.random.key(1), self.iteration)
        knobs_H, ids = self.built.knobs(self.iteration)[0][0], tuple(lr.player[None] for lr in self.learners)
        rollouts = self.play(key, self.noise(key, ids))
        for i in self.agents:
            own, rollout = jax.random.fold_in(key, i), rollouts[i]
            rows, found, order_EIM = self.prepare(rollout, own, knobs_H)
            progress = Progress(self.learners[i], jnp.zeros((), bool), jnp.zeros((), jnp.int32), order_EIM[0, 0])
            for order_IM in order_EIM:
                ready = self.estimated(progress.learner, rows, found, rollout)
                for order_M in order_IM:
                    progress, _ = self.minibatch(progress, ready, found, order_M, knobs_H, own)
            self.learners[i] = progress.learner
            if self.plan.mind.on:
                self.learners[i], _ = self.study(self.learners[i], rollout, own)
        self.iteration += 1
        return jax.block_until_ready(self.learners)

    def play(self, key: Any, noise: Any) -> list[Any]:
        turns: list[list[Any]] = [[] for _ in self.agents]
        for t in range(self.plan.steps):
            sight = self.look(self.state, self.learners[0])
            seen, thoughts = None, [None] * len(self.learners)
            if self.plan.mind.on:
                seen = self.watch(Standing(self.state, self.start_BW), sight)
                thoughts = [self.attend[i](self.learners[i], seen, sight, self.minds[i]) for i in self.agents]
            memory = [telling((), said(thought)) for thought in thoughts]
            numbers = [tuple(x[t] for x in noise[i]) for i in self.agents]
            decisions = [self.choose[i](self.learners[i], sight, memory[i], numbers[i]) for i in self.agents]
            values = [self.judge[i](self.learners[i], sight) for i in self.agents]
            action = self.to_seats([decision.action for decision in decisions])
            state, step = self.step(self.state, jax.tree.map(lambda x: x[0], action))
            step = jax.tree.map(lambda x: x[None], step)
            if seen is not None:
                seen = self.after(seen, action, self.state, jax.tree.map(lambda x: x[0], action), state)
                for i in self.agents:
                    self.minds[i] = self.witness[i](self.learners[i], seen, action, step.reward_S, thoughts[i])
            later = [jnp.zeros_like(value) for value in values]
            if t == self.plan.steps - 1:
                later = [self.judge[i](self.learners[i], self.look(state, self.learners[0])) for i in self.agents]
            well = jnp.zeros((1, self.worlds), bool)
            happened = Happened(
                self.start_BW, sight, step, None, well, well, others=None if seen is None else seen.others
            )
            for i in self.agents:
                given = (decisions[i], (values[i], later[i]), happened, kept_of(thoughts[i]))
                turns[i].append(self.turn[i](self.learners[i], *given))
            ended_BW = step.over | step.cut
            fresh = self.fresh(jax.random.fold_in(key, t))
            self.state, self.start_BW = self.restart(ended_BW[0], fresh, state), ended_BW
        return [self.rollout[i](tuple(turns[i])) for i in self.agents]


class Standing(NamedTuple):
    """As much of a cursor as is watched."""

    state: Any
    start_BW: Any


def alone(turns: tuple[Any, ...], side_PWK: Any) -> Any:
    """The rollout of one learner from its turns."""
    stacked = jax.tree.map(lambda *x: jnp.stack(x), *turns)
    return jax.tree.map(lambda x: x[:, 0], to_rollout(stacked, ((), ()), side_PWK))
