"""Several leagues in one run: sides that are not alike, members of a population with opponents of their own."""

from dataclasses import replace

import numpy as np
import pytest

from echo_run import KilledError, left_behind
from sparring.core.errors import ConfigError
from sparring.core.schedules import Schedule
from sparring.league.config import OpponentsConfig, PoolConfig
from sparring.league.gates import GateConfig
from sparring.league.population import PopulationConfig
from sparring.league.roles import RolesConfig
from sparring.learn.config import PPOConfig
from sparring.nets.config import NetConfig
from sparring.store.packages import read_package
from sparring.store.results import read_results
from sparring.training.build import build
from sparring.training.config import CheckpointConfig, EvalConfig, PlayConfig, RunConfig
from sparring.training.entrants import entrant
from sparring.training.opposition import Opposition
from sparring.training.population import Population
from sparring.training.runs import resume, start

S = Schedule.parse
ITERATIONS, PER_ITERATION = 8, (3 + 1) * 2 * 2 * 5  # seats at home x blocks x worlds x steps
TAG = RunConfig(
    game="particles:tag",
    total_steps=ITERATIONS * PER_ITERATION,
    play=PlayConfig(worlds=8, steps=5, blocks=4),
    net=NetConfig(hidden=(8,)),
    ppo=PPOConfig(epochs=1, minibatches=1, shadow_half_life=S(5.0)),
    opponents=OpponentsConfig(current=S(0.3), shadow=S(0.3), history=S(0.4)),
    pool=PoolConfig(pool_size=3, snapshot_every=PER_ITERATION // 2),
    evaluation=EvalConfig(eval_games=2),
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
    for name, other in (("predator", "prey"), ("prey", "predator")):
        assert met[name] and all(
            one == other or one in (f"{other}.shadow",) or one.endswith(f"-{other}") for one in met[name]
        )
    assert any(name.startswith("past-") for name in met["predator"])


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


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"roles": RolesConfig(mains=1), "opponents": OpponentsConfig(), "pool": PoolConfig(pool_size=3)}, "roles"),
        ({"opponents": replace(TAG.opponents, bots=S(0.1))}, "its bots drive one of them"),
        ({"opponents": replace(TAG.opponents, sampler="nash")}, "nash"),
        ({"pool": replace(TAG.pool, snapshot_mark=0.7)}, "snapshot_mark"),
        ({"gates": GateConfig(gate="rate")}, "gate"),
        ({"play": PlayConfig(worlds=8, steps=5, blocks=3)}, "equal blocks"),
    ],
)
def test_what_would_compare_a_side_with_its_own_past_is_refused(change, what):
    with pytest.raises(ConfigError, match=what):
        build(replace(TAG, **change))


MEMBERS = RunConfig(
    game="dogfight",
    total_steps=10**6,
    shaping=("posture=0.5 -> 0.1",),
    play=PlayConfig(worlds=8, steps=2, blocks=8),
    net=NetConfig(hidden=(4,)),
    ppo=PPOConfig(minibatches=1, shadow_half_life=S(5.0)),
    opponents=OpponentsConfig(current=S(0.5), shadow=S(0.25), history=S(0.25)),
    pool=PoolConfig(pool_size=2),
    population=PopulationConfig(population=2, pbt_knobs=("learning_rate", "shaping/posture")),
)


def test_every_member_has_its_own_weight_of_a_shaping_term():
    built = build(MEMBERS)
    population = Population.begin(built)
    population.factors = [np.array([[1.0, 2.0], [3.0, 0.25]])]
    orders, _ = Opposition.begin(built).assign(0)
    (weights_RLJ,) = population.shaping(orders.shaping)
    place = [term.name for term in sorted(built.game.spec.terms, key=lambda term: term.kind == "potential")].index(
        "posture"
    )
    np.testing.assert_allclose(weights_RLJ[0, :, place], [1.0, 0.125])
    assert np.count_nonzero(np.asarray(weights_RLJ)) == 2
    (knobs_RLH,) = population.knobs(0)
    assert knobs_RLH.shape[1] == 2


def test_members_that_meet_their_shadows_and_pasts_have_leagues_of_their_own():
    built = build(MEMBERS)
    opposition = Opposition.begin(built)
    orders, events = opposition.assign(0)
    assert built.lineup.names == ("member_0", "member_1")
    assert [event.player.name for event in events[0]] == ["past-0-member_0", "past-0-member_1"]
    assert [event.row for event in events[0]] == [0, 2]
    groups = [group for group in built.plan.seating.groups if not group.learns]
    for group, rows_RP, players_RP in zip(groups, orders.rows, orders.ids, strict=True):
        for block, row, player in zip(group.blocks, np.asarray(rows_RP)[0], np.asarray(players_RP)[0], strict=True):
            if player and row >= 0:
                assert row // 2 == block // 4  # a row of the pool of the member whose block it is
            elif player:
                assert row == -1 - 2 * (block // 4)  # its shadow
