"""Bots in the learners' place for a while: who plays, that learners wait, and that their minds do not."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.errors import ConfigError
from sparring.opponent_models.config import MindConfig
from sparring.setup.beginning import first_state
from sparring.setup.build import build
from sparring.setup.config import SeatsConfig
from sparring.setup.program import LEARNED, compile_program
from sparring.training.record import metric_lines

STAGES = ("play=nearest_hare until steps > 100", "")


@pytest.fixture
def hunt(tiny):
    seats, mind = SeatsConfig(share="seat"), MindConfig(mind="belief", mind_buffer=64, mind_batch=8, mind_updates=1)
    return replace(tiny, game="stag_hunt", seats=seats, mind=mind, stages=STAGES)


def test_a_bot_sits_where_its_side_is(tiny):
    built = build(replace(tiny, game="particles:tag", stages=("play=chase,flee until steps > 100", "")))
    names = [side for group in built.lineup.learners for side in group]
    rows = {name: int(rule[0, 0]) for name, rule in zip(names, built.rule_in(0), strict=True)}
    assert rows == {"predator": 0, "prey": 1}
    assert all((rule == LEARNED).all() for rule in built.rule_in(1))
    assert build(tiny).rule_in(0) is None


@pytest.mark.parametrize(
    ("game", "stages", "says"),
    [
        ("stag_hunt", ("play=nearest_har until steps > 9", ""), "Did you mean 'nearest_hare'"),
        ("particles:tag", ("play=chase until steps > 9", ""), "chase cannot drive side 1.*play=chase,flee"),
        ("stag_hunt", ("play=stay,stay until steps > 9", ""), "one for each of 4 sides"),
        ("stag_hunt", ("play=stay",), "the learners would learn nothing.*'play=stay until steps > 200k' ''"),
    ],
)
def test_bots_that_cannot_play_there_are_refused(tiny, game, stages, says):
    with pytest.raises(ConfigError, match=says):
        build(replace(tiny, game=game, stages=stages))


def test_while_a_bot_plays_the_learner_waits_and_its_mind_learns(hunt):
    built = build(hunt)
    program, state, knobs = compile_program(built.plan), first_state(built), built.knobs(0)
    seeds_R = np.asarray(built.seeds_R)

    def parts(state):
        (learners,) = state.learners
        actor = learners.model.actor
        own = (actor.trunk, actor.head, learners.model.critic, learners.optimiser)
        return [[np.array(x) for x in jax.tree.leaves(part)] for part in (own, actor.mind)]

    def moved(before, after):
        return [any((a != b).any() for a, b in zip(*pair, strict=True)) for pair in zip(before, after, strict=True)]

    def played(state, stage):
        orders = built.standing._replace(rule=built.rule_in(stage))
        before = parts(state)
        state, report = program(built.game_of(stage), state, built.rosters, orders, knobs, seeds_R, jnp.asarray(stage))
        (line,) = metric_lines(built, stage, report, ())
        return state, moved(before, parts(state)), line

    state, changes, line = played(state, 0)
    assert changes == [False, True]
    assert line["hunter_3/waits"] == 1 and line["hunter_3/entropy"] is None and line["hunter_3/mind/rows"] > 0
    _, changes, line = played(state, 1)
    assert changes == [True, True]
    assert line["hunter_3/waits"] == 0 and line["hunter_3/first_ratio_gap"] < 1e-5
    assert program._cache_size() == 1, "who plays is no reason to compile again"
