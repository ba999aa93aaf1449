"""Best responses whose worth is known: to rock, to the equilibrium, and what choosing among attempts may not do."""

import jax.numpy as jnp
import pytest

from sparring.core.errors import ConfigError
from sparring.core.schedules import Schedule
from sparring.evaluation.best_response import best_response
from sparring.games.kuhn import kuhn
from sparring.games.matrix import matching_pennies, rock_paper_scissors, stag_hunt
from sparring.games.particles.spread import spread
from sparring.learn.config import PPOConfig
from sparring.nets.config import NetConfig
from sparring.play.scripted import Scripted
from sparring.setup.config import PlayConfig, RunConfig
from sparring.studies import exploit as training
from toy_players import Always, quick


@pytest.fixture(scope="module")
def rps():
    return rock_paper_scissors()


def attempts(game, *choices: int):
    """Training that gives players of one choice each."""
    return lambda _: [Always.make(game, choice) for choice in choices]


def test_paper_is_the_best_response_to_rock_and_wins_all_that_can_be_won(rps):
    found = best_response(rps, Always.make(rps, 0), attempts(rps, 0, 1, 2), games=8)
    assert found.returns == (0.0, 1.0, -1.0)
    assert int(found.policy.choice) == 1
    # NashConv of rock is 2: exploitability 1 for each of two players
    assert found.mean_return.mean == 1.0 and found.points is not None and found.points.mean == 1.0
    assert found.games == found.points.count == found.mean_return.count == 8
    assert found.exploitable


def test_nothing_is_won_of_the_equilibrium(rps):
    found = best_response(rps, Scripted.make(rps, "random"), attempts(rps, 1), games=400)
    assert found.points is not None and found.points.low < 0.5 < found.points.high
    assert abs(found.mean_return.mean) < 0.15 and not found.exploitable


def test_the_games_that_choose_are_not_those_that_measure(rps):
    # All attempts are equal against random play; the best of them seems to win, by luck alone.
    found = best_response(rps, Scripted.make(rps, "random"), attempts(rps, 0, 1, 2), games=8)
    assert max(found.returns) > 0.0 and found.mean_return.mean != max(found.returns)


def test_training_is_given_the_frozen_policy_itself(rps):
    seen = []

    def train(policy):
        seen.append(policy)
        return [Always.make(rps, 1)]

    best_response(rps, Always.make(rps, 2, 0.25), train, games=2)
    assert len(seen) == 1 and float(seen[0].probability) == 0.25


def test_in_a_game_of_returns_the_return_is_the_measure():
    game = stag_hunt()
    found = best_response(game, Always.make(game, 1), attempts(game, 0, 1), games=4)
    assert found.points is None
    assert found.returns == (0.0, 2.0) and found.mean_return.mean == 2.0  # stag alone earns nothing, two hares 2 each


@pytest.mark.parametrize(
    ("game", "games", "told"),
    [
        (spread(), 2, "found 1 sides"),
        (matching_pennies(), 2, "found 2 sides that are not"),
        (rock_paper_scissors(), 3, "games must be even"),
    ],
)
def test_what_cannot_be_measured_is_refused(game, games, told):
    with pytest.raises(ConfigError, match=told):
        best_response(game, Scripted.make(game, "random"), attempts(game, 0), games=games)


def test_an_attempt_must_be_a_player_of_the_game(rps):
    with pytest.raises(ConfigError, match="'response'"):
        best_response(rps, Always.make(rps, 0), lambda _: [Always.make(kuhn(), 0)], games=2)
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
    train = training.trainer(config)
    for target, answer in ((0, 1), (1, 2)):
        (policy,) = train(Always.make(rps, target))
        said, _ = policy(jnp.ones((1, rps.spec.features)), jnp.ones((1, 3), bool), policy.initial(1))
        assert jnp.exp(said.log_p_A)[0, answer] > 0.8
    assert [program._cache_size() for program in programs] == [1]
