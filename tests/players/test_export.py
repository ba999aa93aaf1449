"""A player that is taken away decides as it does here: in PyTorch and in ONNX, with every kind of layer and action."""

import json
import sys
from dataclasses import replace
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from sparring.core.errors import ConfigError, RunError
from sparring.core.seeding import Seed
from sparring.core.settings import to_dict
from sparring.core.spec import ActionSpec, Feature
from sparring.games.matrix import rock_paper_scissors
from sparring.games.registry import make
from sparring.nets.actor_critic import Actor
from sparring.nets.config import NetConfig
from sparring.play.mixed import Mixture
from sparring.players.export import Format, export
from sparring.players.named import Entrant, entrant
from sparring.store.packages import PlayerMeta

SPREAD = make("particles:spread").spec
HEADS, BOX = ActionSpec(heads=(3, 2)), ActionSpec(low=(-1.0, 0.0), high=(1.0, 2.0))
HYBRID = ActionSpec(heads=(2, 3), low=(-1.0,), high=(1.0,), counts=((True, False), (False, True)))
NETS = {
    "plain": (HEADS, NetConfig(hidden=(8, 8))),
    "gru": (HYBRID, NetConfig(hidden=(8,), memory="gru", memory_size=6, activation="gelu", layer_norm=True)),
    "lstm": (BOX, NetConfig(hidden=(8,), memory="lstm", memory_size=6, activation="relu", normalise=True)),
    "simba": (HYBRID, NetConfig(hidden=(8, 8, 8), body="simba", normalise=True, std="state")),
    "grids": (HEADS, NetConfig(hidden=(8,), convolutions=(4, 3), activation="silu", normalise=True)),
    "fixed": (BOX, NetConfig(hidden=(), memory="gru", memory_size=6, std="fixed")),
    "hyper": (HYBRID, NetConfig(hidden=(8, 8), hyper="residual", hyper_size=4, layer_norm=True, activation="relu")),
    "hyper_seat": (HEADS, NetConfig(hidden=(8,), hyper="residual", hyper_sees="nothing", hyper_layers="all")),
    "hyper_rank": (BOX, NetConfig(hidden=(8,), hyper="residual", hyper_layers="low_rank", hyper_rank=2, memory="lstm",
                                  memory_size=6, hyper_id="learned", hyper_encoder="gru", normalise=True)),
    "hyper_full": (HEADS, NetConfig(hidden=(8,), hyper="full", hyper_layers="all", hyper_id="none", normalise=True,
                                    hyper_encoder="lstm", hyper_history=2)),
    "hyper_grids": (HEADS, NetConfig(hidden=(8,), hyper="residual", convolutions=(4,), normalise=True)),
    "hyper_now": (HEADS, NetConfig(hidden=(8,), hyper="residual", hyper_history=0)),
}  # fmt: skip
ROWS = 5


def spec_of(action: ActionSpec):
    """With as many seats on one side as there are rows: weights may differ from seat to seat."""
    layout = (Feature("own", (3,)), Feature("board", (2, 3, 2)), Feature("clock", (1,)))
    return replace(SPREAD, action=action, layout=layout, seats=ROWS, side_of_seat=(0,) * ROWS)


@cache
def player_of(name: str) -> Entrant:
    """With weights as after training: none at its first value, statistics of observations among them."""
    action, net = NETS[name]
    actor, numbers = Actor.make(Seed.of(1), spec_of(action), net), np.random.default_rng(2)
    moved = jax.tree.map(lambda x: jnp.asarray(np.asarray(x) + numbers.uniform(0, 0.3, x.shape), x.dtype), actor)
    meta = PlayerMeta(game="a", net=to_dict(net), player="learner")
    return Entrant("a:learner", moved, "run", (0, 1), meta)


@cache
def decisions(name: str) -> tuple[list[tuple[np.ndarray, np.ndarray]], list[list[np.ndarray]]]:
    """Two steps in a row: features and legal entries, and what the player says."""
    numbers, player, action = np.random.default_rng(3), player_of(name), NETS[name][0]
    said, seen, memory = [], [], player.policy.initial(ROWS)
    decide = eqx.filter_jit(player.policy)
    for _ in range(2):
        features = numbers.normal(0, 2, (ROWS, 16)).astype(np.float32)
        legal = numbers.random((ROWS, action.entries)) < 0.6
        legal[:, np.cumsum([0, *action.heads])[:-1][: len(action.heads)]] = True
        distribution, memory = decide(jnp.asarray(features), jnp.asarray(legal), memory)
        seen.append((features, legal))
        log_p, mean, log_std = map(np.asarray, (distribution.log_p_A, distribution.mean_C, distribution.log_std_C))
        said.append([np.exp(log_p), mean, np.exp(log_std)])
    return seen, said


def written(name: str, folder: Path, kind: Format) -> Path:
    export(player_of(name), spec_of(NETS[name][0]), folder, (kind,))
    return folder / "a-learner"


