"""A population in training: bad coefficients die out, winners stay, and a resumed run repeats its rounds."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from echo_game import echo
from echo_run import CONFIG as ECHO
from echo_run import KilledError, S, asking, events, left_behind
from sparring.core.errors import ConfigError
from sparring.core.schedules import Schedule
from sparring.core.seeding import Seed
from sparring.core.settings import to_dict
from sparring.league.config import CurriculumConfig, DefeatsConfig, OpponentsConfig, PoolConfig
from sparring.league.gates import GateConfig
from sparring.league.population import Fitness, PopulationConfig
from sparring.learn.config import COEFFICIENTS, PPOConfig, coefficient
from sparring.nets.actor_critic import Actor
from sparring.nets.config import NetConfig
from sparring.setup.beginning import first_state
from sparring.setup.build import build
from sparring.setup.config import CheckpointConfig, EvalConfig, PlayConfig, RunConfig
from sparring.setup.named_arrays import to_arrays
from sparring.setup.rows import descended
from sparring.store.checkpoints import load
from sparring.store.packages import PlayerMeta, write_package
from sparring.store.results import read_results
from sparring.store.run_dir import RunDir
from sparring.training.opposition import Opposition
from sparring.training.population import Population
from sparring.training.runs import resume, start

MEMBERS = 8
BANDIT = RunConfig(
    game="probe:bandit",
    seeds=3,
    total_steps=64 * 4 * 60,
    play=PlayConfig(worlds=64, steps=4),
    net=NetConfig(hidden=(16,)),
    ppo=PPOConfig(learning_rate=Schedule.parse(3e-3)),
    each=("learning_rate=" + ",".join(["3e-5", "3e-3"] * (MEMBERS // 2)),),
    population=PopulationConfig(population=MEMBERS, pbt_knobs=("learning_rate",)),
    evaluation=EvalConfig(eval_games=0),
    checkpoint=CheckpointConfig(checkpoint_every=20),
)
"""Every second member learns at a rate that is 100 times too low."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("population") / "run"
    return path, start(BANDIT, path)


def copied(path) -> list[dict]:
    return [line for line in RunDir.open(path).metrics() if line.get("event") == "copied"]


def test_a_population_recovers_from_rates_that_are_a_hundred_times_too_low(whole):
    path, summary = whole
    first = Population.begin(build(BANDIT)).factors
    last = load(RunDir.open(path).checkpoints_path).meta["population"]["factors"]
    for before_MH, after_MH in zip(first, last, strict=True):
        assert before_MH[::2, 0] == pytest.approx(0.01) and (before_MH[1::2] > 0.3).all()
        assert (np.asarray(after_MH) > 0.1).all()  # on every seed all are good in the end
    assert summary.compilations <= 1  # factors are traced: none of this compiled anything anew


def test_rounds_are_written_down_with_who_copied_whom(whole):
    lines = copied(whole[0])
    assert {line["seed"] for line in lines} == {0, 1, 2}
    assert all(line["parent_mean"] > line["mean"] for line in lines)
    assert "copied member" in lines[0]["text"]


def test_a_population_that_was_killed_and_resumed_equals_one_that_never_stopped(whole, tmp_path):
    def kill(moment) -> None:
        if moment.iteration == 27:
            raise KilledError

    with pytest.raises(KilledError):
        start(BANDIT, tmp_path / "run", on_iteration=kill)
    resume(tmp_path / "run")
    assert left_behind(whole[0]) == left_behind(tmp_path / "run")


def test_a_copy_is_of_everything_but_the_identity_and_who_stays_is_the_same_to_the_last_bit():
    ppo = replace(BANDIT.ppo, shadow_half_life=Schedule.parse(9.0), reward_scale=True)
    (before,) = first_state(build(replace(BANDIT, seeds=2, ppo=ppo))).learners
    before = jax.tree.map(lambda x: x + jax.random.uniform(jax.random.key(3), x.shape).astype(x.dtype), before)
    parent_M = np.array([0, 1, 5, 3, 4, 5, 6, 1])
    after = descended(before, jnp.asarray(1), jnp.asarray(parent_M))
    np.testing.assert_array_equal(after.player, before.player)
    assert before.shadow is not None and before.reward is not None and after.reward is not None
    np.testing.assert_array_equal(after.reward.return_WN, before.reward.return_WN)  # of the worlds, not of the weights
    rewards = (before.reward._replace(return_WN=None), after.reward._replace(return_WN=None))
    parts = [one._replace(player=None, reward=own) for one, own in zip((before, after), rewards, strict=True)]
    for was, now in zip(*map(jax.tree.leaves, parts), strict=True):
        np.testing.assert_array_equal(now[0], was[0])
        np.testing.assert_array_equal(now[1], np.asarray(was)[1][parent_M])


