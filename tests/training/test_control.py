"""What people ask of a run while it trains: it happens, it cuts no game, and a run that goes back repeats it."""

import json
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

from echo_game import echo
from echo_run import BLOCKS, CONFIG, WORLDS, KilledError, asking, events, left_behind, nothing_happened
from sparring.core.errors import ConfigError, RunError
from sparring.core.schedules import Schedule
from sparring.league.config import OpponentsConfig, PoolConfig
from sparring.players.guests import as_saved
from sparring.setup.beginning import first_state
from sparring.setup.build import Built, build
from sparring.setup.line_up import Layout
from sparring.setup.reseat import carried, layout_now, reseated, wide
from sparring.store.checkpoints import load
from sparring.store.commands import drop, folder, is_training, obeyed_from, taken, waiting
from sparring.store.run_dir import RunDir
from sparring.training.control import Control, check_removal, check_shares, has_room, set_shares, together
from sparring.training.opposition import Opposition
from sparring.training.runs import restored, resume, start

HISTORY = {"do": "shares", "shares": {"current": 0.25, "history": 0.6, "shadow": 0.0}}
CROWD = {"do": "shares", "shares": {"current": 0.75}}


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    """A run that was never stopped: other shares within the room there is, then more than there is room for."""
    path = tmp_path_factory.mktemp("runs") / "whole"
    summary = start(CONFIG, path, game=echo(), on_iteration=asking(path, {2: HISTORY, 5: CROWD}))
    assert summary.finished and summary.compilations <= 2
    return path


def test_a_command_is_obeyed_once_and_told(whole):
    told = events(whole, "sharesset", "reseated")
    # A watcher sees iteration 2 while the third is under way, so the fourth is the first that can obey.
    assert [(line["event"], line["iteration"]) for line in told] == [
        ("sharesset", 3),
        ("sharesset", 6),
        ("reseated", 6),
    ]
    assert told[0]["shares"] == pytest.approx({"current": 0.25, "shadow": 0.0, "history": 0.6, "bots": 0.15})
    assert told[1]["shares"] == pytest.approx({"current": 0.75, "shadow": 0.0, "history": 0.2, "bots": 0.05})
    assert waiting(RunDir.open(whole)) == []


# Checkpoints follow 4 and 8: the first lies between the commands, the second is in the wider seating.
@pytest.mark.parametrize("killed_after", [7, 9])
def test_a_killed_run_repeats_the_commands_of_the_past_that_lies_ahead(whole, tmp_path, killed_after):
    path = tmp_path / "whole"
    with pytest.raises(KilledError):
        start(CONFIG, path, game=echo(), on_iteration=asking(path, {2: HISTORY, 5: CROWD}, killed_after=killed_after))
    resume(path, game=echo())
    assert left_behind(path) == left_behind(whole)


def test_a_new_command_waits_until_the_past_is_over(tmp_path):
    path = tmp_path / "run"
    with pytest.raises(KilledError):
        start(CONFIG, path, game=echo(), on_iteration=asking(path, {2: HISTORY}, killed_after=4))
    drop(RunDir.open(path), {"do": "shares", "shares": {"current": 0.25, "shadow": 0.5}})
    assert not is_training(RunDir.open(path))
    resume(path, game=echo())
    assert [line["iteration"] for line in events(path, "sharesset")] == [3, 4]


def test_what_cannot_be_obeyed_is_told_and_the_run_goes_on(tmp_path):
    path = tmp_path / "run"
    bad = [
        ({"do": "shares", "shares": {"histroy": 0.5}}, "Did you mean 'history'"),
        ({"do": "shares", "shares": {"current": 0.9, "bots": 0.9}}, "sum to 1"),
        ({"do": "shares", "shares": {"bots": "many"}}, "a number in"),
        ({"do": "shares", "shares": {"bots": 10**400}}, "a number in"),
        ({"do": "shares"}, "Name a share"),
        ({"do": "dance"}, "Unknown wish 'dance'"),
        ({"do": "remove", "name": "past-77"}, "Unknown member of the pool 'past-77'"),
        ({"do": "add", "name": "nobody"}, "No player"),
    ]

    def watch(moment) -> None:
        if moment.iteration == 1:
            for wish, _ in bad:
                drop(RunDir.open(path), wish)
            (folder(RunDir.open(path)) / "000099.json").write_bytes(b"\x80not json")

    assert start(CONFIG, path, game=echo(), on_iteration=watch).finished
    told = events(path, "refused")
    assert [line["command"] for line in told] == [*range(1, 9), 99]
    for line, (_, reason) in zip(told, [*bad, ({}, "not a JSON object")], strict=True):
        assert reason in line["text"]
    assert len(obeyed_from(RunDir.open(path), 0)[2]) == 9 and waiting(RunDir.open(path)) == []


def test_a_run_without_opponents_refuses_commands(tmp_path):
    run = RunDir.create(tmp_path / "run")
    ppo = replace(CONFIG.ppo, shadow_half_life=Schedule.parse(0.0))
    plain = Opposition.begin(
        build(replace(CONFIG, opponents=OpponentsConfig(), pool=PoolConfig(), ppo=ppo, seeds=2), game=echo())
    )
    drop(run, HISTORY)
    told = together(Control.of(run, 0).obey(plain, 0), plain.assign(0)[1])
    assert ["meet nobody but each other" in event.sentence() for own in told for event in own] == [True, True]


