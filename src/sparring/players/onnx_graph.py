"""A card and its arrays as an ONNX graph, written layer by layer with the package `onnx` alone (extra `onnx`).

Inputs: features [rows, F], legal [rows, A] where there are heads, memory_0 (and memory_1 of an LSTM) [rows, H]; where
weights are generated, seat [rows, 1], its place on its side, from 0, and steps [rows, K * (F + 1)], what it saw last.
Outputs: probabilities [rows, A], mean and deviation [rows, C], next_memory_0 (and 1) and next_steps, each where there
is such a thing.
"""

from collections.abc import Mapping
from importlib import import_module
from math import exp
from typing import Any

import numpy as np

from sparring.core.errors import ConfigError
from sparring.nets.config import LOG_STD_RANGE
from sparring.nets.distributions import IMPOSSIBLE

OPSET, IR_VERSION = 20, 9
"""Of early 2024, so that runtimes of today all read it."""


def onnx_bytes(card: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    try:
        onnx = import_module("onnx")
    except ImportError:
        raise ConfigError(
            "Writing ONNX needs the package onnx, which is not here: pip install 'sparring[onnx]'"
        ) from None
    graph = Graph(onnx, arrays)
    action, features = card["action"], sum(int(np.prod(block["shape"])) for block in card["features"])
    entries, dimensions = sum(action["heads"]), len(action["low"])
    x = graph.input("features", features)
    for step in card["network"]:
        x = getattr(graph, step["do"])(x, **{key: value for key, value in step.items() if key != "do"})
    if entries:
        legal = graph.input("legal", entries, "BOOL")
        masked = graph("Where", legal, graph.part(x, 0, entries), graph.constant(IMPOSSIBLE))
        ends = np.cumsum([0, *action["heads"]])
        heads = [graph("Softmax", graph.part(masked, *ends[i : i + 2]), axis=-1) for i in range(len(action["heads"]))]
        graph.output("probabilities", graph("Concat", *heads, axis=-1), entries)
    if dimensions:
        mean = graph.part(x, entries, entries + dimensions)
        graph.output("mean", mean, dimensions)
        graph.output("deviation", graph.deviation(x, mean, entries + dimensions, dimensions), dimensions)
    return graph.model(str(card["player"])).SerializeToString()


class Graph:
    """A graph while it is written; calling it adds a node and gives the name of what that computes."""

    def __init__(self, onnx: Any, arrays: Mapping[str, np.ndarray]) -> None:
        self.onnx, self.arrays = onnx, arrays
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.z = ""
        """The context from which weights are generated, where they are."""

    def __call__(self, op: str, *inputs: str, **attributes: Any) -> str:
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(op, list(inputs), [name], **attributes))
        return name

    def constant(self, value: Any, dtype: Any = np.float32) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants[name] = self.onnx.numpy_helper.from_array(np.array(value, dtype, order="C"), name)
        return name

    def array(self, name: str) -> str:
        return self.constant(self.arrays[name])

    def input(self, name: str, size: int, kind: str = "FLOAT") -> str:
        self.inputs.append(self.declared(name, size, kind))
        return name

    def output(self, name: str, computed: str, size: int) -> None:
        self.nodes.append(self.onnx.helper.make_node("Identity", [computed], [name]))
        self.outputs.append(self.declared(name, size, "FLOAT"))

    def declared(self, name: str, size: int, kind: str) -> Any:
        return self.onnx.helper.make_tensor_value_info(name, getattr(self.onnx.TensorProto, kind), ["rows", size])

    def model(self, name: str) -> Any:
        helper, constants = self.onnx.helper, list(self.constants.values())
        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs, constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
        self.onnx.checker.check_model(model)
        return model

    def part(self, x: str, begin: int, end: int) -> str:
        """Some columns of the last axis."""
        return self("Slice", x, *(self.constant([number], np.int64) for number in (begin, end, -1)))

    def deviation(self, x: str, mean: str, begin: int, size: int) -> str:
        fixed = next((name for name in ("log_std_C", "log_std_C.value") if name in self.arrays), None)
        if fixed is None:
            low, high = (self.constant(exp(end)) for end in LOG_STD_RANGE)
            return self("Clip", self("Exp", self.part(x, begin, begin + size)), low, high)
        return self("Expand", self.constant(np.exp(self.arrays[fixed])), self("Shape", mean))

    # The steps of a card, by the names they have there.

    def dense(self, x: str, *, at: str) -> str:
        return self("Add", self("MatMul", x, self.array(f"{at}.weight_IO")), self.array(f"{at}.bias_O"))

    def layer_norm(self, x: str, *, at: str) -> str:
        return self(
            "LayerNormalization", x, self.array(f"{at}.scale_F"), self.array(f"{at}.offset_F"), axis=-1, epsilon=1e-5
        )

    def normalise(self, x: str, *, at: str) -> str:
        mean, square, count = (self.arrays[f"{at}.{name}"] for name in ("mean_F", "square_F", "count"))
        if count <= 0:
            return x
        scaled = self("Div", self("Sub", x, self.constant(mean)), self.constant(np.sqrt(square / count + 1e-8)))
        return self("Clip", scaled, self.constant(-10.0), self.constant(10.0))

    def residual(self, x: str, *, at: str) -> str:
        wide = self.relu(self.dense(self.layer_norm(x, at=f"{at}.norm"), at=f"{at}.wide"))
        return self("Add", x, self.dense(wide, at=f"{at}.narrow"))

    def tanh(self, x: str) -> str:
        return self("Tanh", x)

    def relu(self, x: str) -> str:
        return self("Relu", x)

    def silu(self, x: str) -> str:
        return self("Mul", x, self("Sigmoid", x))

    def gelu(self, x: str) -> str:
        return self("Gelu", x, approximate="tanh")

    def grids(self, x: str, *, at: str, blocks: list, grids: list, depth: int, activation: str) -> str:
        parts, begin, number = [], 0, 0
        for size, shape in zip(blocks, grids, strict=True):
            part = self.part(x, begin, begin + size)
            begin += size
            if shape is not None:
                part = self("Transpose", self.shaped(part, *shape), perm=[0, 3, 1, 2])
                for i in range(depth):
                    part = getattr(self, activation)(self.convolution(part, f"{at}.{number}.{i}.kernel"))
                channels = len(self.arrays[f"{at}.{number}.{depth - 1}.kernel.bias_O"])
                part = self.shaped(self("Transpose", part, perm=[0, 2, 3, 1]), shape[0] * shape[1] * channels)
                number += 1
            parts.append(part)
        return self("Concat", *parts, axis=-1)

    def shaped(self, x: str, *shape: int) -> str:
        return self("Reshape", x, self.constant([-1, *shape], np.int64))

    def convolution(self, x: str, at: str) -> str:
        weight, bias = self.arrays[f"{at}.weight_IO"], self.arrays[f"{at}.bias_O"]
        kernel = weight.reshape(3, 3, -1, len(bias)).transpose(3, 2, 0, 1)
        return self("Conv", x, self.constant(kernel), self.constant(bias), pads=[1, 1, 1, 1])

    def gru(self, x: str, *, at: str) -> str:
        return self.remembering(self.gru_cell, x, at, 1)

    def lstm(self, x: str, *, at: str) -> str:
        return self.remembering(self.lstm_cell, x, at, 2)

    def remembering(self, cell: Any, x: str, at: str, count: int) -> str:
        size = len(self.arrays[f"{at}.hidden.weight_IO"])
        after = cell(x, [self.input(f"memory_{i}", size) for i in range(count)], at)
        for i, memory in enumerate(after):
            self.output(f"next_memory_{i}", memory, size)
        return after[0]

    def gru_cell(self, x: str, memory: list[str], at: str) -> list[str]:
        size = len(self.arrays[f"{at}.hidden.weight_IO"])
        update_x, reset_x, new_x = self.gates(self.dense(x, at=f"{at}.inputs"), size, 3)
        update_h, reset_h, new_h = self.gates(self.dense(memory[0], at=f"{at}.hidden"), size, 3)
        update = self("Sigmoid", self("Add", update_x, update_h))
        new = self("Tanh", self("Add", new_x, self("Mul", self("Sigmoid", self("Add", reset_x, reset_h)), new_h)))
        return [self("Add", new, self("Mul", update, self("Sub", memory[0], new)))]

    def lstm_cell(self, x: str, memory: list[str], at: str) -> list[str]:
        size = len(self.arrays[f"{at}.hidden.weight_IO"])
        both = self("Add", self.dense(x, at=f"{at}.inputs"), self.dense(memory[0], at=f"{at}.hidden"))
        keep, write, show, new = self.gates(both, size, 4)
        kept = self("Mul", self("Sigmoid", self("Add", keep, self.constant(1.0))), memory[1])
        cell = self("Add", kept, self("Mul", self("Sigmoid", write), self("Tanh", new)))
        return [self("Mul", self("Sigmoid", show), self("Tanh", cell)), cell]

    def gates(self, x: str, size: int, count: int) -> list[str]:
        return [self.part(x, size * gate, size * (gate + 1)) for gate in range(count)]

    # Generated weights.

    def context(
        self, x: str, *, at: str, inputs: int, history: int, seats: int, over_time: str | None,
        normaliser: str | None, grids: dict[str, Any] | None,
    ) -> str:  # fmt: skip
        """The context of each row, kept for later steps; what comes in goes on as it is."""
        parts = []
        if inputs:
            one = self("Expand", self.constant([[1.0]]), self("Shape", self.part(x, 0, 1)))
            steps, width = self("Concat", x, one, axis=-1), inputs + 1
            if history:
                before = self.input("steps", history * width)
                steps = self("Concat", self.part(before, width, history * width), steps, axis=-1)
                self.output("next_steps", steps, history * width)
            known = [self.known(steps, i * width, inputs, normaliser, grids) for i in range(max(1, history))]
            parts.append(self.encoded(known, at, over_time))
        if seats:
            rows = self.arrays.get(f"{at}.identity_NZ", np.eye(seats, dtype=np.float32))
            seat = self("Reshape", self.input("seat", 1, "INT64"), self.constant([-1], np.int64))
            parts.append(self("Gather", self.constant(rows), seat, axis=0))
        z = self.dense(self("Concat", *parts, axis=-1), at=f"{at}.joined")
        size = len(self.arrays[f"{at}.joined.bias_O"])
        plain = self.constant(np.ones(size)), self.constant(np.zeros(size))
        self.z = self("LayerNormalization", z, *plain, axis=-1, epsilon=1e-5)
        return x

    def known(self, steps: str, begin: int, inputs: int, normaliser: str | None, grids: Any) -> tuple[str, str]:
        """An observation as the encoder takes it, and whether it was there."""
        features = self.part(steps, begin, begin + inputs)
        if normaliser is not None:
            features = self.normalise(features, at=normaliser)
        if grids is not None:
            features = self.grids(features, **{key: value for key, value in grids.items() if key != "do"})
        return features, self.part(steps, begin + inputs, begin + inputs + 1)

    def encoded(self, known: list[tuple[str, str]], at: str, over_time: str | None) -> str:
        if over_time is None and len(known) > 1:
            both = [part for features, real in known for part in (self("Mul", real, features), real)]
            return self.tanh(self.dense(self("Concat", *both, axis=-1), at=f"{at}.encoder"))
        each = [self("Mul", real, self.tanh(self.dense(x, at=f"{at}.encoder"))) for x, real in known]
        if over_time is None:
            return each[-1]
        memory = [self("Sub", each[0], each[0])] * 2
        for one in each:
            memory = getattr(self, f"{over_time}_cell")(one, memory, f"{at}.over_time")
        return memory[0]

    def gain(self, x: str, *, change: str, gate: int) -> str:
        map_ZO = self.arrays["hyper.gate_L"][gate] * self.arrays[f"{change}.map_ZO"]
        return self("Mul", x, self("Add", self("MatMul", self.z, self.constant(map_ZO)), self.constant(1.0)))

    def changed(self, x: str, *, at: str, change: str, gate: int) -> str:
        map_KF = self.arrays["hyper.gate_L"][gate] * self.arrays[f"{change}.map_KF"]
        seen = self("MatMul", x, self.array(f"{change}.down_IR")) if f"{change}.down_IR" in self.arrays else x
        parts = self("Add", self("MatMul", seen, self.constant(map_KF[:-1])), self.constant(map_KF[-1]))
        size = len(self.arrays["hyper.context.joined.bias_O"])
        outputs = map_KF.shape[1] // size
        added = self("MatMul", self.shaped(self.z, 1, size), self.shaped(parts, size, outputs))
        return self("Add", self.dense(x, at=at), self.shaped(added, outputs))