def test_a_factor_reaches_the_coefficient_and_those_that_follow_it():
    population = Population.begin(build(replace(BANDIT, seeds=1)))
    (knobs_RLH,) = population.knobs(0)
    (common_LH,) = population.built.knobs(0)
    for name in ("learning_rate", "actor_rate", "critic_rate"):
        np.testing.assert_allclose(
            knobs_RLH[0, :, COEFFICIENTS.index(name)], 3e-3 * population.factors[0][:, 0], rtol=1e-6
        )
    other = COEFFICIENTS.index("entropy")
    np.testing.assert_array_equal(knobs_RLH[0, :, other], common_LH[:, other])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"population": PopulationConfig(population=1)}, "at least 2"),
        ({"population": PopulationConfig(population=8, pbt_knobs=("learning_rat",)), "each": ()}, "learning_rate"),
        ({"population": PopulationConfig(population=8, pbt_knobs=("epsilon",)), "each": ()}, "change nothing"),
        ({"population": PopulationConfig(population=8, pbt_knobs=("temperature",)), "each": ()}, "change nothing"),
        ({"population": PopulationConfig(population=8, pbt_games=63)}, "must be even"),
        ({"play": PlayConfig(worlds=8, steps=3)}, "minibatches=4 does not divide the 3 rows"),
        ({"defeats": DefeatsConfig(defeat_share=0.1)}, "Give others a share"),
        ({"stages": ("a=1 until games > 3", "a=2")}, "stages change those"),
        ({"population": PopulationConfig(population=8, pbt_knobs=("shaping/spin",)), "each": ()}, "shaping/spin"),
    ],
)
def test_populations_that_cannot_be_are_refused(change, sentence):
    with pytest.raises(ConfigError, match=sentence):
        build(replace(BANDIT, **change))


RPS = replace(BANDIT, game="matrix:rock_paper_scissors", seeds=1, each=(), population=PopulationConfig(population=4))


@pytest.mark.parametrize(
    ("against", "points", "opponents"), [("each_other", [0.25, 0.75, 0.5], 2), ("bots", [0.5, 0.5, 0.5], 4)]
)
def test_members_of_a_game_that_is_won_are_ranked_by_their_points(against, points, opponents):
    """Member 0 plays rock, 1 paper, 2 anything, and 3 has diverged and is not met."""
    population = Population.begin(build(replace(RPS, population=replace(RPS.population, pbt_against=against))))
    (learners,) = jax.tree.map(lambda x: x[0], first_state(population.built).learners)
    blank = jax.tree.map(jnp.zeros_like, learners.model.actor)
    bias = jnp.array([[99.0, 0.0, 0.0], [0.0, 99.0, 0.0], [0.0, 0.0, 0.0], [jnp.nan] * 3])
    actor = eqx.tree_at(lambda part: part.head.bias_O, blank, bias)
    learners = learners._replace(model=eqx.tree_at(lambda model: model.actor, learners.model, actor))
    fitness = population.fitness(learners, seed=5)
    np.testing.assert_allclose(fitness.mean_M[:3], points, atol=0.08)
    assert np.isnan(fitness.mean_M[3])
    assert fitness.count_M.tolist() == [32 * opponents] * 3 + [0], "starts, of two games each"


