"""Sides that are not alike: each has learners, bots and a past of its own, and meets those of the other."""

from dataclasses import replace

import pytest

from echo_run import KilledError, asking, events, left_behind
from sparring.core.errors import ConfigError
from sparring.core.schedules import Schedule
from sparring.league.config import CurriculumConfig, DefeatsConfig, OpponentsConfig, PoolConfig
from sparring.league.copying import newest_met
from sparring.league.gates import GateConfig
from sparring.league.population import PopulationConfig
from sparring.league.roles import RolesConfig
from sparring.learn.config import PPOConfig
from sparring.nets.config import NetConfig
from sparring.players.guests import invited
from sparring.players.named import entrant
from sparring.setup.build import build
from sparring.setup.config import CheckpointConfig, EvalConfig, PlayConfig, RunConfig
from sparring.store.packages import read_package
from sparring.store.results import read_results
from sparring.store.run_dir import RunDir
from sparring.training.opposition import Opposition
from sparring.training.runs import resume, start

S = Schedule.parse
ITERATIONS, PER_ITERATION = 40, (3 + 1) * 2 * 2 * 5  # seats at home x blocks x worlds x steps
TAG = RunConfig(
    game="particles:tag",
    total_steps=ITERATIONS * PER_ITERATION,
    play=PlayConfig(worlds=8, steps=5, blocks=4),
    net=NetConfig(hidden=(8,)),
    ppo=PPOConfig(epochs=1, minibatches=1, shadow_half_life=S(5.0)),
    opponents=OpponentsConfig(current=S(0.2), shadow=S(0.3), history=S(0.3), bots=S(0.2)),
    pool=PoolConfig(pool_size=3, snapshot_every=PER_ITERATION // 2),
    evaluation=EvalConfig(eval_games=0),
    checkpoint=CheckpointConfig(checkpoint_every=3),
)


@pytest.fixture(scope="module")
def tag(tmp_path_factory):
    path = tmp_path_factory.mktemp("tag") / "run"
    return path, start(TAG, path)


def test_unlike_sides_have_players_and_pools_of_their_own(tag):
    path, _ = tag
    rows = read_results(path / "results.db", "train")
    met = {name: {row.opponent for row in rows if row.player == name} for name in ("predator", "prey")}
    assert {row.player: row.side for row in rows} == {"predator": 0, "prey": 1}
    for name, other, bot in (("predator", "prey", "flee"), ("prey", "predator", "chase")):
        past = met[name] - {other, f"{other}.shadow", bot}
        assert len(met[name]) == len(past) + 3  # the present, the shadow and the bot of the other side were met
        assert past and all(one.startswith("past-") and one.endswith(f"-{other}") for one in past)


def test_a_copy_is_of_the_side_it_is_named_after_and_drives_that_side_alone(tag):
    path, _ = tag
    files = {file.stem: read_package(file)[1] for file in (path / "players").glob("past-*")}
    assert {name.split("-")[-1] for name in files} == {"predator", "prey"}
    game = build(TAG).game
    for name, meta in files.items():
        side = ("predator", "prey").index(name.split("-")[-1])
        assert meta.sides == (side,) == entrant(f"{path}:{name}", game).sides


def test_a_run_of_unlike_sides_that_was_killed_and_resumed_equals_one_that_never_stopped(tag, tmp_path):
    def kill(moment) -> None:
        if moment.iteration == 5:
            raise KilledError

    with pytest.raises(KilledError):
        start(TAG, tmp_path / "run", on_iteration=kill)
    again = resume(tmp_path / "run")
    assert tag[1].compilations <= 1 and again.compilations == 0
    assert left_behind(tag[0]) == left_behind(tmp_path / "run")


LEARNERS = [
    f"{side}_{role}" for side in ("seat_0", "seat_1") for role in ("main", "main_exploiter", "league_exploiter")
]
EACH = 6 * 2 * 6  # blocks x worlds x steps
PENNIES = RunConfig(
    game="matrix:matching_pennies",
    options=("rounds=3",),
    total_steps=16 * EACH,
    play=PlayConfig(worlds=12, steps=6, blocks=6),
    net=NetConfig(hidden=(4,), memory="gru", memory_size=4),
    ppo=PPOConfig(epochs=1, minibatches=1, sequence=6, shadow_half_life=S(5.0)),
    opponents=OpponentsConfig(current=S(0.6), shadow=S(0.1), bots=S(0.3), bot_temperature=S(2.0)),
    pool=PoolConfig(pool_size=8),
    roles=RolesConfig(
        mains=1, main_exploiters=1, league_exploiters=1, role_steps=EACH // 2, reset_share=1.0, reset_to="past_main"
    ),
    curriculum=CurriculumConfig(
        curriculum=True, curriculum_share=S(0.3), level_games=5, climb_rate=0.2, retreat_rate=0.1
    ),
    defeats=DefeatsConfig(defeat_share=0.2, defeat_size=8, defeat_reach=2),
    gates=GateConfig(gate="rate", gate_games=4, gate_rate=0.3),
    evaluation=EvalConfig(eval_games=2),
    checkpoint=CheckpointConfig(checkpoint_every=6),
)
"""Each side has a main and two exploiters, who meet those of the other side, its bots and its past."""


@pytest.fixture(scope="module")
def pennies(tmp_path_factory):
    path = tmp_path_factory.mktemp("pennies") / "run"
    summary = start(PENNIES, path, on_iteration=asking(path, {7: {"do": "shares", "shares": {"bots": 0.5}}}))
    return path, summary


def side_of(name: str) -> str:
    """That of a learner, a shadow or a past player."""
    return next(side for side in ("seat_0", "seat_1") if side in name)


def test_roles_of_unlike_sides_meet_those_of_the_other_side_and_bots(pennies):
    rows = read_results(pennies[0] / "results.db", "train")
    assert {row.player for row in rows} == set(LEARNERS)
    bots = {"always_0", "always_1", "tit_for_tat"}
    for name in LEARNERS:
        met = {row.opponent for row in rows if row.player == name}
        assert met & bots and met - bots and all(side_of(one) != side_of(name) for one in met - bots)
    hunted = {row.opponent for row in rows if row.player == "seat_0_main_exploiter"} - bots
    assert all(one.endswith(("seat_1_main", "exploiter.shadow")) for one in hunted)


def test_an_exploiter_of_one_side_begins_anew_as_a_past_main_of_its_own_side(pennies):
    resets = [line for line in events(pennies[0], "reset") if line["parent"]]
    assert {line["name"] for line in resets} >= {"seat_0_league_exploiter", "seat_1_league_exploiter"}
    for line in resets:
        assert line["parent"]["name"].endswith(f"{side_of(line['name'])}_main")


def test_all_that_was_asked_for_on_unlike_sides_happened(pennies):
    told = {line["event"] for line in events(pennies[0], "snapshot", "climbed", "sharesset", "refused")}
    assert told == {"snapshot", "climbed", "sharesset"}
    assert any(line.get("games/second_tries") for line in RunDir.open(pennies[0]).metrics())
    rows = read_results(pennies[0] / "results.db", "train")
    assert {row.weakened for row in rows if row.opponent == "always_0"} == {0, 1}  # those of a level are not weak


def test_unlike_sides_with_roles_bots_and_all_else_are_resumed_bit_for_bit(pennies, tmp_path):
    path = tmp_path / "run"
    with pytest.raises(KilledError):
        wish = {7: {"do": "shares", "shares": {"bots": 0.5}}}
        start(PENNIES, path, on_iteration=asking(path, wish, killed_after=14))
    again = resume(path)
    assert pennies[1].compilations <= 1 and again.compilations == 0
    assert left_behind(pennies[0]) == left_behind(path)


@pytest.mark.parametrize(
    "change", [{"pool": PoolConfig(pool_size=3, snapshot_mark=0.7)}, {"gates": GateConfig(gate="sprt")}]
)
def test_marks_and_gates_ask_about_the_past_of_the_other_side(change):
    """Nobody has beaten its own past: of its own side, no player ever sits opposite."""
    mixed = replace(PENNIES, roles=RolesConfig(), opponents=TAG.opponents, **{"gates": GateConfig(), **change})
    (league,) = Opposition.begin(build(mixed)).leagues
    league.assign(0, 0.0, 0)
    for learner, other in ((0, "past-0-seat_1"), (1, "past-0-seat_0")):
        met = newest_met(league.outlook(), learner)
        assert met is not None and met.name == other


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"population": PopulationConfig(population=2)}, "a population would compare players of one side"),
        ({"opponents": replace(TAG.opponents, sampler="nash")}, "sampler=nash would compare"),
        ({"opponents": replace(TAG.opponents, late_sampler="nash")}, "sampler=nash would compare"),
        ({"pool": replace(TAG.pool, eviction="redundant")}, "eviction=redundant would compare"),
        ({"pool": replace(TAG.pool, guests=("elsewhere",))}, "guests would compare"),
        (
            {"ppo": replace(PENNIES.ppo, imitation=S(0.1)), "defeats": DefeatsConfig(defeat_share=0.1)},
            "imitation would compare",
        ),
        (
            {"roles": RolesConfig(oracles=1), "opponents": OpponentsConfig(), "pool": PoolConfig(pool_size=3)},
            "oracles would compare",
        ),
        ({"play": PlayConfig(worlds=8, steps=6, blocks=3)}, "equal blocks"),
    ],
)
def test_what_would_compare_players_of_one_side_is_refused(change, what):
    plain = {
        "roles": RolesConfig(), "opponents": TAG.opponents, "pool": TAG.pool, "gates": GateConfig(),
        "curriculum": CurriculumConfig(), "defeats": DefeatsConfig(),
    }  # fmt: skip
    with pytest.raises(ConfigError, match=what):
        build(replace(PENNIES, **{**plain, **change}))


def test_a_guest_that_comes_by_hand_is_refused(pennies):
    with pytest.raises(ConfigError, match="takes no guests: its sides are not alike"):
        invited(f"{pennies[0]}:seat_0_main", build(PENNIES).game, PENNIES)


def test_where_nobody_wins_roles_have_nothing_to_go_by():
    roles = {"roles": RolesConfig(mains=1), "opponents": OpponentsConfig(), "pool": PoolConfig(pool_size=3)}
    with pytest.raises(ConfigError, match="mains=1 goes by games won"):
        build(replace(TAG, **roles))
