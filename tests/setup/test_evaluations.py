"""How often a run is evaluated, and over how many games, where nobody says."""

from dataclasses import replace

import pytest

from sparring.games import registry
from sparring.setup.config import AUTO, EvalConfig, RunConfig
from sparring.setup.evaluations import games_of, most_lineups, with_evaluations


def planned(game: str, total_steps: int = 1_000_000, **evaluation) -> EvalConfig:
    config = RunConfig(game=game, total_steps=total_steps, evaluation=EvalConfig(**evaluation))
    return with_evaluations(registry.make(game), config).evaluation


def test_short_games_are_played_more_often():
    """Kuhn lasts 3 steps of 2 seats: 8192 / 6 is more than the most; tag 25 steps of 4 seats; a dogfight 1800 of 2."""
    assert planned("kuhn").eval_games == 1024
    assert planned("particles:tag").eval_games == 8192 // (25 * 4)
    assert planned("dogfight").eval_games == 32


def test_a_run_is_evaluated_ten_times_unless_that_would_take_a_good_part_of_it():
    """Kuhn has random and three bots: 25 line-ups with the learner of 1024 games, 6 steps of seats each, 153,600 steps
    in all. Leduc has five bots: 49 line-ups of 512 games of 16 steps are 401,408. Four steps of evaluation for one of
    training: 700,000 steps buy 6. Two million are free, which are 4 evaluations of Leduc and more than ten of Kuhn."""
    config = RunConfig(game="kuhn", total_steps=300_000)
    assert most_lineups(registry.make("kuhn"), config) == 25
    assert planned("kuhn").eval_times == 10
    assert planned("leduc", 700_000).eval_times == 4 * 700_000 // (49 * 512 * 16) == 6
    assert planned("leduc", 1_000).eval_times == 2_000_000 // (49 * 512 * 16) == 4
    assert planned("kuhn", 1_000).eval_times == 10
    assert planned("dogfight").eval_times == 0 and planned("dogfight", 10**9).eval_times == 10


def test_where_an_exact_answer_takes_seconds_it_is_asked_twice():
    assert planned("dark_hex", 10**9).eval_times == 2


@pytest.mark.parametrize("said", [{"eval_games": 7}, {"eval_times": 3}, {"eval_every": 50, "eval_times": 4}])
def test_what_is_said_is_kept(said):
    found = planned("kuhn", **said)
    assert {name: getattr(found, name) for name in said} == said


def test_beside_evaluations_by_count_and_without_games_there_are_no_others():
    assert planned("kuhn", eval_every=50).eval_times == 0
    assert planned("kuhn", eval_games=0).eval_times == 0


def test_the_memory_of_a_run_counts_the_games_that_it_will_play():
    config = RunConfig(game="kuhn")
    game = registry.make("kuhn")
    assert config.evaluation.eval_games == AUTO and games_of(game, config) == 1024
    assert games_of(game, replace(config, evaluation=EvalConfig(eval_games=5))) == 5


def test_environments_of_other_people_are_evaluated_less_since_their_steps_are_not_free(monkeypatch):
    """32 games of 25 line-ups of 3 steps of 2 seats are 4,800 steps: a tenth of 100,000 buys two."""
    monkeypatch.setattr("sparring.setup.evaluations.leases_in", lambda _: object())
    found = planned("kuhn", 100_000)
    assert (found.eval_games, found.eval_times) == (32, 2)
