"""The encoder, and one step of the decoder, as ONNX graphs, which ONNX Runtime runs on a CPU.

The nodes are those of `transformer/model/`, without hook points and dropout. A graph has dynamic
axes for rows and lengths. Its weights are the model's own arrays and are not stored in it: the
graph names them, and the caller passes them to ONNX Runtime by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor

from transformer.inference.next_tokens import never_generated
from transformer.model import Transformer
from transformer.model.attention import MultiHeadAttention
from transformer.model.layers import AddAndNorm, FeedForward

OPSET, IR_VERSION = 21, 10
"""Versions of the operators and of the file format; both are of 2024."""

Axes = Sequence[int | str]


@dataclass(frozen=True)
class OnnxGraph:
    """A serialized ONNX model, and its weights by name."""

    model: bytes
    weights: dict[str, npt.NDArray[np.float32]]


def encoder_graph(model: Transformer) -> OnnxGraph:
    """Return the graph of the encoder.

    Inputs: embedded (rows, src, d_model), the source with its positions; mask (rows, 1, 1, src),
    which is 0 where attention is allowed and -∞ elsewhere. Output: states (rows, src, d_model).
    """
    graph = _Builder(model)
    d_model, n_heads, d_k = model.config.d_model, model.config.n_heads, model.config.d_k
    graph.input("embedded", ["rows", "src", d_model])
    graph.input("mask", ["rows", 1, 1, "src"])
    shape = graph.node("Shape", "embedded", end=2)  # rows, src
    heads_shape = graph.node("Concat", shape, graph.integers(3, n_heads, d_k), axis=0)
    x = graph.reshape("embedded", -1, d_model)  # (rows · src, d_model)
    for index in range(model.config.n_layers):
        layer = f"encoder.layers.{index}"
        qkv = graph.node("Reshape", graph.project(x, f"{layer}.self_attn", 0, 3), heads_shape)
        qkv = graph.node("Transpose", qkv, perm=[2, 0, 3, 1, 4])  # (3, rows, heads, src, d_k)
        query, key, value = (
            graph.node("Gather", qkv, graph.integer(part), axis=0) for part in range(3)
        )
        heads = graph.attend(query, key, value, f"{layer}.self_attn", mask="mask")
        heads = graph.reshape(graph.node("Transpose", heads, perm=[0, 2, 1, 3]), -1, d_model)
        x = graph.add_and_norm(
            x, graph.merge(heads, f"{layer}.self_attn"), f"{layer}.self_attn_norm"
        )
        x = graph.add_and_norm(x, graph.feed_forward(x, f"{layer}.ffn"), f"{layer}.ffn_norm")
    graph.node("Reshape", x, graph.node("Shape", "embedded"), result="states")
    graph.output("states", ["rows", "src", d_model])
    return graph.finished("encoder")


def memory_graph(model: Transformer) -> OnnxGraph:
    """Return the graph of the keys and values that the decoder's cross-attention reads.

    Input: states (rows, src, d_model), as in `encoder_graph`. Outputs for each layer: `cross_key_0`
    and `cross_value_0` (rows, heads, src, d_k).
    """
    graph = _Builder(model)
    d_model, n_heads, d_k = model.config.d_model, model.config.n_heads, model.config.d_k
    graph.input("states", ["rows", "src", d_model])
    shape = graph.node("Shape", "states", end=2)  # rows, src
    heads_shape = graph.node("Concat", shape, graph.integers(n_heads, d_k), axis=0)
    states = graph.reshape("states", -1, d_model)  # (rows · src, d_model)
    for index in range(model.config.n_layers):
        for third, name in ((1, f"cross_key_{index}"), (2, f"cross_value_{index}")):
            x = graph.project(states, f"decoder.layers.{index}.cross_attn", third, third + 1)
            x = graph.node("Reshape", x, heads_shape)
            graph.node("Transpose", x, perm=[0, 2, 1, 3], result=name)
            graph.output(name, ["rows", n_heads, "src", d_k])
    return graph.finished("memory")


def step_graph(model: Transformer) -> OnnxGraph:
    """Return the graph of one decoder step, with cached keys and values.

    Inputs: ids (rows), the newest tokens, and position (1, d_model), the encoding of their
    position; k (1), the number of candidates; mask (rows, 1, 1, src) as in `encoder_graph`; for
    each layer the keys and values of earlier tokens, `self_key_0` (rows, heads, past, d_k), and of
    the memory, `cross_key_0` (rows, heads, src, d_k). Outputs: log_probabilities (rows, vocab),
    top_log_probabilities and top_ids (rows, k) of `NextTokens`; and the keys and values with the
    newest token, `next_self_key_0` (rows, heads, past + 1, d_k).
    """
    graph = _Builder(model)
    n_heads, d_k, d_model = model.config.n_heads, model.config.d_k, model.config.d_model
    graph.input("ids", ["rows"], TensorProto.INT64)
    graph.input("position", [1, d_model])
    graph.input("k", [1], TensorProto.INT64)
    graph.input("mask", ["rows", 1, 1, "src"])
    embedding = graph.weight("embedding.weight", model.embedding.weight)
    x = graph.node("Gather", embedding, "ids")  # (rows, d_model)
    x = graph.node("Mul", x, graph.number(model.config.embedding_scale))
    x = graph.node("Add", x, "position")
    for index in range(model.config.n_layers):
        layer = f"decoder.layers.{index}"
        qkv = graph.reshape(graph.project(x, f"{layer}.self_attn", 0, 3), -1, 3 * n_heads, 1, d_k)
        query, *newest = graph.split(qkv, [n_heads] * 3, axis=1)
        keys_values = []
        for name, new in zip(("key", "value"), newest, strict=True):
            cache = f"self_{name}_{index}"
            graph.input(cache, ["rows", n_heads, "past", d_k])
            graph.input(f"cross_{name}_{index}", ["rows", n_heads, "src", d_k])
            keys_values.append(graph.node("Concat", cache, new, axis=2, result=f"next_{cache}"))
        keys, values = keys_values
        heads = graph.attend(query, keys, values, f"{layer}.self_attn")
        heads = graph.merge(graph.reshape(heads, -1, d_model), f"{layer}.self_attn")
        x = graph.add_and_norm(x, heads, f"{layer}.self_attn_norm")
        query = graph.reshape(graph.project(x, f"{layer}.cross_attn", 0, 1), -1, n_heads, 1, d_k)
        heads = graph.attend(
            query, f"cross_key_{index}", f"cross_value_{index}", f"{layer}.cross_attn", mask="mask"
        )
        heads = graph.merge(graph.reshape(heads, -1, d_model), f"{layer}.cross_attn")
        x = graph.add_and_norm(x, heads, f"{layer}.cross_attn_norm")
        x = graph.add_and_norm(x, graph.feed_forward(x, f"{layer}.ffn"), f"{layer}.ffn_norm")
    bias = None if model.output_bias is None else graph.weight("output_bias", model.output_bias)
    logits = graph.linear(x, embedding, bias)
    graph.node("LogSoftmax", logits, axis=-1, result="log_probabilities")
    excluded = torch.zeros(model.config.vocab_size, dtype=torch.float32, device="cpu")
    excluded[never_generated(model.config)] = -torch.inf
    allowed = graph.node("Add", "log_probabilities", graph.weight("excluded", excluded))
    graph.top_k(allowed, "k", results=["top_log_probabilities", "top_ids"])
    graph.output("log_probabilities", ["rows", model.config.vocab_size])
    graph.output("top_log_probabilities", ["rows", "k"])
    graph.output("top_ids", ["rows", "k"], TensorProto.INT64)
    for index in range(model.config.n_layers):
        for name in ("key", "value"):
            graph.output(f"next_self_{name}_{index}", ["rows", n_heads, "length", d_k])
    return graph.finished("step")


class _Builder:
    """A graph under construction. Methods that add nodes return the name of the result."""

    def __init__(self, model: Transformer) -> None:
        self.model, self.config = model, model.config
        self.nodes: list[onnx.NodeProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self.outputs: list[onnx.ValueInfoProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}
        self.weights: dict[str, npt.NDArray[np.float32]] = {}

    def input(self, name: str, shape: Axes, kind: int = TensorProto.FLOAT) -> None:
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))

    def output(self, name: str, shape: Axes, kind: int = TensorProto.FLOAT) -> None:
        self.outputs.append(helper.make_tensor_value_info(name, kind, shape))

    def node(self, operator: str, *inputs: str, result: str = "", **attributes: Any) -> str:
        """Add a node with one result, called `result` or by a new name."""
        name = result or f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        return name

    def split(self, x: str, sizes: list[int], axis: int) -> list[str]:
        names = [f"split_{len(self.nodes)}_{part}" for part in range(len(sizes))]
        inputs = [x, self.integers(*sizes)]
        self.nodes.append(helper.make_node("Split", inputs, names, axis=axis))
        return names

    def top_k(self, x: str, k: str, results: list[str]) -> None:
        """Add the k largest values of each row and their indices."""
        self.nodes.append(helper.make_node("TopK", [x, k], results, axis=-1))

    def constant(self, value: npt.NDArray[Any]) -> str:
        name = f"constant_{value.dtype}_{'_'.join(map(str, value.flat))}_{value.ndim}"
        self.constants[name] = numpy_helper.from_array(value, name)
        return name

    def integers(self, *values: int) -> str:
        return self.constant(np.array(values, dtype=np.int64))

    def integer(self, value: int) -> str:
        return self.constant(np.array(value, dtype=np.int64))

    def number(self, value: float) -> str:
        return self.constant(np.array(value, dtype=np.float32))

    def weight(self, name: str, tensor: Tensor) -> str:
        """Add a weight, which shares the memory of a contiguous `tensor`."""
        self.weights[name] = np.ascontiguousarray(tensor.detach().numpy())
        return name

    def reshape(self, x: str, *shape: int) -> str:
        return self.node("Reshape", x, self.integers(*shape))

    def linear(self, x: str, weight: str, bias: str | None, result: str = "") -> str:
        """Return x W^T + b for x (n, in) and a weight (out, in)."""
        return self.node("Gemm", x, weight, *([bias] if bias else []), transB=1, result=result)

    def _attention(self, name: str) -> MultiHeadAttention:
        return cast(MultiHeadAttention, self.model.get_submodule(name))

    def project(self, x: str, attention: str, start: int, stop: int) -> str:
        """Multiply by the given thirds of W^QKV: 0 is W^Q, 1 is W^K, 2 is W^V."""
        module, d_model = self._attention(attention), self.config.d_model
        thirds = slice(start * d_model, stop * d_model)
        name = f"{attention}.{'qkv'[start:stop]}"
        bias = None if module.b_qkv is None else self.weight(f"{name}.bias", module.b_qkv[thirds])
        return self.linear(x, self.weight(f"{name}.weight", module.w_qkv[thirds]), bias)

    def attend(self, query: str, key: str, value: str, attention: str, mask: str = "") -> str:
        """Return softmax(score(Q, K) + mask) V, (rows, heads, query, d_k)."""
        score = self._attention(attention).score
        if score.kind == "additive":
            pairs = self.node(
                "Add",
                self.node("Unsqueeze", query, self.integers(3)),
                self.node("Unsqueeze", key, self.integers(2)),
            )
            v = self.weight(f"{attention}.score.v", score.v[:, None, :, None])
            scores = self.node("MatMul", self.node("Tanh", pairs), v)
            scores = self.node("Squeeze", scores, self.integers(4))
        else:
            scaled = self.node("Mul", query, self.number(score.scale))
            scores = self.node("MatMul", scaled, self.node("Transpose", key, perm=[0, 1, 3, 2]))
        if mask:
            scores = self.node("Add", scores, mask)
        return self.node("MatMul", self.node("Softmax", scores, axis=-1), value)

    def merge(self, heads: str, attention: str) -> str:
        """Multiply the concatenated heads (n, d_model) by W^O."""
        module = self._attention(attention)
        bias = None if module.b_o is None else self.weight(f"{attention}.b_o", module.b_o)
        return self.linear(heads, self.weight(f"{attention}.w_o", module.w_o), bias)

    def add_and_norm(self, x: str, sublayer: str, name: str) -> str:
        norm = cast(AddAndNorm, self.model.get_submodule(name)).norm
        weight = self.weight(f"{name}.weight", norm.weight)
        bias = self.weight(f"{name}.bias", norm.bias)
        total = self.node("Add", x, sublayer)
        return self.node("LayerNormalization", total, weight, bias, epsilon=norm.eps)

    def feed_forward(self, x: str, name: str) -> str:
        ffn = cast(FeedForward, self.model.get_submodule(name))
        (w_1, b_1), (w_2, b_2) = (
            (
                self.weight(f"{name}.{part}.weight", linear.weight),
                self.weight(f"{name}.{part}.bias", linear.bias),
            )
            for part, linear in (("w_1", ffn.w_1), ("w_2", ffn.w_2))
        )
        return self.linear(self._activate(self.linear(x, w_1, b_1)), w_2, b_2)

    def _activate(self, x: str) -> str:
        if self.config.activation == "swish":
            return self.node("Mul", x, self.node("Sigmoid", x))
        return self.node({"relu": "Relu", "gelu": "Gelu"}[self.config.activation], x)

    def finished(self, name: str) -> OnnxGraph:
        """Return the graph; its weights are declared as external data."""
        declared = []
        for weight_name, array in self.weights.items():
            tensor = TensorProto(
                name=weight_name,
                data_type=TensorProto.FLOAT,
                dims=array.shape,
                data_location=TensorProto.EXTERNAL,
            )
            tensor.external_data.add(key="location", value="weights of the model")
            declared.append(tensor)
        graph = helper.make_graph(
            self.nodes, name, self.inputs, self.outputs, [*self.constants.values(), *declared]
        )
        opsets = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION)
        return OnnxGraph(model.SerializeToString(), self.weights)
