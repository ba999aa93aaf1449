"""Best responses whose worth is known: to rock, to the equilibrium, and what choosing among attempts may not do."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.errors import ConfigError
from sparring.core.schedules import Schedule
from sparring.evaluation.best_response import BestResponse, Point, Stage, best_response
from sparring.games.kuhn import kuhn
from sparring.games.matrix import matching_pennies, matrix_game, rock_paper_scissors, stag_hunt
from sparring.games.particles.spread import spread
from sparring.learn.config import PPOConfig
from sparring.nets.config import NetConfig
from sparring.play.scripted import Scripted
from sparring.setup.beginning import first_state
from sparring.setup.build import build
from sparring.setup.config import PlayConfig, RunConfig
from sparring.statistics.intervals import Interval
from sparring.studies import exploit as training
from sparring.training.own_evaluation import players_of_seed
from toy_players import Always, quick


@pytest.fixture(scope="module")
def rps():
    return rock_paper_scissors()


def attempts(game, *choices: int):
    """Training that gives players of one choice each."""
    return lambda _: [Stage(7, [Always.make(game, choice) for choice in choices])]


def test_paper_is_the_best_response_to_rock_and_wins_all_that_can_be_won(rps):
    found = best_response(rps, Always.make(rps, 0), attempts(rps, 0, 1, 2), games=16)
    assert found.curve == (Point(7, (0.0, 1.0, -1.0)),) and found.steps == 7
    assert int(found.policy.choice) == 1
    # NashConv of rock is 2: exploitability 1 for each of two players
    assert found.mean_return.mean == 1.0 and found.points is not None and found.points.mean == 1.0
    assert found.games == 16 and found.points.count == found.mean_return.count == 8, (
        "a game from either side is one value"
    )
    assert found.exploitable


def test_nothing_is_won_of_the_equilibrium(rps):
    found = best_response(rps, Scripted.make(rps, "random"), attempts(rps, 1), games=400)
    assert found.points is not None and found.points.low < 0.5 < found.points.high
    assert abs(found.mean_return.mean) < 0.15 and not found.exploitable


def test_the_games_that_choose_are_not_those_that_measure(rps):
    # All attempts are equal against random play; the best of them seems to win, by luck alone.
    found = best_response(rps, Scripted.make(rps, "random"), attempts(rps, 0, 1, 2), games=16)
    (returns,) = (point.returns for point in found.curve)
    assert max(returns) > 0.0 and found.mean_return.mean != max(returns)


def test_training_is_given_the_frozen_policy_itself(rps):
    seen = []

    def train(policy):
        seen.append(policy)
        return [Stage(1, [Always.make(rps, 1)])]

    best_response(rps, Always.make(rps, 2, 0.25), train, games=2)
    assert len(seen) == 1 and float(seen[0].probability) == 0.25


def test_in_a_game_of_returns_the_return_is_the_measure():
    game = stag_hunt()
    found = best_response(game, Always.make(game, 1), attempts(game, 0, 1), games=4)
    assert found.points is None
    # stag alone earns nothing, two hares 2 each: what they earn anyway, so nothing is gained
    assert found.curve[0].returns == (0.0, 2.0) and found.mean_return.mean == 2.0
    assert found.present is not None and found.present.mean == 2.0
    assert found.gain is not None and found.gain.mean == 0.0 and not found.exploitable


def test_the_best_stage_of_training_is_chosen_and_its_steps_are_told(rps):
    stages = [Stage(10 * k, [Always.make(rps, choice)]) for k, choice in enumerate((0, 1, 2), start=1)]
    found = best_response(rps, Always.make(rps, 0), lambda _: stages, games=4)
    assert found.curve == (Point(10, (0.0,)), Point(20, (1.0,)), Point(30, (-1.0,)))
    assert found.steps == 20 and found.mean_return.mean == 1.0


@pytest.mark.parametrize(("side", "answer"), [(0, 0), (1, 1)])
def test_where_sides_are_unlike_each_has_a_response_of_its_own(side, answer):
    """Seat 0 wins where the pennies match. Both show heads: seat 0 wins 1 and can gain nothing, seat 1 gains 2."""
    game = matching_pennies()
    heads = Always.make(game, 0)
    found = best_response(game, heads, attempts(game, 0, 1), side=side, own=heads, games=6)
    assert found.side == side and int(found.policy.choice) == answer
    assert found.mean_return.mean == 1.0 and found.games == 6
    assert found.gain is not None and found.gain.mean == (0.0, 2.0)[side]
    assert found.exploitable == (side == 1)
    unnamed = best_response(game, heads, attempts(game, 0, 1), side=side, games=6)
    assert unnamed.mean_return.mean == 1.0 and unnamed.present is None and unnamed.gain is None


def test_a_response_sits_on_its_own_side():
    """Seat 0 earns 3 or 1 by its choice 0 and nothing by 1, of seat 1, which can choose the 1."""
    table = np.array([[3.0, 1.0], [0.0, 0.0]])
    game = matrix_game(np.stack([table, -table]))
    found = best_response(game, Always.make(game, 0), attempts(game, 0, 1), side=1, games=2)
    assert int(found.policy.choice) == 1 and found.mean_return.mean == -1.0


def test_a_gain_is_as_uncertain_as_both_of_its_parts():
    found = BestResponse(None, 0, 1, 4, None, Interval(3.0, 0.0, 6.0, 4), Interval(1.0, -3.0, 5.0, 4), ())
    assert found.gain == Interval(2.0, -3.0, 7.0, 4)


@pytest.mark.parametrize(
    ("game", "games", "told"),
    [
        (spread(), 2, "two sides, found 1"),
        (matching_pennies(), 2, "not alike, so a response is of one"),
        (rock_paper_scissors(), 3, "games must be even"),
    ],
)
def test_what_cannot_be_measured_is_refused(game, games, told):
    with pytest.raises(ConfigError, match=told):
        best_response(game, Scripted.make(game, "random"), attempts(game, 0), games=games)


def test_an_attempt_must_be_a_player_of_the_game(rps):
    with pytest.raises(ConfigError, match="'response'"):
        best_response(rps, Always.make(rps, 0), lambda _: [Stage(1, [Always.make(kuhn(), 0)])], games=2)
    with pytest.raises(ConfigError, match="gave no policy"):
        best_response(rps, Always.make(rps, 0), lambda _: [], games=2)


def test_a_fresh_learner_finds_the_answer_to_rock_and_to_paper_with_one_program(monkeypatch, rps):
    compile_program = training.compile_program
    programs = []

    def compile_quickly(plan):
        programs.append(quick(compile_program(plan).__wrapped__))
        return programs[-1]

    monkeypatch.setattr(training, "compile_program", compile_quickly)
    config = RunConfig(
        game="matrix:rock_paper_scissors", total_steps=40 * 64 * 2, play=PlayConfig(worlds=64, steps=2),
        net=NetConfig(hidden=(4,)), ppo=PPOConfig(epochs=2, minibatches=1, learning_rate=Schedule.parse(0.1)),
    )  # fmt: skip
    train = training.trainer(build(training.against_one(config)))
    for target, answer in ((0, 1), (1, 2)):
        *_, (steps, (policy,)) = train(Always.make(rps, target))
        assert steps == config.total_steps
        said, _ = policy(jnp.ones((1, rps.spec.features)), jnp.ones((1, 3), bool), policy.initial(1))
        assert jnp.exp(said.log_p_A)[0, answer] > 0.8
    assert [program._cache_size() for program in programs] == [1]


def test_the_first_attempt_begins_as_who_plays_there_and_the_others_from_nothing():
    config = RunConfig(
        game="matrix:rock_paper_scissors", total_steps=16, seeds=2, play=PlayConfig(worlds=8, steps=2),
        net=NetConfig(hidden=(4,)),
    )  # fmt: skip
    built = build(training.against_one(config))
    fresh = players_of_seed(built, first_state(built), 1)[built.lineup.names[0]]
    present = jax.tree.map(lambda weight: weight + 1.0, fresh)
    first, second = next(iter(training.trainer(built, present)(present))).attempts
    for policy, begun in ((first, present), (second, fresh)):
        assert all(map(np.array_equal, jax.tree.leaves(policy), jax.tree.leaves(begun)))


def test_a_bot_or_a_larger_network_is_no_beginning():
    config = RunConfig(game="matrix:rock_paper_scissors", net=NetConfig(hidden=(4,)))
    larger = replace(config, net=NetConfig(hidden=(5,)))
    own, other = (players_of_seed(b, first_state(b), 0)[b.lineup.names[0]] for b in map(build, (config, larger)))
    assert training.fits(own, own) and not training.fits(other, own)
    assert not training.fits(Scripted.make(rock_paper_scissors(), "random"), own) and not training.fits(None, own)
