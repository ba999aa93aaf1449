from dataclasses import replace

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.errors import ConfigError
from sparring.core.seeding import Seed
from sparring.core.spec import Feature
from sparring.nets.blocks import Dense
from sparring.nets.config import NetConfig
from sparring.nets.normalise import Normaliser
from sparring.nets.trunk import Grids, Trunk
from toy_players import quick

SEED = Seed.of(4)
UPDATED = quick(Normaliser.updated)
CALL = quick(lambda net, *inputs: net(*inputs))
RNG = np.random.default_rng(0)
X = np.float32(RNG.standard_normal((3, 5)))
LAYOUT = (
    Feature("speed", (2,)),
    Feature("board", (4, 3, 2)),
    Feature("others", (1, 2, 2), lists="others"),
    Feature("rest", (1,)),
)


def normed(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def matrix(layer: Dense) -> np.ndarray:
    return np.asarray(layer.weight_IO, float)


def test_layer_norms_stand_on_the_input_and_after_every_activation():
    trunk = Trunk.make(SEED, 5, NetConfig(hidden=(6, 4), layer_norm=True))
    first, second = trunk.layers
    by_hand = normed(np.tanh(normed(np.tanh(normed(X) @ matrix(first))) @ matrix(second)))
    np.testing.assert_allclose(CALL(trunk, X, ())[0], by_hand, atol=1e-5)


def test_a_layer_norm_after_a_cell_shows_the_normed_memory_and_keeps_the_plain_one():
    trunk = Trunk.make(SEED, 5, NetConfig(hidden=(6,), layer_norm=True, memory="gru", memory_size=7))
    hidden, memory = CALL(trunk, X, trunk.initial(3))
    np.testing.assert_allclose(hidden, normed(np.asarray(memory)), atol=1e-5)
    assert np.abs(hidden - memory).max() > 0.1


def test_a_simba_body_is_a_layer_then_blocks_then_a_layer_norm():
    trunk = Trunk.make(SEED, 5, NetConfig(hidden=(4, 4, 4), body="simba"))
    layer, *blocks = trunk.layers
    x = X @ matrix(layer)
    for block in blocks:
        x = x + np.maximum(normed(x) @ matrix(block.wide), 0) @ matrix(block.narrow)
    assert len(blocks) == 2
    np.testing.assert_allclose(CALL(trunk, X, ())[0], normed(x), atol=1e-5)


def test_a_trunk_says_how_wide_its_features_are():
    for config in (
        NetConfig(hidden=(6, 4)), NetConfig(hidden=()), NetConfig(memory="lstm", memory_size=7),
        NetConfig(hidden=(), convolutions=(3,)), NetConfig(hidden=(4, 4), body="simba", convolutions=(3,)),
    ):  # fmt: skip
        trunk = Trunk.make(SEED, 31, config, layout=LAYOUT)
        assert CALL(trunk, np.ones((2, 31)), trunk.initial(2))[0].shape == (2, trunk.width)


def test_convolutions_read_the_grid_and_leave_the_other_features_in_their_place():
    grids = Grids.make(SEED, LAYOUT, (3,), "relu")
    (kernel,) = grids.stacks[0]
    x = np.float32(RNG.standard_normal((2, 31)))
    board = np.maximum(kernel(x[:, 2:26].reshape(2, 4, 3, 2)), 0).reshape(2, 36)
    assert len(grids.stacks) == 1, "a list of other seats is no grid"
    assert grids.outputs == 2 + 36 + 4 + 1
    np.testing.assert_allclose(CALL(grids, x), np.concatenate([x[:, :2], board, x[:, 26:]], -1), atol=1e-5)


def test_every_grid_has_convolutions_of_its_own():
    grids = Grids.make(SEED, (Feature("near", (3, 3, 2)), Feature("far", (5, 2, 2))), (4, 3), "tanh")
    near, far = grids.stacks
    assert [len(near), len(far)] == [2, 2]
    assert not np.allclose(near[0].kernel.weight_IO, far[0].kernel.weight_IO, atol=1e-3)
    assert CALL(grids, np.ones((2, 38))).shape == (2, (9 + 10) * 3)


def test_observations_are_normalised_before_they_are_convolved():
    config = NetConfig(hidden=(), convolutions=(3,), normalise=True)
    trunk = Trunk.make(SEED, 31, config, layout=LAYOUT)
    rows = np.float32(5 + 3 * RNG.standard_normal((50, 31)))
    normaliser = UPDATED(trunk.normaliser, rows, jnp.ones(50))
    trunk = eqx.tree_at(lambda t: t.normaliser, trunk, normaliser)
    np.testing.assert_allclose(CALL(trunk, rows[:2], ())[0], CALL(trunk.grids, normaliser(rows[:2])), atol=1e-5)


def test_a_game_without_a_grid_refuses_convolutions_and_names_what_it_has():
    with pytest.raises(ConfigError, match=r"this game has speed \(2,\)\. Leave convolutions empty"):
        Trunk.make(SEED, 2, NetConfig(convolutions=(8,)), layout=LAYOUT[:1])


def test_what_stands_beside_an_observation_joins_after_the_normaliser():
    config = NetConfig(hidden=(), normalise=True)
    trunk = Trunk.make(SEED, 5, config, beside=2)
    trunk = eqx.tree_at(lambda t: t.normaliser, trunk, UPDATED(trunk.normaliser, 7 * X, jnp.ones(3)))
    beside = np.float32([[100.0, 2.0], [300.0, 4.0]])
    hidden, _ = CALL(trunk, X[:1], (), beside)
    np.testing.assert_allclose(hidden[:, :5], [trunk.normaliser(X[0])] * 2, rtol=1e-5)
    np.testing.assert_array_equal(hidden[:, 5:], beside)


def test_one_option_more_moves_no_weight_that_was_there():
    plain = Trunk.make(SEED, 5, NetConfig(hidden=(6, 4), memory="gru"))
    for option in ({"layer_norm": True}, {"normalise": True}):
        other = Trunk.make(SEED, 5, replace(NetConfig(hidden=(6, 4), memory="gru"), **option))
        for one, two in zip([*plain.layers, plain.cell.inputs], [*other.layers, other.cell.inputs], strict=True):
            np.testing.assert_array_equal(one.weight_IO, two.weight_IO)
