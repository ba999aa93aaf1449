"""The anchor as a price: what a seat owes for leaving its shadow, and who is paid for it."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from sparring.core.schedules import Schedule
from sparring.games import registry
from sparring.learn.config import PPOConfig, knobs_of
from sparring.learn.price import dues_SS, own_price
from sparring.play.chance import stream
from sparring.play.collect import collect
from sparring.setup.beginning import first_state
from sparring.setup.build import Built, build
from sparring.setup.program import seat_players, with_prices


def test_two_duellists_pay_each_other():
    np.testing.assert_array_equal(dues_SS(registry.make("kuhn").spec), [[1, -1], [-1, 1]])


def test_a_team_shares_what_the_other_side_owes():
    """Three predators and one prey: each predator gets a third of the prey's price, the prey gets all of theirs."""
    dues = dues_SS(registry.make("particles:tag").spec)
    third = -1 / 3
    expected = [[1, 0, 0, third], [0, 1, 0, third], [0, 0, 1, third], [-1, -1, -1, 1]]
    np.testing.assert_allclose(dues, expected)
    np.testing.assert_allclose(dues.sum(axis=0), 0.0, atol=1e-12)


@pytest.fixture(scope="module")
def played(tiny):
    """A tiny run whose policy has left its shadow, and one rollout of it."""
    ppo = PPOConfig(shadow_tau=Schedule.parse(0.5), anchor_price=Schedule.parse(0.2), minibatches=2)
    built: Built = build(replace(tiny, game="kuhn", ppo=ppo))
    state = jax.device_get(jax.tree.map(lambda x: x[0], first_state(built)))
    moved = jax.tree.map(lambda x: x + np.float32(0.3), state.learners[0].shadow)
    learners, knobs = (state.learners[0]._replace(shadow=moved),), built.knobs(0)
    orders = jax.tree.map(lambda x: x[0], built.standing)

    @jax.jit
    def play(learners, cursor, knobs):
        drivers, key = seat_players(built.plan, learners, None, {}, orders, knobs), stream(jax.random.key(3), "play")
        return collect(built.game, built.plan.seating, drivers, cursor, key, steps=built.plan.steps)[0]

    return built, learners, jax.device_get(play(learners, state.cursor, knobs)), knobs


def test_what_a_choice_costs_is_by_how_much_the_policy_finds_it_more_likely_than_its_shadow(played):
    built, learners, (rollout,), knobs = played
    learner, own = jax.tree.map(lambda x: x[0], learners[0]), jax.tree.map(lambda x: x[:, 0], rollout)
    price_TWN = jax.jit(own_price, static_argnums=3)(learner, own, knobs_of(knobs[0][0]), built.plan.ppo)
    said, _ = jax.jit(jax.vmap(lambda f, legal: learner.shadow(f, legal, ())))(
        own.features_TWNF.reshape(-1, *own.features_TWNF.shape[2:]),
        own.legal_TWNA.reshape(-1, *own.legal_TWNA.shape[2:]),
    )
    likely = np.take_along_axis(
        np.asarray(said.log_p_A).reshape(*own.legal_TWNA.shape), np.asarray(own.action.discrete_SD), axis=-1
    )[..., 0]
    expected = np.where(own.acting_TWN, np.asarray(own.log_prob_TWN) - likely, 0.0)
    np.testing.assert_allclose(price_TWN, expected, atol=1e-5)
    assert np.abs(expected).max() > 1e-3, "the two must differ, or nothing is tested"


def test_in_a_world_of_two_learners_one_owes_what_the_other_is_owed(played):
    built, learners, rollouts, knobs = played
    (found,) = jax.jit(with_prices, static_argnums=0)(built.plan, learners, rollouts, knobs)
    owed = np.asarray(jax.jit(jax.vmap(lambda x: built.plan.seating.to_seats([x])))(found.price_TWN))
    np.testing.assert_allclose(owed.sum(axis=-1), 0.0, atol=1e-6)
    assert np.abs(owed).max() > 1e-3
