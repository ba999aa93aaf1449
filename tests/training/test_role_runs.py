"""A league of roles in training: all learners in one program, copies before resets, past players brought back."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from echo_game import echo
from echo_run import CONFIG, KilledError, left_behind
from sparring.core.errors import ConfigError
from sparring.core.schedules import Schedule
from sparring.league.config import OpponentsConfig, PoolConfig
from sparring.league.events import Recalled, Reset, Snapshot
from sparring.league.player import RIVAL, Player, past_rival
from sparring.league.population import PopulationConfig
from sparring.league.roles import RolesConfig
from sparring.store.checkpoints import load
from sparring.store.packages import read_package
from sparring.store.results import read_results
from sparring.store.run_dir import RunDir
from sparring.training.apply import applied
from sparring.training.beginning import first_state
from sparring.training.build import build
from sparring.training.config import CheckpointConfig, PlayConfig
from sparring.training.opposition import Opposition
from sparring.training.program import live_row, own_family, shadow_row
from sparring.training.runs import resume, start
from sparring.training.snapshot import to_arrays

LEARNERS, ITERATIONS = 4, 24
PER_ITERATION = 8 * 3 * 3  # blocks x worlds x steps: only the home side learns
LEAGUE = replace(
    CONFIG,
    total_steps=ITERATIONS * PER_ITERATION,
    play=PlayConfig(worlds=24, steps=3, blocks=8),
    opponents=OpponentsConfig(),
    pool=PoolConfig(pool_size=3),
    roles=RolesConfig(mains=2, main_exploiters=1, league_exploiters=1, role_steps=PER_ITERATION),
    population=PopulationConfig(
        population=2, pbt_every=PER_ITERATION // 2, pbt_share=0.5, pbt_sure=False, pbt_games=32
    ),
    checkpoint=CheckpointConfig(checkpoint_every=8),
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that never stopped; copies are due every four iterations, so exploiters begin anew. The two mains are a
    population, compared twice as often."""
    path = tmp_path_factory.mktemp("league") / "run"
    summary = start(LEAGUE, path, game=echo())
    return path, summary


def events(path) -> list[dict]:
    return [line for line in RunDir.open(path).metrics() if line["kind"] == "event"]


def test_a_league_that_was_killed_and_resumed_equals_one_that_never_stopped(whole, tmp_path):
    path, summary = whole

    def kill(moment) -> None:
        if moment.iteration == 19:
            raise KilledError

    with pytest.raises(KilledError):
        start(LEAGUE, tmp_path / "run", game=echo(), on_iteration=kill)
    again = resume(tmp_path / "run", game=echo())
    assert summary.compilations <= 1 and again.compilations == 0
    assert left_behind(path) == left_behind(tmp_path / "run")
    late = {line["event"] for line in events(path) if line["iteration"] >= 16}
    assert {"snapshot", "reset", "ranked", "copied"} <= late  # they happened again after the interruption


def test_a_main_that_copied_another_takes_over_its_factors_and_exploiters_copy_nobody(whole):
    path, _ = whole
    copies = [line for line in events(path) if line["event"] == "copied"]
    assert copies and {line["member"] for line in copies} | {line["parent"] for line in copies} == {0, 1}
    assert all(line["before"] != line["after"] for line in copies)
    saved = load(RunDir.open(path).checkpoints_path).meta
    assert len(saved["population"]["factors"][0]) == 2
    last = max(line["iteration"] for line in copies)
    replaced = {line["member"] for line in copies if line["iteration"] == last}
    assert replaced <= {place for place, when in enumerate(saved["opposition"]["leagues"][0]["anew"]) if when >= last}


def test_the_copy_of_a_learner_that_begins_anew_holds_what_it_had_learned(whole):
    path, _ = whole
    untrained = jax.tree.map(lambda x: np.asarray(x)[0, 2], first_state(build(LEAGUE, game=echo())).learners[0])
    reset = [line["iteration"] for line in events(path) if line["event"] == "reset" and line["learner"] == 2]
    copies = [
        line["player"]["name"]
        for line in events(path)
        if line["event"] == "snapshot" and line["learner"] == 2 and line["iteration"] in reset
    ]
    assert copies
    for name in copies:
        arrays, meta = read_package(path / "players" / f"{name}.safetensors")
        first = to_arrays(untrained.model.actor)
        assert any(not np.array_equal(array, first[key]) for key, array in arrays.items())
        assert meta.player == name


