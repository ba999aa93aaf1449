"""PSRO in training: a mixture that is hard to beat, of players that are easy to beat; payoffs, results and resume."""

import json
from dataclasses import replace
from itertools import combinations

import jax
import numpy as np
import pytest

from echo_game import echo
from echo_run import CONFIG as ECHO
from echo_run import KilledError, left_behind
from sparring.core.errors import ConfigError
from sparring.core.schedules import Schedule
from sparring.games import answers, matrix, registry
from sparring.league.config import OpponentsConfig, PoolConfig
from sparring.league.gates import GateConfig
from sparring.league.roles import RolesConfig
from sparring.learn.config import PPOConfig
from sparring.nets.config import NetConfig
from sparring.play.roster import split
from sparring.players.guests import invited
from sparring.players.named import entrant, save_entrant
from sparring.setup.build import build
from sparring.setup.config import CheckpointConfig, EvalConfig, PlayConfig, RunConfig
from sparring.store.checkpoints import load
from sparring.store.results import read_results
from sparring.store.run_dir import RunDir
from sparring.training.control import last_known
from sparring.training.keeping import read_past
from sparring.training.opposition import Opposition
from sparring.training.own_evaluation import probabilities_of
from sparring.training.runs import resume, start

S = Schedule.parse
WORLDS, STEPS, EACH = 32, 4, 20
PER_ITERATION = WORLDS * STEPS
GAME = matrix.biased_rock_paper_scissors()
PRIZES = RunConfig(
    game="matrix:biased_rock_paper_scissors",
    seeds=2,
    total_steps=6 * EACH * PER_ITERATION,
    play=PlayConfig(worlds=WORLDS, steps=STEPS, blocks=16),
    net=NetConfig(hidden=(8,)),
    ppo=PPOConfig(learning_rate=S(0.05), entropy=S(0.02), discount=S(1.0), epochs=2, minibatches=2),
    pool=PoolConfig(pool_size=16),
    roles=RolesConfig(oracles=1, role_steps=EACH * PER_ITERATION, meta_games=512),
    evaluation=EvalConfig(eval_every=EACH, eval_games=2),
)


@pytest.fixture(scope="module")
def settled(tmp_path_factory):
    """Five oracles on rock, paper, scissors with unequal prizes, one after another."""
    path = tmp_path_factory.mktemp("psro") / "run"
    return path, start(PRIZES, path)


def test_the_mixture_settles_and_is_harder_to_beat_than_each_of_its_players(settled):
    """Against the untrained player, which is nearly even, rock gains (1 - 0.5) / 3."""
    path, summary = settled
    run, opposition = RunDir.open(path), last_known(RunDir.open(path)).opposition
    for r, league in enumerate(opposition.leagues):
        found = summary.exploitability["mixture"][r]
        assert found < 0.05
        past = league.state.pool.players
        policies = [probabilities_of(read_past(run, opposition.built, r, player)) for player in past]
        alone = [matrix.policy_exploitability(GAME, policy) for policy in policies]
        assert alone[0] == pytest.approx(1 / 6, abs=0.02)
        assert found < min(alone) and max(alone) > 0.9


def test_exploitability_of_the_mixture_is_recorded_and_rises_at_times(settled):
    lines = [line for line in RunDir.open(settled[0]).metrics() if line["kind"] == "eval" and line["iteration"] >= 0]
    for r, seed in enumerate((0, 1)):
        found = [line["exploitability/mixture"] for line in lines if line["seed"] == seed]
        assert len(found) == 6 and max(np.diff(found)) > 0.02
        assert found[-1] == settled[1].exploitability["mixture"][r]


def test_every_pair_of_past_players_meets_once_from_both_sides(settled):
    rows = read_results(settled[0] / "results.db", "meta")
    names = [f"past-{k * EACH * PER_ITERATION}-oracle" for k in range(6)]
    for seed in (0, 1):
        own = [row for row in rows if row.seed == seed]
        assert sorted((row.player, row.opponent, row.side) for row in own) == sorted(
            (one, two, side) for one, two in combinations(names, 2) for side in (0, 1)
        )
    assert {row.games for row in rows} == {256}


