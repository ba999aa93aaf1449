"""A card and its arrays as an ONNX graph, written layer by layer with the package `onnx` alone (extra `onnx`).

Inputs: features [rows, F], legal [rows, A] where there are heads, memory_0 (and memory_1 of an LSTM) [rows, H].
Outputs: probabilities [rows, A], mean and deviation [rows, C], next_memory_0 (and 1), each where there is such a thing.
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
        size = len(self.arrays[f"{at}.hidden.weight_IO"])
        memory = self.input("memory_0", size)
        update_x, reset_x, new_x = self.gates(self.dense(x, at=f"{at}.inputs"), size, 3)
        update_h, reset_h, new_h = self.gates(self.dense(memory, at=f"{at}.hidden"), size, 3)
        update = self("Sigmoid", self("Add", update_x, update_h))
        new = self("Tanh", self("Add", new_x, self("Mul", self("Sigmoid", self("Add", reset_x, reset_h)), new_h)))
        after = self("Add", new, self("Mul", update, self("Sub", memory, new)))
        self.output("next_memory_0", after, size)
        return after

    def lstm(self, x: str, *, at: str) -> str:
        size = len(self.arrays[f"{at}.hidden.weight_IO"])
        output, cell = self.input("memory_0", size), self.input("memory_1", size)
        both = self("Add", self.dense(x, at=f"{at}.inputs"), self.dense(output, at=f"{at}.hidden"))
        keep, write, show, new = self.gates(both, size, 4)
        kept = self("Mul", self("Sigmoid", self("Add", keep, self.constant(1.0))), cell)
        cell = self("Add", kept, self("Mul", self("Sigmoid", write), self("Tanh", new)))
        output = self("Mul", self("Sigmoid", show), self("Tanh", cell))
        self.output("next_memory_0", output, size)
        self.output("next_memory_1", cell, size)
        return output

    def gates(self, x: str, size: int, count: int) -> list[str]:
        return [self.part(x, size * gate, size * (gate + 1)) for gate in range(count)]
