"""What three million steps must teach on the particle games, over seeds, beside the scripted players."""

from dataclasses import replace
from pathlib import Path

import pytest

from sparring.recipes.catalogue import hunt, spread
from sparring.setup.config import RunConfig
from sparring.training.runs import start
from sparring.training.train import Summary

pytestmark = pytest.mark.slow
SEEDS = 5
"""With three, the interval of independent learners, who vary most, is as wide as what they gain."""


def train(config: RunConfig, folder: Path) -> Summary:
    assert config.total_steps <= 3_000_000
    quiet = replace(config.evaluation, eval_every=0, eval_games=512)
    return start(replace(config, seeds=SEEDS, evaluation=quiet), folder / "run")


def return_of(summary: Summary, team: str, opponents: str = ""):
    return next(s.mean_return for s in summary.scores if (s.side, s.team, s.opponents) == (0, team, opponents))


@pytest.mark.parametrize(
    "changes",
    [{}, {"seats": {"share": "seat"}}, {"net": {"critic": "central"}}],
    ids=["shared IPPO", "independent learners", "MAPPO"],
)
def test_spread_is_learned_better_than_by_going_to_the_nearest_landmark(tmp_path, changes):
    config = spread()
    config = replace(config, **{part: replace(getattr(config, part), **change) for part, change in changes.items()})
    summary = train(config, tmp_path)
    assert return_of(summary, "learned").low > return_of(summary, "nearest").high


def test_predators_learn_to_catch_a_fleeing_bot(tmp_path):
    """Random predators touch it about once in 30 games (a touch pays 10), learned ones more than twice a game."""
    summary = train(hunt(), tmp_path)
    assert return_of(summary, "random", "flee").high < 5
    assert return_of(summary, "learned", "flee").low > 20