def test_numbers_of_commands_are_never_given_twice(tmp_path):
    run = RunDir.create(tmp_path / "run")
    assert [drop(run, {"do": str(k)}) for k in range(2)] == [1, 2]
    assert taken(run, 1, 7).wish == {"do": "0"} and waiting(run) == [2]
    taken(run, 2, 9)
    assert drop(run, {"do": "third"}) == 3
    (folder(run) / ".tmp-000004").touch()  # somebody else is about to leave the fourth
    assert drop(run, {"do": "last"}) == 5
    assert {i: [c.number for c in commands] for i, commands in obeyed_from(run, 9).items()} == {9: [2]}
    assert json.loads((folder(run) / "done" / "000007-000001.json").read_text()) == {"do": "0"}


def test_a_lock_that_is_held_means_that_the_run_trains(tmp_path):
    run = RunDir.create(tmp_path / "run")
    assert not is_training(run)
    with run.writing():
        assert is_training(run)
    assert not is_training(run)


@pytest.mark.parametrize(
    ("share", "enough"), [(0.2, False), (0.25, True), (0.4, True), (0.5, True), (0.6, False), (1.0, False)]
)
def test_the_current_self_has_room_between_blocks_that_must_and_blocks_that_can(share, enough):
    layout = Layout((True, True, False, False), (False, True, True, True))
    assert has_room(layout, share) == enough
    assert has_room(wide(4), share)


def built_in_play() -> tuple[Built, Opposition]:
    built = build(CONFIG, game=echo())
    return built, Opposition.begin(built)


def numbered(built: Built):
    """A state in which every number is another, so that what moves shows."""
    leaves, structure = jax.tree.flatten(first_state(built))
    count = iter(range(10**7))
    return structure.unflatten([np.asarray([next(count) for _ in range(x.size)]).reshape(x.shape) for x in leaves])


def test_a_wider_seating_moves_every_memory_with_its_lane_and_cuts_no_game():
    uneven = Layout((False, False, True, True), (True, True, False, True))  # no lane keeps its place
    built = reseated(build(CONFIG, game=echo()), uneven, ())
    state, wider = numbered(built), reseated(built, wide(BLOCKS), ())
    after = carried(built, wider, jax.tree.map(np.asarray, state))
    assert layout_now(wider.plan.seating) == wide(BLOCKS)
    assert (wider.steps_per_iteration, wider.iterations) == (built.steps_per_iteration, built.iterations)
    for x, y in zip(
        jax.tree.leaves((state.cursor._replace(memory=()), state.pool, state.learners[0].model)),
        jax.tree.leaves((after.cursor._replace(memory=()), after.pool, after.learners[0].model)),
        strict=True,
    ):
        np.testing.assert_array_equal(x, y)

    def by_lane(built: Built, state) -> dict:
        """What each lane of each group holds, and the learner's returns so far."""
        found = {}
        for group, memory in zip(built.plan.seating.groups, state.cursor.memory, strict=True):
            parts = [*jax.tree.leaves(memory), *([state.learners[0].reward.return_WN] if group.learns else [])]
            for p, row in enumerate(group.lanes):
                for x, lane in enumerate(row):
                    worlds = slice(x * WORLDS, (x + 1) * WORLDS)
                    found[group.family, group.slot, lane] = [np.asarray(part[:, p, worlds]) for part in parts]
        return found

    before, now = by_lane(built, state), by_lane(wider, after)
    assert before.keys() < now.keys()
    for key, parts in now.items():
        for place, part in enumerate(parts):
            np.testing.assert_array_equal(part, before[key][place] if key in before else np.zeros_like(part))


def test_shares_by_hand_are_met_in_the_wider_seating():
    _, opposition = built_in_play()
    opposition.assign(0)
    set_shares(opposition, {"current": 0.75}, 1)
    assert opposition.leagues[0].shares_at(0.0)[0] == 0.75  # the first branch is the current self
    opposition.observe(0, nothing_happened(opposition.built))
    mirrored = []
    for iteration in range(1, 61):
        orders, _ = opposition.assign(iteration)
        mirrored.append(np.asarray(orders.pairing.family_2X)[0, 1] == 0)
        opposition.observe(iteration, nothing_happened(opposition.built))
    assert np.mean(mirrored[6:]) == pytest.approx(0.75, abs=0.02)  # three of four; before, one


def test_shares_that_are_only_checked_change_nothing():
    (league,) = built_in_play()[1].leagues
    check_shares(league, {"bots": 0.7}, 0.0)
    assert league.shares_at(0.0).tolist() == [0.25] * 4


def test_a_checkpoint_is_opened_in_the_seating_it_was_saved_in(whole):
    run = RunDir.open(whole)
    checkpoint, built = load(run.checkpoints_path), build(CONFIG, game=echo())
    with pytest.raises(RunError, match="Use the same game and network settings"):
        restored(built, checkpoint)
    wider, _ = as_saved(built, run, checkpoint.meta["opposition"])
    assert layout_now(wider.plan.seating) == wide(BLOCKS)
    assert restored(wider, checkpoint).cursor.memory


def test_the_last_member_that_can_be_drawn_is_not_removed_where_no_shadow_steps_in():
    """One that is leaving still plays, but is drawn no more: it is nobody to fall back on."""
    ppo = replace(CONFIG.ppo, shadow_half_life=Schedule.parse(0.0))
    opponents = OpponentsConfig(current=Schedule.parse(0.0), history=Schedule.parse(1.0))
    opposition = Opposition.begin(build(replace(CONFIG, opponents=opponents, ppo=ppo), game=echo()))
    opposition.assign(0)
    (league,) = opposition.leagues
    (first,) = league.state.pool.players
    with pytest.raises(ConfigError, match="is the last member"):
        check_removal(league, first.name)
    league.add("stranger", 0, 0)
    check_removal(league, first.name)
    assert "when its games have ended" in str(league.remove(first))
    with pytest.raises(ConfigError, match="stranger is the last member"):
        check_removal(league, "stranger")