def test_the_payoffs_of_the_meta_game_are_those_of_the_games(settled):
    league = last_known(RunDir.open(settled[0])).opposition.leagues[1]
    rows = [row for row in read_results(settled[0] / "results.db", "meta") if row.seed == 1]
    names = [player.name for player in league.state.pool.players]
    earned_MM = np.zeros((6, 6))
    for row in rows:
        earned_MM[names.index(row.player), names.index(row.opponent)] += row.return_sum / 512
    np.testing.assert_allclose(league.state.meta.payoff_MM, earned_MM - earned_MM.T, atol=1e-6)
    assert abs(earned_MM).max() > 0.3, "nobody earned anything"


def test_an_evaluation_and_the_pool_show_the_mixture(settled, capsys):
    from sparring.cli import eval as evaluation
    from sparring.cli import pool

    evaluation.command([str(settled[0]), "--games", "2", "--json"])
    found = json.loads(capsys.readouterr().out)["exploitability"]
    assert found["mixture"] == pytest.approx(settled[1].exploitability["mixture"])
    pool.command([str(settled[0]), "--json"])
    members = json.loads(capsys.readouterr().out)["members"]
    weights = [one["weight"] for one in members if one["seed"] == 0 and one["kind"] == "past"]
    assert sum(weights) == pytest.approx(1.0) and all(
        one["weight"] is None for one in members if one["kind"] == "learner"
    )
    pool.command([str(settled[0])])
    said = capsys.readouterr().out
    assert "weight" in said and f"{max(weights):.3f}" in said


def test_the_mixture_is_a_player_by_name_with_the_weights_of_the_meta_strategy(settled, tmp_path):
    path, summary = settled
    for r, seed in enumerate((0, 1)):
        one = entrant(f"{path}:mixture#{seed}", GAME)
        members = [probabilities_of(member) for member in split(one.policy.members, len(one.policy.weight_M))]
        exact = matrix.mixture_exploitability(GAME, members, np.asarray(one.policy.weight_M))
        assert exact == pytest.approx(summary.exploitability["mixture"][r], abs=1e-6)
        assert one.name == f"run:mixture#{seed}" and one.sides == (0, 1)
    kept = entrant(str(save_entrant(one, tmp_path / "mixture.safetensors")), GAME)
    assert kept.meta == one.meta and kept.meta is not None and kept.meta.members == len(members)
    jax.tree.map(np.testing.assert_array_equal, kept.policy, one.policy)


def test_the_mixture_meets_others_in_a_tournament_and_as_a_guest(settled, tmp_path, capsys):
    from sparring.cli import tournament

    path, _ = settled
    mixture = f"{path}:mixture"
    tournament.command([mixture, f"{path}:oracle", "equilibrium", "--games", "64", "--json"])
    rates = json.loads(capsys.readouterr().out)
    assert "run:mixture" in str(rates)
    host = replace(
        PRIZES, seeds=1, total_steps=4 * PER_ITERATION, roles=RolesConfig(), play=PlayConfig(worlds=32, steps=4),
        opponents=OpponentsConfig(current=S(0.0), history=S(1.0)), evaluation=EvalConfig(eval_games=0),
        pool=PoolConfig(pool_size=4, guests=(mixture,)),
    )  # fmt: skip
    start(host, tmp_path / "host")
    rows = read_results(tmp_path / "host" / "results.db", "train")
    assert sum(row.games for row in rows if row.opponent == "run-mixture") > 0
    with pytest.raises(ConfigError, match=r"has no mixture: only PSRO has one"):
        entrant(f"{tmp_path / 'host'}:mixture", GAME)


# Interruptions, in a game in which what one is paid the other does not lose.

