import json

import pytest

from sparring.core.errors import ConfigError
from sparring.core.plain import from_plain, to_plain
from sparring.league.stages import Stage, StageState, advanced, parse_stages

TEXTS = ("gun_cone=15 start_offensive=0.5 until cause/gun > 0.5", "gun_cone=8 until length<=120", "gun_cone=3")
STAGES = parse_stages(TEXTS)


def test_a_stage_is_settings_and_a_mark():
    assert STAGES[0] == Stage((("gun_cone", 15.0), ("start_offensive", 0.5)), "cause/gun", ">", 0.5)
    assert STAGES[1] == Stage((("gun_cone", 8.0),), "length", "<=", 120.0)
    assert STAGES[2] == Stage((("gun_cone", 3.0),))


def test_a_stage_may_say_who_plays_and_end_by_the_clock():
    seen, mixed, last = parse_stages(["play=nearest_stag until steps > 200k", "play=chase,flee wind=1 until a > 1", ""])
    assert seen == Stage((), "steps", ">", 200_000.0, ("nearest_stag",))
    assert (mixed.plays, mixed.settings) == (("chase", "flee"), (("wind", 1.0),)) and not last.plays
    clock = parse_stages(["play=stay until steps > 1M", ""])
    assert advanced(StageState(), clock, {"steps": 1e6}).number == 0
    assert advanced(StageState(), clock, {"steps": 1e6 + 1}).number == 1, "the clock is no mean over iterations"


def test_the_last_stage_may_be_the_plain_game():
    assert parse_stages(["wind=0 until rate >= 1e-1", ""])[1] == Stage(())
    assert parse_stages([]) == ()


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (["gun_cone=15", "gun_cone=3"], "Stage 1 of 2 never ends"),
        (["gun_cone=15 until cause/gun > 0.4"], "nothing after it"),
        (["gun_cone until x > 1", ""], "expected name=value"),
        (["=3 until x > 1", ""], "expected name=value"),
        (["gun_cone=wide until x > 1", ""], "found 'wide'"),
        (["gun_cone=nan until x > 1", ""], "found 'nan'"),
        (["a=1 a=2 until x > 1", ""], "sets a twice"),
        (["play=a play=b until x > 1", ""], "sets play twice"),
        (["a=1 until", ""], "Cannot read the mark ''"),
        (["a=1 until x = 1", ""], "Cannot read the mark 'x = 1'"),
        (["a=1 until x > much", ""], "found 'much'"),
    ],
)
def test_a_stage_that_cannot_be_read_is_refused_with_what_to_write(texts, says):
    with pytest.raises(ConfigError, match=says):
        parse_stages(texts)


def run(values, state=None, *, name="cause/gun", patience=3):
    state = state or StageState()
    for value in values:
        state = advanced(state, STAGES, {name: value}, patience=patience)
    return state


def test_a_stage_ends_when_the_mean_over_its_patience_passes_the_mark():
    assert run([0.9, 0.9]).number == 0, "too early"
    assert run([0.5, 0.5, 0.5]).number == 0, "at the mark is not above it"
    assert run([0.1, 0.2, 0.9, 0.5]) == StageState(1), "0.2, 0.9 and 0.5 have the mean 0.533"
    assert run([0.9, 0.1, 0.1, 0.1]).recent == (0.1, 0.1, 0.1)


def test_iterations_without_the_metric_are_passed_over():
    assert run([0.9, None, 0.9, float("nan"), 0.9]) == StageState(1)
    assert run([0.9, 0.9, 0.9], name="other") == StageState()


def test_the_next_stage_waits_for_its_own_metric_with_an_empty_window():
    state = run([0.9] * 10)
    assert state == StageState(1)
    assert run([130, 100, 130], state, name="length") == StageState(2), "a mean of exactly 120 is at most 120"


def test_stages_never_go_back():
    last = StageState(2)
    assert run([0.0] * 10, last) == last
    assert run([0.0] * 10, StageState(1)) == StageState(1)
    assert advanced(StageState(), (), {}) == StageState()


def test_the_usual_patience_is_twenty_iterations():
    state = StageState()
    for _ in range(19):
        state = advanced(state, STAGES, {"cause/gun": 0.9})
    assert state.number == 0
    assert advanced(state, STAGES, {"cause/gun": 0.9}).number == 1


def test_the_state_survives_json():
    state = StageState(1, (0.1, 0.25))
    assert from_plain(StageState, json.loads(json.dumps(to_plain(state)))) == state