def test_results_are_written_under_the_learner_that_earned_them(whole):
    rows = read_results(whole[0] / "results.db", "train")
    assert {row.player for row in rows} == {"main_0", "main_1", "main_exploiter", "league_exploiter"}
    met = {row.opponent for row in rows if row.player == "main_exploiter"}
    assert met & {"main_0", "main_1"} and all(name.endswith(("main_0", "main_1")) for name in met)


@pytest.fixture(scope="module")
def worn():
    """A state in which every weight of learner l and row p differs from its first value."""
    built = build(LEAGUE, game=echo())
    state = first_state(built)
    moved = jax.tree.map(lambda x: x + 1 if x.dtype.kind == "f" else x, (state.learners, state.pool))
    return built, state, state._replace(learners=moved[0], pool=moved[1])


def test_one_who_begins_anew_is_as_at_the_start_and_nobody_else_is_touched(worn):
    built, first, state = worn
    after = applied(state, [(Reset(2, "main_exploiter"),)], Opposition.begin(built))
    assert after.learners[0].reward is not None and state.learners[0].reward is not None
    np.testing.assert_array_equal(after.learners[0].reward.return_WN, state.learners[0].reward.return_WN)  # games go on
    weights = [tuple(one._replace(reward=None) for one in part.learners) for part in (after, state, first)]
    for now, before, origin in zip(*map(jax.tree.leaves, weights), strict=True):
        np.testing.assert_array_equal(now[0, 2], origin[0, 2])
        np.testing.assert_array_equal(np.delete(now, 2, axis=1), np.delete(before, 2, axis=1))


def test_a_snapshot_copies_its_own_learner_and_a_recall_what_the_file_held(worn):
    built, first, state = worn
    shifted = jax.tree.map(lambda x: x.at[0, 3].add(5) if x.dtype.kind == "f" else x, state.learners[0])
    state = state._replace(learners=(shifted,))
    player = past_rival(7, Player(id=RIVAL + 3, name="league_exploiter", kind="rival"), born=9)
    file = jax.tree.map(lambda x: np.asarray(x)[0, 0] + 9, first.pool)
    done = (Snapshot(player, 1, learner=3), Recalled(player, 2))
    after = applied(state, [done], Opposition.begin(built), lambda *_: file)
    for pool, actor, before, read in zip(
        *map(jax.tree.leaves, (after.pool, shifted.model.actor, state.pool, file)), strict=True
    ):
        np.testing.assert_array_equal(pool[0, 1], actor[0, 3])
        np.testing.assert_array_equal(pool[0, 2], read)
        np.testing.assert_array_equal(pool[0, 0], before[0, 0])


def test_rows_name_the_pool_the_shadows_and_the_learners_as_they_are_now(worn):
    built, _, state = worn
    one = jax.tree.map(lambda x: x[0], state)
    marked = jax.tree.map(lambda x: x * 0 + np.arange(LEARNERS).reshape(-1, *[1] * (x.ndim - 1)), one.learners[0])
    shadows = jax.tree.map(lambda x: x + 100, marked.shadow)
    pool = jax.tree.map(lambda x: x * 0 + 50 + np.arange(3).reshape(-1, *[1] * (x.ndim - 1)), one.pool)
    rows = np.array([live_row(2), shadow_row(1), 2, live_row(0), shadow_row(3), 0])
    found = own_family(built.plan, (marked._replace(shadow=shadows),), pool, jax.numpy.asarray(rows))
    for leaf in jax.tree.leaves(found):
        if leaf.dtype.kind == "f" and leaf.size:
            np.testing.assert_array_equal(leaf.reshape(6, -1)[:, 0], [2, 101, 52, 0, 103, 50])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"opponents": OpponentsConfig(bots=Schedule.parse(0.5))}, "Roles say who meets whom"),
        ({"pool": PoolConfig(pool_size=0)}, "pool_size=0"),
        ({"roles": RolesConfig(league_exploiters=1)}, "mains=0"),
        ({"roles": RolesConfig(mains=3, main_exploiters=1)}, "mains=3 and population=2"),
        ({"roles": RolesConfig(oracles=1)}, "copy nobody"),
        ({"opponents": OpponentsConfig(sampler="nash")}, "sampler=nash would do nothing"),
        ({"pool": PoolConfig(pool_size=3, snapshot_every=7)}, "snapshot_every=7 would do nothing"),
        ({"play": PlayConfig(worlds=24, steps=3, blocks=6)}, "an even number for each of 4 learners"),
    ],
)
def test_leagues_that_cannot_be_are_refused(change, sentence):
    with pytest.raises(ConfigError, match=sentence):
        build(replace(LEAGUE, **change), game=echo())
