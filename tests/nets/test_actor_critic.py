from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.errors import ConfigError
from sparring.core.records import Action
from sparring.core.seeding import Seed
from sparring.core.spec import ActionSpec, Central, Feature, GameSpec
from sparring.nets.actor_critic import NOISE_FEATURES, UNTRAINED, ActorCritic, Critic
from sparring.nets.config import NetConfig
from sparring.nets.normalise import Held, ValueScale
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


BOARD = replace(SPEC, layout=(Feature("own", (1,)), Feature("board", (3, 2, 2))))
VARIANTS = {
    "mlp": NET,
    "layer_norm": replace(NET, layer_norm=True),
    "simba": replace(NET, hidden=(4, 4), body="simba"),
    "simba with layer norm and gru": replace(NET, hidden=(4, 4), body="simba", layer_norm=True, memory="gru"),
    "convolutions": replace(NET, convolutions=(3, 2), critic_hidden=(6, 5)),
    "gru": replace(NET, memory="gru"),
    "lstm": replace(NET, memory="lstm", layer_norm=True, normalise=True),
    "shared trunk": replace(NET, trunk="shared", memory="gru", std="state"),
    "fixed deviation": replace(NET, std="fixed"),
    "deviation of the state": replace(NET, std="state"),
    "central": replace(NET, critic="central", convolutions=(3,)),
}


def trained(model: ActorCritic) -> tuple[ActorCritic, ActorCritic]:
    """What gradients move, and the rest."""

    def moved(node):
        return jax.tree.map(lambda _: not isinstance(node, UNTRAINED), node)

    return eqx.partition(model, jax.tree.map(moved, model, is_leaf=lambda node: isinstance(node, UNTRAINED)))


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_gradient_reaches_every_trained_leaf(variant):
    config, rng = VARIANTS[variant], np.random.default_rng(0)
    noise = 0 if config.trunk == "shared" else 2
    model = ActorCritic.make(SEED, BOARD, config, value_scale=True, noise_seats=noise)
    model = jax.tree.map(lambda x: x + jnp.asarray(0.1 * rng.random(x.shape), jnp.float32), model)
    moving, still = trained(model)
    features = jnp.asarray(rng.standard_normal((2, 13)), jnp.float32)
    views = features if config.critic == "local" else jnp.asarray(rng.standard_normal((1, 6)), jnp.float32)
    memories = (model.actor.initial(2), model.judge.initial(model.critic.rows(2, config.critic == "central")))
    memories = jax.tree.map(lambda x: x + 0.3, memories)

    def loss(moving):
        whole = eqx.combine(moving, still)
        distribution, _ = whole.actor(features, jnp.ones((2, 5), bool), memories[0])
        value, _ = whole.judge(views, memories[1])
        log_prob = distribution.log_prob(Action(jnp.ones((2, 2), jnp.int32), jnp.full((2, 1), 0.4)))
        return (log_prob * jnp.array([1.0, 0.5]) + 0.1 * distribution.entropy() + (value - 1) ** 2).sum()

    for path, slope in jax.tree_util.tree_leaves_with_path(quick(jax.grad(loss))(moving)):
        assert np.abs(slope).max() > 0, jax.tree_util.keystr(path)
        assert np.isfinite(slope).all(), jax.tree_util.keystr(path)


def test_statistics_and_what_the_trainer_sets_are_not_trained():
    config = replace(NET, normalise=True, std="fixed")
    model = ActorCritic.make(SEED, SPEC, config, value_scale=True, noise_seats=2)
    moving, still = trained(model)
    paths = {jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(still)}
    assert paths == {
        *(f".{who}.trunk.normaliser.{part}" for who in ("actor", "critic") for part in ("mean_F", "square_F", "count")),
        *(f".critic.scale.{part}" for part in ("mean_sum", "square_sum", "weight")),
        ".actor.log_std_C.value",
        ".critic.noise_NZ.value",
    }
    assert len(leaves(moving)) == 8


def test_a_critic_may_have_widths_of_its_own():
    model = ActorCritic.make(SEED, SPEC, replace(NET, critic_hidden=(7, 6)))
    assert [layer.weight_IO.shape for layer in model.critic.trunk.layers] == [(4, 7), (7, 6)]
    assert [layer.weight_IO.shape for layer in model.actor.trunk.layers] == [(4, 8)]


