"""Another seating in the middle of a run: no game is cut, and everybody keeps the memory of the game they play."""

from dataclasses import replace
from functools import partial
from typing import Any

import jax
from jax import Array

from sparring.play.seating import Group, Lane, Seating
from sparring.setup.beginning import first_state
from sparring.setup.build import Built
from sparring.setup.line_up import Layout, changing_line_up
from sparring.setup.program import TrainState


def layout_now(seating: Seating) -> Layout:
    """Which blocks of a learner can do what in a seating whose players change; all learners' are alike."""
    own = range(seating.blocks // sum(seating.groups[i].players for i in seating.learning))
    driven = seating.groups[0].lanes[0]
    return Layout(
        tuple(sum(lane[0] == block for lane in driven) > 1 for block in own),
        tuple(block in seating.changing for block in own),
    )


def wide(blocks: int) -> Layout:
    """Every block can do both, so that any shares can be met."""
    return Layout((True,) * blocks, (True,) * blocks)


def reseated(built: Built, layout: Layout, guests: tuple[str, ...]) -> Built:
    """The same run in another seating. A step goes on being counted as at the start, or the run would end elsewhere."""
    lineup = changing_line_up(built.game.spec, built.config, layout, guests)
    if lineup.seating == built.plan.seating:
        return built
    plan = replace(built.plan, seating=lineup.seating)
    return replace(built, lineup=lineup, plan=plan, counted_steps=built.steps_per_iteration)


def carried(before: Built, after: Built, state: TrainState) -> TrainState:
    """The state as the new seating lays it out. Lanes that are new begin blank: they are used from a restart on."""
    old, new = before.plan.seating, after.plan.seating
    blank = first_state(after)
    memory = tuple(
        jax.tree.map(partial(laid_out, old, new, group), part, *kept_of(old, group, state))
        for group, part in zip(new.groups, blank.cursor.memory, strict=True)
    )
    learner = state.learners[0]
    if learner.reward is not None:
        assert blank.learners[0].reward is not None
        blanks = blank.learners[0].reward.return_WN
        returns = laid_out(old, new, new.groups[0], blanks, learner.reward.return_WN)
        learner = learner._replace(reward=learner.reward._replace(return_WN=returns))
    return state._replace(learners=(learner,), cursor=state.cursor._replace(memory=memory))


def kept_of(old: Seating, group: Group, state: TrainState) -> tuple[Any, ...]:
    """The memory of a group's players as it was, where they were seated before."""
    return tuple(
        memory
        for known, memory in zip(old.groups, state.cursor.memory, strict=True)
        if (known.family, known.slot, known.learns) == (group.family, group.slot, group.learns)
    )


def laid_out(old: Seating, new: Seating, group: Group, blank: Array, kept: Array | None = None) -> Array:
    """An array [R, P, X*W, ...] of a group with what its lanes held before, in their new places."""
    if kept is None:
        return blank
    known = next(g for g in old.groups if (g.family, g.slot, g.learns) == (group.family, group.slot, group.learns))
    places = places_of(known)
    for lane, (p, x) in places_of(group).items():
        if lane in places:
            q, y = places[lane]
            span, before = (slice(k * new.worlds, (k + 1) * new.worlds) for k in (x, y))
            blank = blank.at[:, p, span].set(kept[:, q, before])
    return blank


def places_of(group: Group) -> dict[Lane, tuple[int, int]]:
    return {lane: (p, x) for p, row in enumerate(group.lanes) for x, lane in enumerate(row)}
