import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.signal import correlate2d

from sparring.core.seeding import Seed
from sparring.nets.blocks import GRU, LSTM, Convolution, Dense, LayerNorm, Residual, orthogonal


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize(("rows", "columns"), [(7, 3), (3, 7), (5, 5)])
def test_the_shorter_side_of_an_orthogonal_matrix_is_orthogonal_with_the_gain_as_length(rows, columns):
    matrix = orthogonal(Seed.of(0), rows, columns, 1.7)
    assert matrix.shape == (rows, columns)
    gram = matrix.T @ matrix if rows >= columns else matrix @ matrix.T
    np.testing.assert_allclose(gram, 1.7**2 * np.eye(min(rows, columns)), atol=1e-5)


def test_orthogonal_matrices_have_no_preferred_sign():
    # Without the correction by the signs of r, Householder's q has a negative first entry for every seed.
    corners = [orthogonal(Seed.of(seed), 4, 4, 1.0)[0, 0] for seed in range(40)]
    assert 8 < sum(corner > 0 for corner in corners) < 32


def test_a_dense_layer_is_its_matrix_and_its_bias():
    layer = Dense(jnp.array([[1.0, 2.0], [3.0, 4.0]]), jnp.array([10.0, 20.0]))
    np.testing.assert_array_equal(layer(jnp.array([1.0, -1.0])), [10.0 + 1 - 3, 20.0 + 2 - 4])


def test_the_gradient_of_stacked_layers_is_that_of_each_by_hand():
    # d(sum of g * (x @ w + b)) is x^T g for the weights, the sum of g for the bias and g w^T for the input.
    x = np.arange(24, dtype=np.float32).reshape(2, 2, 2, 3) - 7
    g = np.arange(16, dtype=np.float32).reshape(2, 2, 2, 2) % 5 - 2
    stack = Dense(jnp.arange(12.0).reshape(2, 3, 2), jnp.arange(4.0).reshape(2, 2))
    loss = jax.grad(lambda layer, x, g: (g * layer(x)).sum(), argnums=(0, 1))
    layer, inputs = jax.jit(jax.vmap(loss))(stack, x, g)
    np.testing.assert_array_equal(layer.weight_IO, np.einsum("lmni,lmno->lio", x, g))
    np.testing.assert_array_equal(layer.bias_O, g.sum((1, 2)))
    np.testing.assert_array_equal(inputs, np.einsum("lmno,lio->lmni", g, stack.weight_IO))


def test_weights_follow_from_the_path_alone():
    path = Seed.of(3) / "actor" / "layer" / 0
    np.testing.assert_array_equal(Dense.make(path, 4, 5).weight_IO, Dense.make(path, 4, 5).weight_IO)
    for other in (Seed.of(4) / "actor" / "layer" / 0, Seed.of(3) / "actor" / "layer" / 1):
        assert not np.allclose(Dense.make(path, 4, 5).weight_IO, Dense.make(other, 4, 5).weight_IO, atol=1e-3)


def test_each_gate_of_a_cell_is_orthogonal_and_none_is_another():
    gates = np.split(np.asarray(GRU.make(Seed.of(0), 6, 4).hidden.weight_IO), 3, axis=1)
    for gate in gates:
        np.testing.assert_allclose(gate @ gate.T, np.eye(4), atol=1e-5)
    assert not np.allclose(gates[0], gates[1], atol=1e-3)
    assert not np.allclose(gates[1], gates[2], atol=1e-3)


def with_biases(cell, rng):
    """The same cell with biases that are not 0, so that a forgotten one shows."""
    width = cell.inputs.bias_O.shape[0]
    bias = [jnp.asarray(rng.standard_normal(width), jnp.float32) for _ in range(2)]
    return type(cell)(Dense(cell.inputs.weight_IO, bias[0]), Dense(cell.hidden.weight_IO, bias[1]))


def test_a_gru_step_is_the_published_one():
    rng = np.random.default_rng(0)
    cell = with_biases(GRU.make(Seed.of(0), 5, 3), rng)
    x, h = rng.standard_normal((2, 5)), rng.standard_normal((2, 3))
    memory, output = cell(jnp.asarray(h, jnp.float32), jnp.asarray(x, jnp.float32))

    from_x = x @ np.asarray(cell.inputs.weight_IO, float) + np.asarray(cell.inputs.bias_O, float)
    from_h = h @ np.asarray(cell.hidden.weight_IO, float) + np.asarray(cell.hidden.bias_O, float)
    update = sigmoid(from_x[:, 0:3] + from_h[:, 0:3])
    reset = sigmoid(from_x[:, 3:6] + from_h[:, 3:6])
    new = np.tanh(from_x[:, 6:9] + reset * from_h[:, 6:9])
    np.testing.assert_allclose(memory, (1 - update) * new + update * h, atol=1e-6)
    np.testing.assert_array_equal(memory, output)