def test_members_of_a_zero_sum_game_of_returns_are_ranked_by_what_they_earn_from_others():
    """Of two copies and one that always bets, calls or raises, returns sum to 0; who diverged is not met."""
    kuhn = replace(RPS, game="kuhn")
    population = Population.begin(build(kuhn))
    (learners,) = jax.tree.map(lambda x: x[0], first_state(population.built).learners)
    blank = jax.tree.map(jnp.zeros_like, learners.model.actor)
    bias = jnp.array([[0.0, 99.0], [0.0, 0.0], [0.0, 0.0], [jnp.nan] * 2])
    actor = eqx.tree_at(lambda part: part.head.bias_O, blank, bias)
    learners = learners._replace(model=eqx.tree_at(lambda model: model.actor, learners.model, actor))
    fitness = population.fitness(learners, seed=5)
    assert np.isnan(fitness.mean_M[3]) and fitness.count_M.tolist() == [64, 64, 64, 0]
    assert fitness.mean_M[:3].sum() == pytest.approx(0.0, abs=1e-6)
    assert ((fitness.low_M < fitness.mean_M) & (fitness.mean_M < fitness.high_M))[:3].all()


def test_each_sets_first_factors_also_where_a_value_is_the_runs_own_and_other_shapes_are_refused():
    def first(knob: str, values: str) -> np.ndarray:
        config = replace(BANDIT, seeds=1, each=(f"{knob}={values}",), population=PopulationConfig(
            population=2, pbt_knobs=(knob,)
        ))  # fmt: skip
        return Population.begin(build(config)).factors[0][:, 0]

    np.testing.assert_allclose(first("learning_rate", "3e-3,3e-3"), [1.0, 1.0])
    np.testing.assert_allclose(first("discount", "0.99,0.98"), [1.0, 0.5])  # half the horizon
    for knob, values in (("learning_rate", "3e-3,3e-3 -> 0"), ("discount", "0.99,1")):
        with pytest.raises(ConfigError, match="not a multiple of the run's"):
            first(knob, values)


# Members that meet others than themselves.

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
    (knobs_RLH,) = population.knobs(0)
    weights_RLJ = knobs_RLH[:, :, len(COEFFICIENTS) :]
    place = [term.name for term in sorted(built.game.spec.terms, key=lambda term: term.kind == "potential")].index(
        "posture"
    )
    np.testing.assert_allclose(weights_RLJ[0, :, place], [1.0, 0.125])
    assert np.count_nonzero(weights_RLJ) == 2


