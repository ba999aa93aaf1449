"""The shadow: how slowly it follows, what it carries, and how it holds the policy near itself."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.schedules import Schedule
from sparring.learn.config import Knobs, PPOConfig, knobs_at
from sparring.learn.learner import new_learner
from sparring.learn.shadow import averaged, followed, rate, towards
from sparring.nets.config import NetConfig
from sparring.nets.normalise import Normaliser
from toy_games import timetable
from toy_players import learners_of

GAME = timetable(np.zeros((3, 2)))
HALF_LIFE = PPOConfig(shadow_half_life=Schedule.parse(8.0))
TAU = PPOConfig(shadow_tau=Schedule.parse(0.25))


def knobs(config: PPOConfig) -> Knobs:
    return Knobs(*knobs_at(config, 0.0))


def actor(value: float, net: NetConfig = NetConfig(hidden=(4,), normalise=True)):  # noqa: B008
    """An actor whose every weight is `value`."""
    learner = jax.tree.map(lambda x: x[0], learners_of(GAME, net, [0]))
    return jax.tree.map(lambda x: jnp.full_like(x, value), learner.model.actor)


def test_after_its_half_life_a_shadow_that_began_at_0_has_come_half_way_to_1():
    shadow, target = actor(0.0), actor(1.0)
    for _ in range(8):
        shadow = towards(shadow, target, rate(knobs(HALF_LIFE), HALF_LIFE))
    np.testing.assert_allclose(shadow.head.weight_IO, 0.5, rtol=1e-5)


@pytest.mark.parametrize(("decay", "half_life"), [(0.999, 692.8), (0.9, 6.58), (0.99, 68.97)])
def test_a_half_life_says_the_same_as_its_decay(decay, half_life):
    config = PPOConfig(shadow_half_life=Schedule.parse(half_life))
    assert float(rate(knobs(config), config)) == pytest.approx(1 - decay, rel=1e-3)


def test_tau_is_the_share_of_the_newest_weights():
    moved = towards(actor(0.0), actor(1.0), rate(knobs(TAU), TAU))
    np.testing.assert_allclose(moved.head.weight_IO, 0.25)


@pytest.mark.parametrize(("config", "moves"), [(TAU, 0.25), (HALF_LIFE, 1 - 2 ** (-1 / 8))])
def test_between_two_of_its_moves_a_shadow_stands_still(config, moves):
    config = replace(config, shadow_every=3)
    rates = [float(rate(Knobs(*knobs_at(config, 0.0, iteration)), config)) for iteration in range(6)]
    assert rates == pytest.approx([0, 0, moves, 0, 0, moves])


def test_statistics_of_observations_are_averaged_as_moments():
    slow = Normaliser(jnp.asarray([0.0]), jnp.asarray([10.0]), jnp.asarray(10.0))  # mean 0, variance 1
    fast = Normaliser(jnp.asarray([2.0]), jnp.asarray([80.0]), jnp.asarray(20.0))  # mean 2, variance 4
    scale = averaged(slow, fast, jnp.asarray(0.5))
    # The second moments 1 and 8 have the mean 4.5; less the square of the mean 1, the variance is 3.5.
    np.testing.assert_allclose([scale.mean_F[0], scale.square_F[0] / scale.count], [1.0, 3.5])
    first = averaged(Normaliser.make(1), fast, jnp.asarray(0.5))
    np.testing.assert_allclose([first.mean_F[0], first.square_F[0] / first.count], [2.0, 4.0])


def test_a_shadow_sees_by_its_own_statistics():
    learner = new_learner(
        jax.tree.map(lambda x: x[0], learners_of(GAME, NetConfig(hidden=(4,), normalise=True), [0])).model, 0, TAU, 1, 1
    )
    seen = jnp.ones((1, 3)), jnp.ones((1, 3), bool)
    before, _ = learner.shadow(*seen, ())
    scale = Normaliser(jnp.full(3, 9.0), jnp.full(3, 4.0), jnp.asarray(2.0))
    moved = eqx.tree_at(lambda m: m.actor.trunk.normaliser, learner.model, scale)
    after, _ = learner._replace(model=moved).shadow(*seen, ())
    np.testing.assert_array_equal(before.log_p_A, after.log_p_A)


def test_without_a_shadow_nothing_follows():
    learner = jax.tree.map(lambda x: x[0], learners_of(GAME, NetConfig(hidden=(4,)), [0]))
    assert learner.shadow is None
    assert followed(learner, knobs(PPOConfig()), PPOConfig()) is learner


def test_a_shadow_begins_as_a_copy_in_buffers_of_its_own():
    model = jax.tree.map(lambda x: x[0], learners_of(GAME, NetConfig(hidden=(4,)), [0])).model
    learner = new_learner(model, 0, replace(TAU), 1, 1)
    pairs = zip(jax.tree.leaves(learner.shadow), jax.tree.leaves(model.actor), strict=True)
    for shadow, own in pairs:
        np.testing.assert_array_equal(shadow, own)
        assert shadow.unsafe_buffer_pointer() != own.unsafe_buffer_pointer()