def test_convolutions_are_for_those_who_see_the_grid():
    local, central = (
        ActorCritic.make(SEED, BOARD, replace(NET, convolutions=(3,), critic=c)) for c in ("local", "central")
    )
    assert local.critic.trunk.grids is not None and central.critic.trunk.grids is None
    assert central.actor.trunk.grids is not None
    with pytest.raises(ConfigError, match="this game has all"):
        ActorCritic.make(SEED, SPEC, replace(NET, convolutions=(3,)))


def test_the_gain_is_the_size_of_the_last_layer_of_the_actor():
    small, large = (ActorCritic.make(SEED, SPEC, replace(NET, policy_gain=gain)) for gain in (0.01, 0.5))
    np.testing.assert_allclose(large.actor.head.weight_IO, 50 * small.actor.head.weight_IO, rtol=1e-5)
    np.testing.assert_array_equal(large.critic.head.weight_IO, small.critic.head.weight_IO)


def deviations(actor, features) -> np.ndarray:
    return np.exp(CALL(actor, features, jnp.ones((2, 5), bool), ())[0].log_std_C)


TWO = jnp.array([[1.0, -2.0, 0.5, 3.0], [-1.0, 0.3, 2.0, -0.7]])


def test_a_fixed_deviation_is_what_the_trainer_sets():
    actor = ActorCritic.make(SEED, SPEC, replace(NET, std="fixed", initial_std=0.25)).actor
    assert isinstance(actor.log_std_C, Held)
    np.testing.assert_allclose(deviations(actor, TWO), [[0.25]] * 2, rtol=1e-6)
    actor = eqx.tree_at(lambda a: a.log_std_C.value, actor, jnp.log(jnp.array([0.1])))
    np.testing.assert_allclose(deviations(actor, TWO), [[0.1]] * 2, rtol=1e-6)


def test_a_deviation_of_the_state_starts_as_set_and_then_differs_from_state_to_state():
    actor = ActorCritic.make(SEED, SPEC, replace(NET, std="state", initial_std=0.25)).actor
    assert actor.log_std_C is None
    np.testing.assert_allclose(deviations(actor, TWO), [[0.25]] * 2, rtol=0.05)
    bold = eqx.tree_at(lambda a: a.head.weight_IO, actor, actor.head.weight_IO * 100)
    one, other = deviations(bold, TWO)[:, 0]
    assert abs(one - other) > 0.01
    np.testing.assert_allclose(
        CALL(bold, TWO, jnp.ones((2, 5), bool), ())[0].mean_C, bold.head(bold.trunk(TWO, ())[0])[:, 5:6], atol=1e-5
    )


@pytest.mark.parametrize(("bias", "log_std"), [(-30.0, -5.0), (30.0, 2.0)])
def test_a_deviation_of_the_state_stays_in_its_range(bias, log_std):
    actor = ActorCritic.make(SEED, SPEC, replace(NET, std="state")).actor
    actor = eqx.tree_at(lambda a: a.head.bias_O, actor, actor.head.bias_O.at[6].set(bias))
    np.testing.assert_allclose(np.log(deviations(actor, TWO)), [[log_std]] * 2, rtol=1e-5)


@pytest.mark.parametrize("std", ["fixed", "state"])
def test_an_action_without_dimensions_needs_no_deviation(std):
    spec = replace(SPEC, action=ActionSpec(heads=(3, 2)))
    actor = ActorCritic.make(SEED, spec, replace(NET, std=std)).actor
    assert actor.head.weight_IO.shape == (8, 5)
    assert deviations(actor, TWO).shape == (2, 0)


VALUE = quick(lambda model, views, memory: model.judge(views, memory)[0])


def test_a_shared_trunk_is_one_for_both():
    model = ActorCritic.make(SEED, SPEC, replace(NET, trunk="shared"))
    apart = ActorCritic.make(SEED, SPEC, NET)
    assert model.critic.trunk is None and len(leaves(model.critic)) == 2
    hidden, _ = model.actor.trunk(TWO, ())
    np.testing.assert_allclose(VALUE(model, TWO, ()), model.critic.head(hidden)[:, 0], atol=1e-6)
    moved = eqx.tree_at(lambda m: m.actor.trunk.layers[0].bias_O, model, jnp.ones(8))
    assert np.abs(VALUE(moved, TWO, ()) - VALUE(model, TWO, ())).min() > 1e-3
    np.testing.assert_array_equal(model.critic.head.weight_IO, apart.critic.head.weight_IO)
    assert apart.judge is apart.critic