def test_an_lstm_step_is_the_published_one_with_a_forget_bias_of_1():
    rng = np.random.default_rng(1)
    cell = with_biases(LSTM.make(Seed.of(0), 5, 3), rng)
    x, h, c = rng.standard_normal((2, 5)), rng.standard_normal((2, 3)), rng.standard_normal((2, 3))
    memory = (jnp.asarray(h, jnp.float32), jnp.asarray(c, jnp.float32))
    (output, kept), shown = cell(memory, jnp.asarray(x, jnp.float32))

    total = (
        x @ np.asarray(cell.inputs.weight_IO, float) + np.asarray(cell.inputs.bias_O, float)
        + h @ np.asarray(cell.hidden.weight_IO, float) + np.asarray(cell.hidden.bias_O, float)
    )  # fmt: skip
    keep, write, show = (sigmoid(total[:, i : i + 3] + (i == 0)) for i in (0, 3, 6))
    cell_after = keep * c + write * np.tanh(total[:, 9:12])
    np.testing.assert_allclose(kept, cell_after, atol=1e-6)
    np.testing.assert_allclose(output, show * np.tanh(cell_after), atol=1e-6)
    np.testing.assert_array_equal(output, shown)


@pytest.mark.parametrize("cell", [GRU, LSTM])
def test_a_fresh_memory_is_blank_and_has_the_width_of_the_cell(cell):
    memory = cell.make(Seed.of(0), 5, 3).initial(2, 4)
    for part in memory if isinstance(memory, tuple) else (memory,):
        np.testing.assert_array_equal(part, np.zeros((2, 4, 3)))


def test_a_layer_norm_gives_every_vector_mean_0_and_deviation_1():
    x = jnp.asarray(50 + 7 * np.random.default_rng(0).standard_normal((3, 2, 16)), jnp.float32)
    y = np.asarray(LayerNorm.make(16)(x))
    np.testing.assert_allclose(y.mean(-1), np.zeros((3, 2)), atol=1e-5)
    np.testing.assert_allclose(y.std(-1), np.ones((3, 2)), atol=1e-5)


def test_a_layer_norm_by_hand():
    # Mean 4, deviations -2, 0, 2, variance 8/3; epsilon is too small to show.
    norm = LayerNorm(jnp.array([1.0, 2.0, 3.0]), jnp.array([0.0, 0.5, -1.0]))
    unit = 2 / np.sqrt(8 / 3)
    np.testing.assert_allclose(norm(jnp.array([2.0, 4.0, 6.0])), [-unit, 0.5, 3 * unit - 1], rtol=1e-5)


def test_a_layer_norm_of_equal_numbers_is_its_offset_and_has_a_finite_gradient():
    norm = LayerNorm(jnp.ones(3), jnp.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(norm(jnp.full(3, 7.0)), [1.0, 2.0, 3.0])
    assert np.isfinite(jax.grad(lambda x: (norm(x) ** 2).sum())(jnp.full(3, 7.0))).all()


def test_a_residual_block_adds_a_wide_relu_layer_of_the_normed_input():
    rng = np.random.default_rng(0)
    block = Residual.make(Seed.of(0), 4)
    assert block.wide.weight_IO.shape == (4, 16)
    x = rng.standard_normal((5, 4))
    normed = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    added = np.maximum(normed @ np.asarray(block.wide.weight_IO, float), 0) @ np.asarray(block.narrow.weight_IO, float)
    np.testing.assert_allclose(block(jnp.asarray(x, jnp.float32)), x + added, atol=1e-5)


def test_the_layers_of_a_residual_block_start_with_the_variance_of_he():
    block = Residual.make(Seed.of(0), 32)
    np.testing.assert_allclose(np.square(block.wide.weight_IO).mean(), 2 / 32, rtol=1e-5)
    np.testing.assert_allclose(np.square(block.narrow.weight_IO).mean(), 2 / 128, rtol=1e-5)


def test_a_convolution_is_the_textbook_one_with_zeros_beyond_the_edge():
    rng = np.random.default_rng(0)
    x, kernel, bias = rng.standard_normal((2, 5, 4, 3)), rng.standard_normal((3, 3, 3, 2)), rng.standard_normal(2)
    matrix = jnp.asarray(kernel.reshape(27, 2), jnp.float32)
    ours = Convolution(Dense(matrix, jnp.asarray(bias, jnp.float32)))(jnp.asarray(x, jnp.float32))
    for batch in range(2):
        for out in range(2):
            planes = [correlate2d(x[batch, :, :, c], kernel[:, :, c, out], mode="same") for c in range(3)]
            np.testing.assert_allclose(ours[batch, :, :, out], sum(planes) + bias[out], atol=1e-5)


def test_convolutions_of_stacked_policies_are_one_matrix_product():
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(Convolution.make(Seed.of(s), 3, 2) for s in range(4)))
    program = str(jax.make_jaxpr(jax.vmap(lambda net, x: net(x)))(stacked, jnp.ones((4, 6, 5, 5, 3))))
    assert program.count("dot_general") == 1
    assert "conv_general" not in program
