"""A state_dict from PyTorch plays as it did there, and one that does not fit is refused with a sentence."""

import json
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import save_file

from sparring.core.errors import ConfigError, RunError
from sparring.core.spec import ActionSpec, Feature
from sparring.games.matrix import rock_paper_scissors
from sparring.players.from_torch import TorchCard, read_network
from sparring.players.named import entrant, entrant_of, entrants, game_of, save_entrant

RPS, GAME = "matrix:rock_paper_scissors", rock_paper_scissors()
SPEC = replace(GAME.spec, layout=(Feature("own", (2,)), Feature("other", (3,))), action=ActionSpec(heads=(3,)))
SEES, HIDDEN, MEMORY = 5, 6, 4


def state_dict(**sizes: tuple[int, ...]) -> dict[str, np.ndarray]:
    numbers = np.random.default_rng(5)
    return {name.replace("__", "."): numbers.normal(0, 0.5, size).astype(np.float32) for name, size in sizes.items()}


def linear(name: str, outputs: int, inputs: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}__weight": (outputs, inputs), f"{name}__bias": (outputs,)}


def cell(gates: int) -> dict[str, tuple[int, ...]]:
    size = gates * MEMORY
    return {
        "rnn__weight_ih_l0": (size, HIDDEN), "rnn__weight_hh_l0": (size, MEMORY),
        "rnn__bias_ih_l0": (size,), "rnn__bias_hh_l0": (size,),
    }  # fmt: skip


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    return np.exp(x) / np.exp(x).sum(-1, keepdims=True)


def said(weights: dict[str, np.ndarray], card: TorchCard, tmp_path, features: list[np.ndarray]):
    """What the player answers to features, one after another."""
    save_file(weights, tmp_path / "mine.safetensors")
    path = tmp_path / "mine.json"
    player = entrant_of(path, *read_network(path, card, SPEC), SPEC)
    memory, found = player.policy.initial(2), []
    for x in features:
        distribution, memory = player.policy(jnp.asarray(x), jnp.ones((2, SPEC.action.entries), bool), memory)
        found.append(np.exp(np.asarray(distribution.log_p_A)))
    return found


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_a_recurrent_network_answers_as_by_the_formulas_of_pytorch(kind, tmp_path):
    """Formulas of torch.nn.GRU (gates r, z, n) and torch.nn.LSTM (i, f, g, o)."""
    w = state_dict(**linear("body__0", HIDDEN, SEES), **cell({"gru": 3, "lstm": 4}[kind]), **linear("pi", 3, MEMORY))
    card = TorchCard(game=RPS, layers=("body.0",), activation="relu", memory="rnn", head="pi")
    features = [np.random.default_rng(i).normal(size=(2, SEES)).astype(np.float32) for i in range(2)]
    h = c = np.zeros((2, MEMORY))
    for x, answer in zip(features, said(w, card, tmp_path, features), strict=True):
        x = np.maximum(x @ w["body.0.weight"].T + w["body.0.bias"], 0)
        from_x, from_h = (
            v @ w[f"rnn.weight_{part}_l0"].T + w[f"rnn.bias_{part}_l0"] for v, part in ((x, "ih"), (h, "hh"))
        )
        if kind == "gru":
            (r, z, n), (rh, zh, nh) = np.split(from_x, 3, -1), np.split(from_h, 3, -1)
            z, new = sigmoid(z + zh), np.tanh(n + sigmoid(r + rh) * nh)
            h = (1 - z) * new + z * h
        else:
            i, f, g, o = np.split(from_x + from_h, 4, -1)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
        np.testing.assert_allclose(answer, softmax(h @ w["pi.weight"].T + w["pi.bias"]), atol=1e-5)


def test_inputs_and_outputs_are_mapped_as_the_card_says(tmp_path):
    """It sees feature 4, then the block `own` (0 and 1); its outputs stand in another order and one is not used."""
    w = state_dict(**linear("0", HIDDEN, 3), **linear("2", 4, HIDDEN))
    card = TorchCard(game=RPS, layers=("0",), head="2", inputs=("4", "own"), outputs=(3, 0, 1))
    x = np.arange(10, dtype=np.float32).reshape(2, 5) / 5
    hidden = np.tanh(x[:, [4, 0, 1]] @ w["0.weight"].T + w["0.bias"])
    logits = (hidden @ w["2.weight"].T + w["2.bias"])[:, [3, 0, 1]]
    np.testing.assert_allclose(said(w, card, tmp_path, [x])[0], softmax(logits), atol=1e-5)