def test_what_the_critic_learns_moves_a_shared_trunk_and_no_other_trunk_of_the_actor():
    slope = quick(jax.grad(lambda model: model.judge(TWO, ())[0].sum()))
    for trunk in ("shared", "separate"):
        model = ActorCritic.make(SEED, SPEC, replace(NET, trunk=trunk))
        moved = np.abs(slope(model).actor.trunk.layers[0].weight_IO).max() > 1e-3
        assert moved == (trunk == "shared")


def test_stacked_models_share_their_trunks_row_by_row():
    models = [ActorCritic.make(Seed.of(s), SPEC, replace(NET, trunk="shared", memory="gru")) for s in (1, 2)]
    stacked = jax.tree.map(lambda *rows: jnp.stack(rows), *models)
    memory = models[0].judge.initial(2)
    assert stacked.judge.initial(2).shape == memory.shape
    both = quick(jax.vmap(lambda critic: critic(TWO, memory)[0]))(stacked.judge)
    np.testing.assert_allclose(both, [VALUE(model, TWO, memory) for model in models], atol=1e-6)


def noisy(noise, **settings) -> Critic:
    config = replace(NET, critic="central", **settings)
    critic = ActorCritic.make(SEED, SPEC, config, noise_seats=3).critic
    return eqx.tree_at(lambda c: c.noise_NZ.value, critic, jnp.asarray(noise, jnp.float32))


def test_noise_gives_seats_with_one_view_values_of_their_own():
    noise = np.random.default_rng(0).standard_normal((3, NOISE_FEATURES))
    view = jnp.ones((1, 6))
    value, _ = CALL(noisy(noise), view, ())
    assert value.shape == (3,)
    assert min(abs(value[0] - value[1]), abs(value[1] - value[2]), abs(value[0] - value[2])) > 1e-3
    np.testing.assert_allclose(CALL(noisy(0 * noise), view, ())[0], [CALL(noisy(0 * noise), view, ())[0][0]] * 3)
    # A seat's noise is its own: changing another's does not move its value.
    noise[2] = 9.0
    other, _ = CALL(noisy(noise), view, ())
    np.testing.assert_allclose(other[:2], value[:2], atol=1e-6)
    assert abs(other[2] - value[2]) > 1e-3


def test_noise_reaches_every_world_alike_and_views_of_single_seats_too():
    noise = np.random.default_rng(0).standard_normal((3, NOISE_FEATURES))
    views_WVG = jnp.asarray(np.random.default_rng(1).standard_normal((4, 1, 6)), jnp.float32)
    shared, _ = CALL(noisy(noise), views_WVG, ())
    single, _ = CALL(noisy(noise), jnp.broadcast_to(views_WVG, (4, 3, 6)), ())
    assert shared.shape == (4, 3)
    np.testing.assert_allclose(shared, single, atol=1e-6)


def test_a_memory_has_a_row_for_each_seat_unless_all_share_a_view_without_noise():
    plain = ActorCritic.make(SEED, SPEC, replace(NET, critic="central")).critic
    assert [plain.rows(3, True), plain.rows(3, False)] == [1, 3]
    critic = noisy(np.zeros((3, NOISE_FEATURES)), memory="gru")
    assert [critic.rows(3, True), critic.rows(3, False)] == [3, 3]
    value, memory = CALL(critic, jnp.ones((1, 6)), critic.initial(3))
    assert (value.shape, memory.shape) == ((3,), (3, 5))


def test_the_statistics_of_a_noisy_critic_are_those_of_its_view():
    critic = noisy(np.zeros((3, NOISE_FEATURES)), normalise=True)
    assert critic.trunk.normaliser.mean_F.shape == (6,)
    assert critic.trunk.layers[0].weight_IO.shape == (6 + NOISE_FEATURES, 8)


def test_values_are_in_units_of_reward_whatever_the_head_learns_in():
    plain, scaled = (ActorCritic.make(SEED, SPEC, NET, value_scale=scale).critic for scale in (False, True))
    raw, _ = CALL(plain, TWO, ())
    np.testing.assert_array_equal(CALL(scaled, TWO, ())[0], raw)
    # Mean 3, mean square 13: deviation 2.
    scale = ValueScale(jnp.float32(3.0), jnp.float32(13.0), jnp.float32(1.0))
    value, _ = CALL(eqx.tree_at(lambda c: c.scale, scaled, scale), TWO, ())
    np.testing.assert_allclose(value, 2 * raw + 3, rtol=1e-5)
