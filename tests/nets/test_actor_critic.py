from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.seeding import Seed
from sparring.core.spec import ActionSpec, Central, Feature, GameSpec
from sparring.nets.actor_critic import ActorCritic, NetConfig
from toy_players import quick

SPEC = GameSpec(
    seats=2,
    side_of_seat=(0, 0),
    action=ActionSpec(heads=(3, 2), low=(-1.0,), high=(1.0,)),
    layout=(Feature("all", (4,)),),
    central=Central("world", 6),
    longest=5,
)
NET = NetConfig(hidden=(8,), memory_size=5)
SEED = Seed.of(2) / "weights"
CALL = quick(lambda net, *inputs: net(*inputs))


def leaves(tree) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


def test_changing_the_critic_does_not_move_the_actor_by_a_bit():
    local, central = (ActorCritic.make(SEED, SPEC, replace(NET, critic=critic)) for critic in ("local", "central"))
    for one, other in zip(leaves(local.actor), leaves(central.actor), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_layer_more_does_not_move_the_layers_before_it_by_a_bit():
    one, two = (ActorCritic.make(SEED, SPEC, replace(NET, hidden=hidden)) for hidden in ((8,), (8, 8)))
    np.testing.assert_array_equal(one.actor.trunk.layers[0].weight_IO, two.actor.trunk.layers[0].weight_IO)


def test_actor_and_critic_have_weights_of_their_own():
    model = ActorCritic.make(SEED, SPEC, NET)
    assert not np.allclose(model.actor.trunk.layers[0].weight_IO, model.critic.trunk.layers[0].weight_IO, atol=1e-3)


def test_a_central_critic_takes_the_central_view_and_a_local_one_the_features():
    for critic, inputs in (("local", 4), ("central", 6)):
        model = ActorCritic.make(SEED, SPEC, replace(NET, critic=critic))
        value, _ = CALL(model.critic, jnp.ones((1, inputs)), ())
        assert value.shape == (1,)
        assert model.critic.trunk.layers[0].weight_IO.shape == (inputs, 8)


def test_an_untrained_policy_is_almost_uniform_with_the_initial_deviation():
    model = ActorCritic.make(SEED, SPEC, replace(NET, initial_std=0.25))
    distribution, _ = CALL(model.actor, jnp.ones((2, 4)), jnp.ones((2, 5), bool), ())
    np.testing.assert_allclose(np.exp(distribution.log_p_A), [[1 / 3] * 3 + [1 / 2] * 2] * 2, atol=0.01)
    np.testing.assert_allclose(np.exp(distribution.log_std_C), [[0.25]] * 2, rtol=1e-6)


@pytest.mark.parametrize("memory", ["none", "gru", "lstm"])
def test_a_seat_is_served_alike_wherever_it_sits_and_whoever_sits_beside_it(memory):
    model = ActorCritic.make(SEED, SPEC, replace(NET, memory=memory))
    features_NF = jnp.asarray(np.random.default_rng(0).standard_normal((2, 4)), jnp.float32)
    legal_NA = jnp.array([[True, False, True, True, True], [True, True, True, False, True]])
    both, _ = CALL(model.actor, features_NF, legal_NA, model.actor.initial(2))
    swapped, _ = CALL(model.actor, features_NF[::-1], legal_NA[::-1], model.actor.initial(2))
    alone, _ = CALL(model.actor, features_NF[:1], legal_NA[:1], model.actor.initial(1))
    np.testing.assert_allclose(both.log_p_A[0], swapped.log_p_A[1], atol=1e-6)
    np.testing.assert_allclose(both.log_p_A[0], alone.log_p_A[0], atol=1e-6)
    np.testing.assert_allclose(both.mean_C[0], alone.mean_C[0], atol=1e-6)


@pytest.mark.parametrize("memory", ["gru", "lstm"])
def test_what_was_seen_before_changes_what_a_recurrent_policy_does(memory):
    actor = ActorCritic.make(SEED, SPEC, replace(NET, memory=memory)).actor
    legal_NA = jnp.ones((1, 5), bool)
    now = jnp.ones((1, 4))
    _, remembered = CALL(actor, jnp.array([[3.0, -1.0, 2.0, 0.5]]), legal_NA, actor.initial(1))
    fresh, _ = CALL(actor, now, legal_NA, actor.initial(1))
    later, _ = CALL(actor, now, legal_NA, remembered)
    assert np.abs(fresh.log_p_A - later.log_p_A).max() > 1e-4
