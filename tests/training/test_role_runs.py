"""A league of roles in training: all learners in one program, copies before resets, past players brought back."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

from echo_game import echo
from echo_run import CONFIG, KilledError, S, asking, left_behind
from sparring.core.errors import ConfigError
from sparring.core.plain import from_plain
from sparring.core.seeding import Seed
from sparring.core.settings import to_dict
from sparring.league.config import CurriculumConfig, DefeatsConfig, OpponentsConfig, PoolConfig
from sparring.league.events import Recalled, Reset, Snapshot
from sparring.league.gates import GateConfig
from sparring.league.player import Player, past_self
from sparring.league.population import PopulationConfig
from sparring.league.roles import RolesConfig
from sparring.league.state import LeagueState
from sparring.nets.actor_critic import Actor
from sparring.nets.config import NetConfig
from sparring.players.guests import invite
from sparring.players.named import entrant
from sparring.setup.beginning import first_state
from sparring.setup.build import build
from sparring.setup.config import CheckpointConfig, PlayConfig
from sparring.setup.named_arrays import to_arrays
from sparring.setup.program import live_row, own_family, shadow_row
from sparring.store.checkpoints import load
from sparring.store.packages import PlayerMeta, read_package, write_package
from sparring.store.results import read_results
from sparring.store.run_dir import RunDir
from sparring.training.apply import applied
from sparring.training.opposition import Opposition
from sparring.training.runs import resume, start

LEARNERS, ITERATIONS = 4, 24
PER_ITERATION = 8 * 3 * 3  # blocks x worlds x steps: only the home side learns
LEAGUE = replace(
    CONFIG,
    total_steps=ITERATIONS * PER_ITERATION,
    play=PlayConfig(worlds=24, steps=3, blocks=8),
    ppo=replace(CONFIG.ppo, learning_rate=S(0.03)),  # members that are alike would not be copied
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
        if moment.iteration == 11:
            raise KilledError

    with pytest.raises(KilledError):
        start(LEAGUE, tmp_path / "run", game=echo(), on_iteration=kill)
    again = resume(tmp_path / "run", game=echo())
    assert summary.compilations <= 1 and again.compilations == 0
    assert left_behind(path) == left_behind(tmp_path / "run")
    late = {line["event"] for line in events(path) if line["iteration"] >= 8}
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
    careers = from_plain(LeagueState, saved["opposition"]["leagues"][0]["state"]).careers
    assert replaced <= {place for place, career in enumerate(careers) if career.anew >= last}


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


# As much as possible at once.

MANY = replace(
    LEAGUE,
    opponents=OpponentsConfig(current=S(0.7), shadow=S(0.1), bots=S(0.2), bot_epsilon=S("0.5 -> 0.1")),
    pool=PoolConfig(pool_size=4),
    roles=replace(LEAGUE.roles, main_exploiters=1, league_exploiters=1, reset_share=1.0, reset_to="past_main"),
    curriculum=CurriculumConfig(
        curriculum=True, curriculum_share=S(0.2), level_games=5, climb_rate=0.2, retreat_rate=0.1
    ),
    defeats=DefeatsConfig(defeat_share=0.2, defeat_size=8, defeat_reach=2),
    gates=GateConfig(gate="rate", gate_games=4, gate_rate=0.3),
    seeds=2,
)
"""Roles and a population of mains beside bots that grow up, shadows, a curriculum, second tries and a gate."""
WISHES = {9: {"do": "shares", "shares": {"bots": 0.3}}, 13: {"do": "remove", "name": "past-0-main_1"}}


def with_guest(path: Path, guest: Path, wishes: dict[int, dict], *, killed_after: int = 0) -> Callable:
    """A watcher through which a guest of another kind joins after the fifth iteration, and other wishes come."""
    ask = asking(path, wishes, killed_after=killed_after)

    def watch(moment) -> None:
        if moment.iteration == 5:
            invite(RunDir.open(path), entrant(str(guest), echo()), "elsewhere")
        ask(moment)

    return watch


@pytest.fixture(scope="module")
def guest(tmp_path_factory) -> Path:
    net = NetConfig(hidden=(4,), memory="lstm", memory_size=4)
    meta = PlayerMeta(game="echo", net=to_dict(net), player="learner")
    arrays = to_arrays(Actor.make(Seed.of(9), echo().spec, net))
    return write_package(tmp_path_factory.mktemp("other") / "stranger.safetensors", arrays, meta)


@pytest.fixture(scope="module")
def many(tmp_path_factory, guest):
    path = tmp_path_factory.mktemp("many") / "run"
    start(MANY, path, game=echo(), on_iteration=with_guest(path, guest, WISHES))
    return path


def test_roles_beside_bots_shadows_guests_a_curriculum_defeats_gates_and_people_are_resumed_bit_for_bit(
    many, guest, tmp_path
):
    path = tmp_path / "run"
    with pytest.raises(KilledError):
        start(MANY, path, game=echo(), on_iteration=with_guest(path, guest, WISHES, killed_after=19))
    assert resume(path, game=echo()).compilations == 0
    assert left_behind(path) == left_behind(many)


def test_all_that_was_asked_for_beside_roles_happened(many):
    told = {line["event"] for line in events(many)}
    assert {"snapshot", "reset", "copied", "climbed", "joined", "reseated", "sharesset"} <= told
    assert told & {"leaving", "evicted"} and "refused" not in told
    rows = read_results(many / "results.db", "train")
    assert {"low", "high", "stranger", "main_0.shadow", "past-0-main_0"} <= {row.opponent for row in rows}
    assert {row.weakened for row in rows if row.opponent in ("low", "high")} == {0, 1}  # those of a level are not weak
    assert {row.weakened for row in rows if row.opponent == "stranger"} == {0}
    tries = [line for line in RunDir.open(many).metrics() if line.get("games/second_tries")]
    assert tries
    assert next(line["text"] for line in events(many) if line["event"] == "sharesset").endswith("bots 0.3.")


def test_an_exploiter_that_begins_anew_is_a_past_main(many):
    resets = [line for line in events(many) if line["event"] == "reset"]
    assert resets and all(line["learner"] in (2, 3) for line in resets)
    assert all(line["parent"]["role"] == "main" and line["parent"]["kind"] == "past" for line in resets)
    assert all(line["text"] == f"{line['name']} starts over as {line['parent']['name']}." for line in resets)


@pytest.fixture(scope="module")
def worn():
    """A state in which every weight of learner l and row p differs from its first value."""
    built = build(LEAGUE, game=echo())
    state = first_state(built)
    moved = jax.tree.map(lambda x: x + 1 if x.dtype.kind == "f" else x, (state.learners, state.pool))
    return built, state, state._replace(learners=moved[0], pool=moved[1])


def test_one_who_begins_anew_is_as_at_the_start_and_nobody_else_is_touched(worn):
    built, first, state = worn
    after = applied(state, [(Reset(2, "main_exploiter"),)], Opposition.begin(built), pytest.fail)
    assert after.learners[0].reward is not None and state.learners[0].reward is not None
    np.testing.assert_array_equal(after.learners[0].reward.return_WN, state.learners[0].reward.return_WN)  # games go on
    weights = [tuple(one._replace(reward=None) for one in part.learners) for part in (after, state, first)]
    for now, before, origin in zip(*map(jax.tree.leaves, weights), strict=True):
        np.testing.assert_array_equal(now[0, 2], origin[0, 2])
        np.testing.assert_array_equal(np.delete(now, 2, axis=1), np.delete(before, 2, axis=1))


def test_one_who_begins_anew_as_a_past_main_has_its_policy_and_the_critic_and_optimiser_of_the_beginning(worn):
    built, first, state = worn
    past = past_self(1, Player("learner", 0, "main_0", 0, role="main"), born=9, alone=False)
    file = jax.tree.map(lambda x: np.asarray(x)[0, 0] + 9, first.pool)
    read = []

    def from_file(seed, player):
        read.append((seed, player))
        return file

    after = applied(state, [(Reset(2, "main_exploiter", past),)], Opposition.begin(built), from_file)
    assert read == [(0, past)]
    one, origin = (jax.tree.map(lambda x: np.asarray(x)[0, 2], part.learners[0]) for part in (after, first))
    for stack in (one.model.actor, one.shadow):
        for now, wanted in zip(*map(jax.tree.leaves, (stack, file)), strict=True):
            np.testing.assert_array_equal(now, wanted)
    parts = [(own.model.critic, own.optimiser, own.updates) for own in (one, origin)]
    for now, wanted in zip(*map(jax.tree.leaves, parts), strict=True):
        np.testing.assert_array_equal(now, wanted)
    others = [jax.tree.map(lambda x: np.delete(x, 2, axis=1), part.learners[0].model) for part in (after, state)]
    for now, wanted in zip(*map(jax.tree.leaves, others), strict=True):
        np.testing.assert_array_equal(now, wanted)


def test_one_who_begins_anew_remembers_nothing_of_its_games_and_all_others_do(worn):
    built, _, state = worn
    memory = jax.tree.map(lambda x: x + 1, state.cursor.memory)
    state = state._replace(cursor=state.cursor._replace(memory=memory))
    after = applied(state, [(Reset(2, "main_exploiter"),)], Opposition.begin(built), pytest.fail)
    (learning,) = built.plan.seating.learning
    for group, (now, before) in enumerate(zip(after.cursor.memory, memory, strict=True)):
        for x, y in zip(*map(jax.tree.leaves, (now, before)), strict=True):
            if group == learning:
                assert x.size and not np.asarray(x)[0, 2].any()
                x, y = (np.delete(part, 2, axis=1) for part in (x, y))
            np.testing.assert_array_equal(x, y)


def test_a_snapshot_copies_its_own_learner_and_a_recall_what_the_file_held(worn):
    built, first, state = worn
    shifted = jax.tree.map(lambda x: x.at[0, 3].add(5) if x.dtype.kind == "f" else x, state.learners[0])
    state = state._replace(learners=(shifted,))
    player = past_self(7, Player("learner", 3, "league_exploiter", 3), born=9, alone=False)
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
    one = jax.tree.map(lambda x: np.asarray(x)[0], state)
    marked = jax.tree.map(lambda x: x * 0 + np.arange(LEARNERS).reshape(-1, *[1] * (x.ndim - 1)), one.learners[0])
    shadows = jax.tree.map(lambda x: x + 100, marked.shadow)
    pool = jax.tree.map(lambda x: x * 0 + 50 + np.arange(3).reshape(-1, *[1] * (x.ndim - 1)), one.pool)
    rows = np.array([live_row(2), shadow_row(1), 2, live_row(0), shadow_row(3), 0])
    found = jax.jit(own_family, static_argnums=0)(built.plan, (marked._replace(shadow=shadows),), pool, rows)
    for leaf in map(np.asarray, jax.tree.leaves(found)):
        if leaf.dtype.kind == "f" and leaf.size:
            np.testing.assert_array_equal(leaf.reshape(6, -1)[:, 0], [2, 101, 52, 0, 103, 50])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"opponents": OpponentsConfig(history=S(0.5))}, "how often the past is met"),
        ({"opponents": OpponentsConfig(history_floor=0.1)}, "how often the past is met"),
        (
            {"ppo": replace(CONFIG.ppo, imitation=S(0.1)), "defeats": DefeatsConfig(defeat_share=0.1)},
            "roles never play there",
        ),
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
