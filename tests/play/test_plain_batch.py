"""Batches played by a function: worlds, steps, ends and returns."""

import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.errors import ConfigError
from sparring.core.records import Action
from sparring.games import registry
from sparring.play.batch import rollout

GAME = registry.make("matrix:rock_paper_scissors", rounds=4)


def rock_against_paper(observation, key) -> Action:
    del observation, key
    return Action(jnp.array([[0], [1]]), jnp.zeros((2, 0)))


def test_games_end_begin_again_and_returns_count_from_each_start():
    """Paper beats rock in each of 4 rounds: 10 steps are two games and a half."""
    batch = rollout(GAME, rock_against_paper, worlds=3, steps=10)
    assert batch.games == 6 and batch.mean_return_S.tolist() == [-4.0, 4.0]
    assert batch.ended_TW[:, 0].tolist() == [t in (3, 7) for t in range(10)]
    assert batch.return_TWS[:, 1, 1].tolist() == [1, 2, 3, 4, 1, 2, 3, 4, 1, 2]
    assert batch.observation.features_SF.shape[:3] == batch.action.discrete_SD.shape[:3] == (10, 3, 2)


def test_before_the_first_end_nothing_is_known_and_nonsense_is_refused():
    assert np.isnan(rollout(GAME, rock_against_paper, worlds=1, steps=2).mean_return_S).all()
    with pytest.raises(ConfigError, match="worlds must be at least 1, found 0"):
        rollout(GAME, rock_against_paper, worlds=0)
