import numpy as np
import pytest

from sparring.ratings import summary
from sparring.ratings.alpha_rank import alpha_rank
from sparring.ratings.bradley_terry import bradley_terry
from sparring.ratings.cycles import cyclic_share, noise
from sparring.ratings.nash import nash_average
from sparring.ratings.payoff import Payoff, RatingError
from sparring.ratings.summary import summarise


@pytest.fixture
def payoff():
    """Rock, paper and scissors at 8 to 2, and a bot that loses to all."""
    won = [[0, 2, 8, 9], [8, 0, 2, 9], [2, 8, 0, 9], [1, 1, 1, 0]]
    return Payoff(("rock", "paper", "scissors", "bot"), np.array(won), np.zeros((4, 4), np.int64))


def test_a_summary_joins_all_measures(payoff):
    found = summarise(payoff, "bot", seed=3)
    p_M, rating_M = nash_average(payoff)
    assert found.problems == ()
    assert (found.names, found.anchor, found.cycles) == (payoff.names, "bot", 1)
    assert found.ratings is not None and found.nash_M is not None
    assert (found.ratings.rating_M == bradley_terry(payoff, anchor="bot").rating_M).all()
    assert (found.nash_M == p_M).all() and (found.nash_rating_M == rating_M).all()
    assert (found.alpha_rank_M == alpha_rank(payoff.rate_MM)).all()
    assert (found.cyclic_share, found.noise) == (cyclic_share(payoff), noise(payoff, seed=3))
    assert [worst and worst[0] for worst in found.worst] == ["paper", "scissors", "rock", "rock"]
    assert found.worst[0] == ("paper", payoff.interval("rock", "paper"))


def test_a_measure_that_fails_is_a_sentence_and_leaves_the_others(payoff, monkeypatch):
    def broken(_):
        raise np.linalg.LinAlgError("Singular matrix")

    monkeypatch.setattr(summary, "nash_average", broken)
    found = summarise(payoff, "bott")
    assert found.problems == ("Nash average: Singular matrix", "ratings: Unknown player 'bott'. Did you mean 'bot'?")
    assert found.nash_M is None and found.nash_rating_M is None and found.ratings is None
    assert found.alpha_rank_M is not None and found.cyclic_share is not None and found.cycles == 1


def test_players_that_never_met_are_not_ranked_by_measures_of_the_whole_table(payoff):
    found = summarise(payoff.merged(Payoff.empty(["new"])), "bot")
    assert found.nash_M is None and found.alpha_rank_M is None
    assert [problem.partition(":")[0] for problem in found.problems] == ["Nash average", "alpha-rank"]
    assert found.worst[4] is None and found.worst[3] is not None
    assert found.ratings is not None and np.isnan(found.ratings.rating_M).tolist() == [False] * 4 + [True]


@pytest.mark.parametrize("names", [[], ["ann"], ["ann", "bob", "cat"]])
def test_a_table_without_games_has_a_summary(names):
    found = summarise(Payoff.empty(names), None)
    assert found.worst == (None,) * len(names)
    assert found.cycles == 0
    assert (found.cyclic_share, found.noise) == (0.0, (0.0, 1.0))


def test_a_mistake_in_the_code_is_not_hidden(payoff, monkeypatch):
    monkeypatch.setattr(summary, "cyclic_share", lambda _: {}["missing"])
    with pytest.raises(KeyError):
        summarise(payoff, "bot")
    assert issubclass(RatingError, ValueError)