TWO = replace(
    ECHO,
    total_steps=12 * 36,
    play=PlayConfig(worlds=12, steps=3, blocks=4),  # 36 steps an iteration, 18 of each oracle
    opponents=OpponentsConfig(),
    net=NetConfig(hidden=(8,)),
    ppo=replace(ECHO.ppo, shadow_half_life=S(0.0), sequence=20),
    pool=PoolConfig(pool_size=2),
    roles=RolesConfig(oracles=2, role_steps=36, meta_games=4),
    checkpoint=CheckpointConfig(checkpoint_every=5),
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "run"
    start(TWO, path, game=echo())
    return path


def told(path) -> list[dict]:
    return [line for line in RunDir.open(path).metrics() if line.get("event") == "metastrategy"]


def saved_league(path):
    built = build(TWO, game=echo())
    saved = load(RunDir.open(path).checkpoints_path).meta["opposition"]
    (league,) = Opposition.restored(built, saved, {}).leagues
    return league


def test_oracles_that_were_killed_and_resumed_equal_those_that_never_stopped(whole, tmp_path):
    """Copies are made at even iterations, so at the checkpoint after the fifth their games have not been played yet."""

    def kill(moment) -> None:
        if moment.iteration == 8:
            raise KilledError

    with pytest.raises(KilledError):
        start(TWO, tmp_path / "run", game=echo(), on_iteration=kill)
    assert saved_league(tmp_path / "run").unsolved
    resume(tmp_path / "run", game=echo())
    assert left_behind(whole) == left_behind(tmp_path / "run")
    assert [line["iteration"] for line in told(whole)] == [1, 3, 5, 7, 9, 11]


def test_what_is_won_counts_where_what_is_paid_is_no_zero_sum(whole):
    rows = read_results(whole / "results.db", "meta")
    league = saved_league(whole)
    names = [player.name for player in league.state.pool.players]
    assert len(names) == 12 == len(league.state.meta.weight_M)
    for i, j in combinations(range(len(names)), 2):
        own = [row for row in rows if (row.player, row.opponent) == (names[i], names[j])]
        won, lost = sum(row.wins for row in own), sum(row.losses for row in own)
        assert league.state.meta.payoff_MM[i, j] == (won - lost) / 4
    assert any(row.return_sum != row.wins - row.losses for row in rows)


@pytest.mark.parametrize("solver", ["uniform", "alpha_rank"])
def test_other_solvers_run(solver, tmp_path):
    path, few = tmp_path / "run", replace(TWO, total_steps=6 * 36, roles=replace(TWO.roles, meta=solver))
    start(few, path, game=echo())
    assert [line["solver"] for line in told(path)] == [solver] * 3
    assert [len(line["weights"]) for line in told(path)] == [2, 4, 6]
    assert all(sum(line["weights"].values()) == pytest.approx(1.0) for line in told(path))
    if solver == "uniform":
        assert list(told(path)[2]["weights"].values()) == pytest.approx([1 / 6] * 6)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"game": "matrix:stag_hunt"}, "oracles=1 goes by games won"),
        ({"stages": ("bonus=1 until games > 9", "bonus=2")}, "stages change those"),
        ({"opponents": OpponentsConfig(history=S(0.5))}, "mains and oracles to 0"),
        ({"pool": PoolConfig(pool_size=16, guests=("elsewhere",))}, "guests, whose payoffs nobody measured"),
        ({"gates": GateConfig(gate="rate")}, "gates have no place there"),
        ({"pool": PoolConfig(pool_size=0)}, "pool_size=0"),
    ],
)
def test_runs_that_cannot_be_are_refused(change, sentence):
    with pytest.raises(ConfigError, match=sentence):
        build(replace(PRIZES, **change))


def test_a_guest_that_comes_by_hand_is_refused(settled):
    with pytest.raises(ConfigError, match="takes no guests: its payoffs of a meta-strategy are those of past players"):
        invited(f"{settled[0]}:oracle", GAME, PRIZES)


def test_a_mixture_in_a_game_of_rounds_has_no_exact_exploitability():
    assert answers.mixture_exploitability_of(registry.make("matrix:rock_paper_scissors")) is not None
    assert answers.mixture_exploitability_of(registry.make("kuhn")) is not None
    assert answers.mixture_exploitability_of(echo()) is None
