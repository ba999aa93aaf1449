"""The critic's unit moves; with PopArt what it says in units of reward does not."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.errors import ConfigError
from sparring.core.seeding import Seed
from sparring.core.spec import ActionSpec, Central, Feature, GameSpec
from sparring.learn.config import Knobs, PPOConfig, knobs_at
from sparring.learn.groups import labels, optimiser
from sparring.learn.learner import trainable
from sparring.learn.value_scale import corrected, rescaled
from sparring.nets.actor_critic import ActorCritic, Critic, NetConfig
from sparring.nets.blocks import Dense
from toy_players import quick

SPEC = GameSpec(
    seats=1,
    side_of_seat=(0,),
    action=ActionSpec(heads=(2,)),
    layout=(Feature("all", (3,)),),
    central=Central("world", 3),
    longest=5,
)
MODEL = ActorCritic.make(Seed.of(1), SPEC, NetConfig(hidden=(4,)), value_scale=True)
VIEWS = jnp.asarray(np.random.default_rng(0).standard_normal((8, 3)), jnp.float32)
TARGET, ALL = jnp.array([1.0, 5.0, 9.0]), jnp.ones(3, bool)
RESCALED = {popart: quick(lambda *inputs, popart=popart: rescaled(*inputs, popart=popart)) for popart in (False, True)}
VALUES = quick(lambda critic: critic(VIEWS, ())[0])


def moved(*, target=TARGET, mask=ALL, rate=0.5, popart=True, critic: Critic = MODEL.critic) -> Critic:
    return RESCALED[popart](critic, target, mask, rate)


def unit(critic: Critic) -> tuple[float, float]:
    """Mean and deviation."""
    assert critic.scale is not None
    return critic.scale.mean.item(), critic.scale.std.item()


def leaves(tree) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


def test_the_statistics_are_those_of_the_targets_by_hand():
    # 1 and 5 count: mean 3, deviation 2. Then 9 alone with share 1/2: of the debiased averages 1.5 / 0.5 and
    # (0.75 + 4.5) / 0.75, mean 7; of the squares (3.25 + 40.5) / 0.75 = 58 1/3, deviation (58 1/3 - 49) ** 0.5.
    first = moved(mask=jnp.array([True, True, False]))
    assert unit(first) == pytest.approx((3.0, 2.0))
    second = moved(mask=jnp.array([False, False, True]), critic=first)
    assert unit(second) == pytest.approx((7.0, (28 / 3) ** 0.5), rel=1e-5)


@pytest.mark.parametrize("shift", [1.0, 300.0])
def test_with_popart_values_in_units_of_reward_stay_what_they_were(shift):
    before = moved()  # a critic whose unit is no longer the first one
    after = moved(critic=before, target=shift * TARGET - 50.0)
    assert abs(unit(after)[1] / unit(before)[1] - 1) > 0.5
    np.testing.assert_allclose(VALUES(before), VALUES(MODEL.critic), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(VALUES(after), VALUES(before), rtol=1e-5, atol=1e-5 * unit(after)[1])


def test_without_popart_they_follow_the_unit_and_the_output_layer_stays():
    after = moved(popart=False)
    expected = np.asarray(VALUES(MODEL.critic)) * (32 / 3) ** 0.5 + 5.0  # 1, 5, 9: mean 5, variance 32 / 3
    np.testing.assert_allclose(VALUES(after), expected, rtol=1e-5)
    for one, other in zip(leaves(after.head), leaves(MODEL.critic.head), strict=True):
        np.testing.assert_array_equal(one, other)


def test_popart_by_hand():
    # From unit (0, 1) to (3, 2): weights halve, a bias of 1 becomes (1 - 3) / 2.
    critic = eqx.tree_at(lambda c: c.head.bias_O, MODEL.critic, jnp.ones(1))
    head = moved(critic=critic, mask=jnp.array([True, True, False])).head
    np.testing.assert_allclose(head.weight_IO, 0.5 * critic.head.weight_IO, rtol=1e-6)
    np.testing.assert_allclose(head.bias_O, [-1.0], rtol=1e-6)


@pytest.mark.parametrize("popart", [False, True])
@pytest.mark.parametrize(
    ("target", "mask"),
    [
        ([1.0, 5.0, 9.0], [False, False, False]),
        ([1.0, np.nan, 9.0], [True, True, True]),
        ([np.inf, 5.0, -np.inf], [True, True, True]),
        ([1e30, 5.0, 9.0], [True, True, True]),  # its square is none
    ],
)
def test_targets_that_are_missing_or_no_numbers_change_no_bit(target, mask, popart):
    before = moved()
    after = moved(critic=before, target=jnp.array(target), mask=jnp.array(mask), popart=popart)
    for one, other in zip(leaves(after), leaves(before), strict=True):
        np.testing.assert_array_equal(one, other)


def test_an_equal_unit_changes_no_bit_of_the_output_layer():
    rng = np.random.default_rng(5)
    head = Dense(*(jnp.asarray(rng.standard_normal(shape), jnp.float32) for shape in ((4, 50), (50,))))
    scale = moved().scale
    for one, other in zip(leaves(quick(corrected)(head, scale, scale)), leaves(head), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_target_that_does_not_count_may_be_anything():
    odd = moved(target=jnp.array([1.0, 5.0, np.nan]), mask=jnp.array([True, True, False]))
    assert unit(odd)[0] == pytest.approx(3.0)


def test_a_critic_without_a_scale_is_an_error_that_says_what_to_do():
    with pytest.raises(ConfigError, match=r"value_scale=True.*value_norm=none"):
        rescaled(eqx.tree_at(lambda c: c.scale, MODEL.critic, None), TARGET, ALL, 0.5, popart=True)


def test_gradients_move_a_corrected_output_layer_and_no_statistics():
    model = eqx.tree_at(lambda m: m.critic, MODEL, moved())
    trained: Any = trainable(model)[0]
    rule: Any = optimiser(PPOConfig(), Knobs(*knobs_at(PPOConfig(), 0.0)), labels(trained))
    update, _ = quick(rule.update)(jax.tree.map(jnp.ones_like, trained), rule.init(trained))
    for part in leaves(update.critic.head):
        assert (part < 0).all()
    assert len(leaves(update.critic.head)) == 2
    assert not leaves(update.critic.scale)