def test_deviations_come_from_an_array_or_from_the_head(tmp_path):
    spec = replace(SPEC, action=ActionSpec(low=(-1.0, -1.0), high=(1.0, 1.0)))
    w = state_dict(**linear("0", HIDDEN, SEES), **linear("2", 2, HIDDEN), actor_logstd=(1, 2))
    save_file(w, tmp_path / "mine.safetensors")
    card = TorchCard(game=RPS, layers=("0",), head="2", log_std="actor_logstd")
    arrays, _ = read_network(tmp_path / "mine.json", card, spec)
    assert arrays["log_std_C"].tolist() == w["actor_logstd"][0].tolist()
    with pytest.raises(RunError, match=r"2 gives 2 outputs, and .* needs 4"):
        read_network(tmp_path / "mine.json", replace(card, log_std=""), spec)


def test_a_card_is_named_like_any_player_and_can_be_a_package(tmp_path):
    features = GAME.spec.features
    save_file(state_dict(**linear("0", HIDDEN, features), **linear("2", 3, HIDDEN)), tmp_path / "mine.safetensors")
    card = tmp_path / "mine.json"
    card.write_text(json.dumps({"game": RPS, "layers": ["0"], "head": "2"}))
    assert game_of([str(card)]) == (RPS, ())
    player = entrants([str(card), "random"], GAME, RPS)["mine"]
    assert player.sides == (0, 1) and player.meta is not None
    again = entrant(str(save_entrant(player, tmp_path / "kept.safetensors")), GAME, RPS)
    assert jnp.array_equal(again.policy.head.weight_IO, player.policy.head.weight_IO)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"layers": ["1"]}, "Unknown array in its weights '1.weight'"),
        ({"layers": []}, "2 takes 6 inputs, and the card's inputs are"),
        ({"layers": ["0", "0"]}, "0 takes . inputs, and the layer before it gives 6"),
        ({"head": "0"}, "0 takes . inputs, and the layer before it gives 6"),
        ({"inputs": ["hand"]}, "Unknown block of features in inputs 'hand'"),
        ({"inputs": ["0", "0"]}, "each feature at most once"),
        ({"outputs": [0, 1]}, "for each of 3 entries"),
        ({"memory": "0"}, "Unknown array in its weights '0.weight_ih'"),
        ({"weights": "../mine.safetensors"}, "must name a file beside it"),
        ({"weights": "yours.safetensors"}, "Cannot read the weights"),
        ({"game": "kuhn"}, "plays kuhn, not matrix:rock_paper_scissors"),
        ({"layer": ["0"]}, "layer"),
        ({"activation": "sine"}, "activation must be"),
    ],
)
def test_what_does_not_fit_is_told_in_a_sentence(change, told, tmp_path):
    features = GAME.spec.features
    save_file(state_dict(**linear("0", HIDDEN, features), **linear("2", 3, HIDDEN)), tmp_path / "mine.safetensors")
    (tmp_path / "mine.json").write_text(json.dumps({"game": RPS, "layers": ["0"], "head": "2", **change}))
    with pytest.raises((RunError, ConfigError), match=told):
        entrant(str(tmp_path / "mine.json"), GAME, RPS)


def test_a_file_of_pytorch_is_read_as_data_alone(tmp_path):
    torch = pytest.importorskip("torch", reason="files .pt are read where PyTorch is")
    net = torch.nn.Sequential(torch.nn.Linear(GAME.spec.features, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
    torch.save(net.state_dict(), tmp_path / "mine.pt")
    with pytest.raises(RunError, match=r"needs a card mine\.json beside it"):
        entrant(str(tmp_path / "mine.pt"), GAME, RPS)
    (tmp_path / "mine.json").write_text(json.dumps({"game": RPS, "layers": ["0"], "head": "2"}))
    player = entrant(str(tmp_path / "mine.pt"), GAME, RPS)
    x = np.ones((1, GAME.spec.features), np.float32)
    distribution, _ = player.policy(jnp.asarray(x), jnp.ones((1, 3), bool), ())
    expected = torch.softmax(net(torch.tensor(x)), -1).detach().numpy()
    np.testing.assert_allclose(np.exp(np.asarray(distribution.log_p_A)), expected, atol=1e-5)
    torch.save(net, tmp_path / "mine.pt")
    with pytest.raises(RunError, match="not a state_dict of plain data"):
        entrant(str(tmp_path / "mine.pt"), GAME, RPS)
