"""Memory that lasts over several games: blank before the first of them alone, in play as in training."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.errors import ConfigError
from sparring.core.schedules import Schedule
from sparring.learn.config import knobs_of
from sparring.learn.ppo import update
from sparring.nets.config import NetConfig
from sparring.play.decide import blank_from
from sparring.play.rollout import Driver
from sparring.recipes.defaults import default_config
from sparring.setup.beginning import first_state
from sparring.setup.build import build
from sparring.setup.config import RunConfig, SeatsConfig
from sparring.setup.program import Orders, TrainState, play


class Of:
    def __init__(self, games: int) -> None:
        self.trunk = self
        self.games = games


def test_memory_is_blank_where_a_round_of_games_begins():
    start, played = jnp.array([[True, True, True, False]]), jnp.array([[0, 1, 6, 3]])
    for games, expected in ((1, start), (3, [[True, False, True, False]]), (2, [[True, False, True, False]])):
        driver = Driver(Of(games), None, jnp.zeros(1))
        np.testing.assert_array_equal(blank_from(driver, start, played), expected)


def config_of(tiny: RunConfig) -> RunConfig:
    """Three hunters, games of at most six steps, and a rollout of 24."""
    net = NetConfig(hidden=(8,), memory="gru", memory_size=6, memory_games=3)
    config = replace(tiny, game="stag_hunt", options=("size=4", "hunters=3", "hares=2", "walls=0", "steps=6"), net=net)
    ppo = replace(config.ppo, sequence=12, minibatches=1, learning_rate=Schedule.parse(1e-3))
    return replace(config, ppo=ppo, seats=SeatsConfig(share="seat"), play=replace(config.play, worlds=8, steps=24))


@pytest.fixture(scope="module")
def lived(tiny) -> tuple[Any, Any]:
    """The rollout of the first learner, and what it made of it."""
    built = build(config_of(tiny))
    knobs = tuple(map(jnp.asarray, built.knobs(0)))

    @jax.jit
    def iteration(state: TrainState, orders: Orders) -> tuple:
        state, orders = jax.tree.map(lambda x: x[0], (state, orders))
        (learners,), (rollout,), _, games = play(built.plan, built.game, state, {}, orders, knobs, jax.random.key(3))
        first, lived = jax.tree.map(lambda x: x[0], learners), jax.tree.map(lambda x: x[:, 0], rollout)
        stats = update(first, lived, jax.random.key(4), knobs_of(knobs[0][0]), built.plan.ppo)[1]
        return lived, games.ended_TBW[:, 0], stats.first_ratio_gap

    rollout, ended_TW, gap = jax.tree.map(np.asarray, iteration(first_state(built), built.standing))
    return (rollout, ended_TW), gap


def test_every_third_game_of_a_world_begins_with_a_blank_memory(lived):
    (rollout, ended_TW), _ = lived
    played_TW = np.concatenate([np.zeros((1, 8), int), np.cumsum(ended_TW, axis=0)[:-1]])
    begins_TW = np.concatenate([np.ones((1, 8), bool), ended_TW[:-1]])
    np.testing.assert_array_equal(rollout.start_TW, begins_TW)
    np.testing.assert_array_equal(rollout.blank_TW, begins_TW & (played_TW % 3 == 0))
    assert (begins_TW & ~rollout.blank_TW).any() and rollout.blank_TW.sum() > 8, "worlds come to a second round"


def test_training_finds_the_memory_that_play_had(lived):
    """Else a ratio would not be 1 before the first step."""
    assert lived[1] < 1e-5


def test_a_memory_of_co_players_wants_co_players_that_stay():
    with pytest.raises(ConfigError, match="memory_games=2 remembers earlier games"):
        build(default_config("matrix:prisoners_dilemma", memory="gru", memory_games=2, history=0.5))