def test_members_meet_their_own_shadows_and_pasts():
    built = build(MEMBERS)
    opposition = Opposition.begin(built)
    orders, events = opposition.assign(0)
    assert built.lineup.names == ("member_0", "member_1")
    assert [event.player.name for event in events[0]] == ["past-0-member_0", "past-0-member_1"]
    assert [event.row for event in events[0]] == [0, 1]
    (league,) = opposition.leagues
    owner_of_row = {row: player.learner for player, row in league.state.pool.rows.items()}
    groups = [group for group in built.plan.seating.groups if not group.learns]
    seen = set()
    for group, rows_RP, players_RP in zip(groups, orders.rows, orders.ids, strict=True):
        for block, row, player in zip(group.blocks, np.asarray(rows_RP)[0], np.asarray(players_RP)[0], strict=True):
            if player and row >= 0:
                assert owner_of_row[int(row)] == block // 4  # a past self of the member whose block it is
            elif player:
                assert row == -1 - 2 * (block // 4)  # its shadow
            seen.add((block // 4, bool(player), bool(row >= 0)))
    assert {(0, True, True), (1, True, True), (0, True, False), (1, True, False)} <= seen


ITERATIONS, EACH = 16, (2 * 4 + 2) * 3 * 3  # lanes x worlds x steps: one block of four always meets the member itself
MANY = replace(
    ECHO,
    seeds=2,
    total_steps=ITERATIONS * EACH,
    play=PlayConfig(worlds=24, steps=3, blocks=8),
    ppo=replace(ECHO.ppo, learning_rate=S(0.03)),
    opponents=replace(ECHO.opponents, bot_epsilon=S("0.2 -> 0.1")),
    pool=PoolConfig(pool_size=4),
    curriculum=CurriculumConfig(
        curriculum=True, curriculum_share=S(0.3), level_games=5, climb_rate=0.2, retreat_rate=0.1
    ),
    defeats=DefeatsConfig(defeat_share=0.2, defeat_size=8, defeat_reach=2),
    gates=GateConfig(gate="rate", gate_games=4, gate_rate=0.3),
    population=PopulationConfig(population=2, pbt_every=EACH, pbt_share=0.5, pbt_sure=False, pbt_games=32),
    checkpoint=CheckpointConfig(checkpoint_every=6),
)
"""Members beside weakened bots, shadows, their pasts, a guest, a curriculum, second tries, a gate, and people."""
WISHES = {3: {"do": "shares", "shares": {"current": 0.75}}, 9: {"do": "remove", "name": "past-0-member_1"}}


@pytest.fixture(scope="module")
def guest(tmp_path_factory):
    meta = PlayerMeta(game="echo", net=to_dict(ECHO.net), player="learner")
    arrays = to_arrays(Actor.make(Seed.of(9), echo().spec, ECHO.net))
    return write_package(tmp_path_factory.mktemp("other") / "stranger.safetensors", arrays, meta)


@pytest.fixture(scope="module")
def many(tmp_path_factory, guest):
    path = tmp_path_factory.mktemp("many") / "run"
    config = replace(MANY, pool=replace(MANY.pool, guests=(str(guest),)))
    start(config, path, game=echo(), on_iteration=asking(path, WISHES))
    return path, config


def test_members_beside_all_kinds_of_opponents_and_people_are_resumed_bit_for_bit(many, tmp_path):
    path = tmp_path / "run"
    with pytest.raises(KilledError):
        start(many[1], path, game=echo(), on_iteration=asking(path, WISHES, killed_after=11))
    assert resume(path, game=echo()).compilations == 0
    assert left_behind(path) == left_behind(many[0])


def test_all_that_was_asked_for_beside_a_population_happened(many):
    path, _ = many
    told = {line["event"] for line in events(path, "joined", "sharesset", "reseated", "snapshot", "climbed", "copied")}
    assert told == {"joined", "sharesset", "reseated", "snapshot", "climbed", "copied"}
    assert events(path, "leaving", "evicted") and not events(path, "refused")
    rows = read_results(path / "results.db", "train")
    for member, other in (("member_0", "member_1"), ("member_1", "member_0")):
        met = {row.opponent for row in rows if row.player == member}
        assert {member, f"{member}.shadow", f"past-0-{member}", "low", "high"} <= met
        assert not any(other in name for name in met)
    assert "stranger" in {row.opponent for row in rows}
    weak = {(row.opponent.split("-")[0], row.weakened) for row in rows if "member" not in row.opponent}
    assert weak == {("stranger", 0), ("low", 0), ("low", 1), ("high", 0), ("high", 1)}  # of a level they are not weak
    assert any(line.get("games/second_tries") for line in RunDir.open(path).metrics())


def test_a_member_that_became_a_copy_remembers_nothing_of_its_games_and_the_others_do(monkeypatch):
    three = replace(ECHO, opponents=OpponentsConfig(), play=PlayConfig(worlds=18, steps=3), pool=PoolConfig(),
                    population=PopulationConfig(population=3))  # fmt: skip
    population = Population.begin(build(three, game=echo()))
    starts_M5 = np.array([[64, 0, 0, 0, 0], [0, 0, 0, 0, 64], [32, 0, 0, 0, 32]])
    monkeypatch.setattr(Population, "fitness", lambda *_: Fitness.of(starts_M5))
    state = first_state(population.built)
    memory = jax.tree.map(lambda x: x + 1, state.cursor.memory)
    after, ((_, copy),) = population.round(state._replace(cursor=state.cursor._replace(memory=memory)), 1)
    assert (copy.member, copy.parent) == (0, 1)
    for now in jax.tree.leaves(after.cursor.memory):
        assert now.shape[:2] == (1, 3) and not np.asarray(now)[0, 0].any() and (np.asarray(now)[0, 1:] == 1).all()


def test_the_weight_of_the_value_loss_is_explored_too_unless_something_else_is_asked_for():
    population = Population.begin(build(RPS))
    (knobs_RLH,), factor_MH = population.knobs(0), population.factors[0]
    assert (factor_MH[0] == 1).all() and (factor_MH[1:] != 1).all()
    for column, knob in enumerate(("learning_rate", "entropy", "value_weight")):
        own = coefficient(RPS.ppo, knob).at(0.0) * factor_MH[:, column]
        np.testing.assert_allclose(knobs_RLH[0, :, COEFFICIENTS.index(knob)], own, rtol=1e-6)
