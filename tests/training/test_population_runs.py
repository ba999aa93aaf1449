"""A population in training: bad coefficients die out, winners stay, and a resumed run repeats its rounds."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from echo_run import KilledError, left_behind
from sparring.core.errors import ConfigError
from sparring.core.schedules import Schedule
from sparring.league.config import DefeatsConfig
from sparring.league.population import PopulationConfig
from sparring.learn.config import COEFFICIENTS, PPOConfig
from sparring.nets.config import NetConfig
from sparring.store.checkpoints import load
from sparring.store.run_dir import RunDir
from sparring.training.beginning import first_state
from sparring.training.build import build
from sparring.training.config import CheckpointConfig, EvalConfig, PlayConfig, RunConfig
from sparring.training.population import Population, descended
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
    evaluation=EvalConfig(eval_games=4),
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
        ({"defeats": DefeatsConfig(defeat_share=0.1)}, "replays no defeats"),
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
    assert fitness.count_M.tolist() == [64 * opponents] * 3 + [0]


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
        with pytest.raises(ConfigError, match="no multiple of the run's"):
            first(knob, values)