def assert_near(found: Any, expected: Any) -> None:
    for ours, theirs in zip(expected, found, strict=True):
        np.testing.assert_allclose(np.asarray(theirs), ours, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", NETS)
def test_the_pytorch_module_gives_the_same_probabilities(name, tmp_path):
    torch = pytest.importorskip("torch", reason="the exported module is tried where PyTorch is")
    seen, said = decisions(name)
    stem = written(name, tmp_path, "torch")
    found = spec_from_file_location("exported", stem.with_suffix(".py"))
    assert found is not None and found.loader is not None
    module = module_from_spec(found)
    found.loader.exec_module(module)
    policy, memory = module.Policy.load(stem.with_suffix(".json")), None
    for (features, legal), expected in zip(seen, said, strict=True):
        given = torch.tensor(features), torch.tensor(legal), memory, torch.arange(ROWS)
        with torch.no_grad():
            *decision, memory = policy(*given)
        assert_near(decision, expected)
        chosen, _, _ = policy.act(*given)
        entries = chosen.numpy() + np.cumsum([0, *NETS[name][0].heads])[: chosen.shape[1]]
        assert np.take_along_axis(legal, entries.astype(int), 1).all()


@pytest.mark.parametrize("name", NETS)
def test_the_onnx_graph_gives_the_same_probabilities(name, tmp_path):
    pytest.importorskip("onnx", reason="graphs are written where the package onnx is")
    runtime = pytest.importorskip("onnxruntime", reason="graphs are tried where onnxruntime is")
    action, net = NETS[name]
    seen, said = decisions(name)
    session = runtime.InferenceSession(written(name, tmp_path, "onnx").with_suffix(".onnx"))
    wanted = [x.name for x in session.get_outputs()]
    inputs = {x.name: x.shape[1] for x in session.get_inputs()}
    memory = {x: np.zeros((ROWS, size), np.float32) for x, size in inputs.items() if x[:6] in ("memory", "steps")}
    assert len(memory) == {"none": 0, "gru": 1, "lstm": 2}[net.memory] + ("steps" in inputs)
    seat = {"seat": np.arange(ROWS)[:, None]} if "seat" in inputs else {}
    for (features, legal), expected in zip(seen, said, strict=True):
        given = {"features": features, **({"legal": legal} if action.heads else {}), **seat, **memory}
        out = dict(zip(wanted, session.run(None, given), strict=True))
        memory = {key.removeprefix("next_"): value for key, value in out.items() if key.startswith("next_")}
        names = ["probabilities", "mean", "deviation"]
        assert_near(*zip(*((out[k], e) for k, e in zip(names, expected, strict=True) if e.size), strict=True))


def test_the_package_among_the_files_plays_here_and_the_card_tells_what_it_sees(tmp_path):
    game, net = rock_paper_scissors(), NetConfig(hidden=(4,))
    meta = PlayerMeta(game="matrix:rock_paper_scissors", net=to_dict(net), player="learner", sides=(0, 1))
    player = Entrant("a", Actor.make(Seed.of(1), game.spec, net), "run", (0, 1), meta)
    export(player, game.spec, tmp_path, ("package", "torch"))
    card = json.loads((tmp_path / "a.json").read_text())
    assert [step["do"] for step in card["network"]] == ["dense", "tanh", "dense"] and card["action"]["heads"] == [3]
    assert sum(int(np.prod(block["shape"])) for block in card["features"]) == game.spec.features
    again = entrant(str(tmp_path / "a.safetensors"), game)
    assert eqx.tree_equal(again.policy, player.policy)
    with pytest.raises(RunError, match="already"):
        export(player, game.spec, tmp_path, ("package",))
    mixture = replace(player, policy=Mixture.make([player.policy] * 2, [0.5, 0.5]), meta=replace(meta, members=2))
    with pytest.raises(ConfigError, match="draws one of 2 policies"):
        export(mixture, game.spec, tmp_path / "b", ("onnx",))
    assert not (tmp_path / "b").exists()
    export(mixture, game.spec, tmp_path / "b", ("package",))


def test_a_body_that_is_code_is_refused_for_other_libraries_with_a_sentence(tmp_path):
    player = player_of("plain")
    strange = eqx.tree_at(lambda actor: actor.trunk.layers[0], player.policy, eqx.nn.Identity())
    with pytest.raises(ConfigError, match=r"code of its own .*Identity.*--formats package"):
        export(replace(player, policy=strange), spec_of(HEADS), tmp_path / "a", ("torch",))
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"hyper_sees": "joint", "execution": "centralised"}, "depend on what other seats see"),
        ({"hyper": "recurrent", "hyper_layers": "low_rank"}, "add up from step to step"),
        ({"hyper_recalls": "actions", "hyper_cap": 0.5}, "which nobody tells it there .* and have a longest change"),
        ({"hyper_encoder": "transformer"}, "come from a transformer"),
    ],
)
def test_generated_weights_that_no_row_by_itself_gives_are_refused_with_the_reason(changes, words, tmp_path):
    player, spec = player_of("hyper"), spec_of(HYBRID)
    other = Actor.make(Seed.of(1), spec, replace(NETS["hyper"][1], **changes))
    with pytest.raises(ConfigError, match=words):
        export(replace(player, policy=other), spec, tmp_path, ("torch",))


def test_the_pytorch_module_needs_no_sparring():
    source = Path(sys.modules[export.__module__].__file__ or "").with_name("torch_policy.py").read_text()
    assert "import sparring" not in source and "from sparring" not in source
