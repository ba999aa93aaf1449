"""A mixture as a player: how often it is each of its policies, that it stays one of them, and what it is worth."""

import numpy as np
import pytest

from sparring.core.errors import ConfigError
from sparring.evaluation.best_response import Stage, best_response
from sparring.evaluation.match import prepare_match
from sparring.evaluation.tournament import tournament
from sparring.games.matrix import biased_rock_paper_scissors, mixture_exploitability, rock_paper_scissors
from sparring.play.mixed import Mixture
from sparring.play.rollout import Driver
from sparring.play.roster import stack
from sparring.play.seating import seat
from toy_players import Always, play

ROCK, PAPER, SCISSORS = range(3)


@pytest.fixture(scope="module")
def rps():
    return rock_paper_scissors()


def mixture(game, *weights: float) -> Mixture:
    """Of players that always choose 0, 1 and so on."""
    return Mixture.make([Always.make(game, choice) for choice in range(len(weights))], weights)


def returns(game, players, lineup, *, games: int, seed: int = 0, **how) -> np.ndarray:
    """return_GS of one line-up."""
    return prepare_match(game, [lineup], players, games=games, **how)(players, seed=seed)[0].return_GS


@pytest.mark.parametrize("deterministic", [False, True])
def test_each_policy_is_played_as_often_as_its_weight_says(rps, deterministic):
    players = {"mixture": mixture(rps, 0.0625, 0.625, 0.3125), "rock": Always.make(rps, ROCK)}
    found = returns(rps, players, ("mixture", "rock"), games=4096, deterministic=deterministic)[:, 0]
    shares = [np.mean(found == earned) for earned in (0.0, 1.0, -1.0)]  # rock draws, paper wins, scissors lose
    np.testing.assert_allclose(shares, (0.0625, 0.625, 0.3125), atol=4 * 0.5 / 64)


def test_it_stays_the_same_policy_to_the_end_of_a_game():
    game = rock_paper_scissors(rounds=5)
    players = {"mixture": mixture(game, 0.0, 0.5, 0.5), "rock": Always.make(game, ROCK)}
    found = returns(game, players, ("rock", "mixture"), games=64)[:, 1]
    assert set(found.tolist()) == {5.0, -5.0}


def test_two_mixtures_draw_apart_from_each_other(rps):
    players = {"one": mixture(rps, 0.5, 0.5), "other": mixture(rps, 0.5, 0.5)}
    found = returns(rps, players, ("one", "other"), games=256)[:, 0]
    assert {earned: np.mean(found == earned) > 0.15 for earned in (-1.0, 0.0, 1.0)} == dict.fromkeys((-1, 0, 1), True)
    assert abs(np.mean(found == 0.0) - 0.5) < 0.15


def test_a_world_draws_anew_for_every_game(rps):
    seating = seat(rps.spec, rps.spec.seats_of_side, family_BK=[["one", "two"]], learner_BK=[[-1, -1]], worlds=3)
    drivers = [
        Driver(stack([policy]), None, np.asarray([number], np.uint32))
        for number, policy in enumerate((mixture(rps, 0.5, 0.5), Always.make(rps, ROCK)))
    ]
    _, _, games = play(rps, seating, drivers, steps=40)
    won_TW = games.outcome_TBWK[:, 0, :, 0]  # every step is a game
    assert set(won_TW.reshape(-1).tolist()) == {0.0, 1.0}
    assert ((won_TW.mean(axis=0) > 0.2) & (won_TW.mean(axis=0) < 0.8)).all()
    assert not np.array_equal(won_TW[:, 0], won_TW[:, 1])


def test_in_a_tournament_it_gets_half_of_the_points_of_its_copy(rps):
    players = {"mixture": mixture(rps, 0.25, 0.75), "copy": mixture(rps, 0.25, 0.75), "paper": Always.make(rps, PAPER)}
    found = tournament(rps, players, games=512)
    one, other, paper = (found.place(name) for name in players)
    assert found.won_MM[one, other] == found.won_MM[other, one] > 0
    assert found.won_MM[paper, one] / 512 == pytest.approx(0.25, abs=0.08) and found.won_MM[one, paper] == 0


@pytest.mark.parametrize(
    ("weights", "answer"),
    [
        ((1 / 16, 10 / 16, 5 / 16), 0.0),  # the equilibrium
        ((0.5, 0.5, 0.0), 0.25),  # paper, 0.5 of rock
        ((0.2, 0.3, 0.5), 0.35),  # rock: 1 of scissors less 0.5 of paper
    ],
)
def test_what_is_won_of_it_is_the_exact_exploitability_of_the_mixture(weights, answer):
    """The best answer is pure, so the best of all pure answers earns it."""
    game = biased_rock_paper_scissors()
    members = [lambda *_, choice=choice: np.eye(3)[[choice]] for choice in range(3)]
    exact = mixture_exploitability(game, members, np.asarray(weights))
    assert exact == pytest.approx(answer, abs=1e-6)
    found = best_response(
        game,
        mixture(game, *weights),
        lambda _: [Stage(1, [Always.make(game, choice) for choice in range(3)])],
        games=4096,
    )
    assert found.mean_return.low < exact < found.mean_return.high


@pytest.mark.parametrize("weights", [(0.5, 0.4), (1.5, -0.5), (0.0, 0.0)])
def test_weights_that_are_no_distribution_are_refused(rps, weights):
    with pytest.raises(ConfigError, match="come to 1"):
        mixture(rps, *weights)


def test_policies_of_no_weight_are_not_there(rps):
    assert mixture(rps, 0.0, 1.0, 0.0).weight_M.tolist() == [1.0]
    assert int(mixture(rps, 0.0, 1.0, 0.0).members.choice[0]) == PAPER
