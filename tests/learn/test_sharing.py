"""Shared rewards: whose mean it is, what is between the own reward and it, and what goes on after a seat has left."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.schedules import Schedule
from sparring.games import registry
from sparring.learn.config import PPOConfig
from sparring.learn.shaping import shared, sharers_SS
from sparring.play.chance import stream
from sparring.play.collect import collect
from sparring.play.rollout import Rollout
from sparring.setup.beginning import first_state
from sparring.setup.build import build
from sparring.setup.program import Orders, TrainState, seat_players


def test_a_seat_shares_with_everybody_or_with_its_side():
    spec = registry.make("particles:tag").spec
    np.testing.assert_allclose(sharers_SS(spec, "all"), np.full((4, 4), 0.25))
    third = 1 / 3
    predators = [third, third, third, 0]
    np.testing.assert_allclose(sharers_SS(spec, "side"), [predators, predators, predators, [0, 0, 0, 1]])


def test_a_weight_between_is_a_mixture_and_none_or_all_are_the_own_and_the_common_reward():
    nothing = dict.fromkeys(name for name in Rollout._fields if name not in ("reward_TWN", "common_TWN"))
    own, common = jnp.array([[[3.0, -1.0]]]), jnp.array([[[1.0, 1.0]]])
    rollout = Rollout(reward_TWN=own, common_TWN=common, **nothing)  # type: ignore[arg-type]
    for weight, expected in ((0.0, [3.0, -1.0]), (0.25, [2.5, -0.5]), (1.0, [1.0, 1.0])):
        assert shared(rollout, jnp.asarray(weight)).reward_TWN[0, 0].tolist() == expected
    alone = rollout._replace(common_TWN=None)
    assert shared(alone, jnp.asarray(1.0)) is alone


@pytest.fixture(scope="module")
def hunt(tiny):
    """Two hunters at random among many hares: one often leaves long before the other. Rollout and games."""
    ppo = PPOConfig(shared_reward=Schedule.parse(1.0), minibatches=2)
    options = ("size=4", "hunters=2", "hares=6", "walls=0", "steps=12")
    config = replace(tiny, game="stag_hunt", options=options, ppo=ppo, seats=replace(tiny.seats, share="seat"))
    config = replace(config, play=replace(config.play, worlds=16, steps=24))
    built = build(config)

    @jax.jit
    def played(state: TrainState, orders: Orders) -> tuple:
        state, orders = jax.tree.map(lambda x: x[0], (state, orders))
        drivers = seat_players(built.plan, state.learners, None, {}, orders, tuple(map(jnp.asarray, built.knobs(0))))
        (rollout,), _, games = collect(
            built.game, built.plan.seating, drivers, state.cursor, stream(jax.random.key(1), "play"), steps=24,
            sharers_SS=sharers_SS(built.game.spec, "all"),
        )  # fmt: skip
        return rollout, games

    return jax.tree.map(np.asarray, played(first_state(built), built.standing))


def test_a_seat_that_has_left_goes_on_sharing_until_the_game_is_over(hunt):
    rollout, games = hunt
    own_TLW, common_TLW = rollout.reward_TWN[..., 0], rollout.common_TWN[..., 0]  # two learners, a seat each
    np.testing.assert_allclose(common_TLW, np.broadcast_to(own_TLW.mean(axis=1, keepdims=True), own_TLW.shape))
    over_TW = games.finished_TBW[:, 0]
    np.testing.assert_array_equal(rollout.over_TWN[..., 0], np.stack([over_TW, over_TW], axis=1))
    assert rollout.present_TWN.all()
    later = ~rollout.acting_TWN[..., 0] & (common_TLW > 0)
    assert later.any() and (own_TLW[later] == 0).all()


def test_games_tell_what_the_game_paid(hunt):
    """No game pays both hunters alike where one caught a hare alone; shared rewards would."""
    _, games = hunt
    returns_GS = games.return_TBWS[games.finished_TBW]
    assert set(np.unique(returns_GS)) <= {0.0, 0.5, 1.0, 5.0} and (returns_GS[:, 0] != returns_GS[:, 1]).any()
