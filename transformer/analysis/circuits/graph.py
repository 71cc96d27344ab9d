"""The graph of a model: its heads and feed-forward networks as nodes, and the edges between them.

Each sublayer adds its output to the residual stream of its stack, and every later sublayer reads
that stream. So an edge leads from every node to every later one of the same stack, and from every
node of the encoder to the keys and values of every cross-attention. The ends are the two embeddings
and the output, which the logits are computed from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from transformer.config import ModelConfig

NodeKind = Literal["source", "target", "encoder", "decoder", "cross", "ffn", "output"]
Input = Literal["query", "key", "value", "all"]
Stack = Literal["encoder", "decoder"]
HEAD_INPUTS: tuple[Input, ...] = ("query", "key", "value")


@dataclass(frozen=True)
class CircuitNode:
    """A head, a feed-forward network, an embedding or the output.

    Attributes:
        kind: "encoder", "decoder" or "cross" for a head of that attention, "ffn", "source" or
            "target" for an embedding (with its positions), "output" for the last decoder state.
        stack: the stack whose residual stream it adds to; that of "output" is the decoder.
        layer, head: from 0; -1 where there is none.
    """

    kind: NodeKind
    stack: Stack
    layer: int = -1
    head: int = -1

    @property
    def name(self) -> str:
        """Name in tables and files: "cross.1.3", "encoder.0.ffn", "source"."""
        if self.kind == "ffn":
            return f"{self.stack}.{self.layer}.ffn"
        return self.kind if self.head < 0 else f"{self.kind}.{self.layer}.{self.head}"


@dataclass(frozen=True)
class Edge:
    """From the output of `upstream` to one input of `downstream`.

    `input` is "query", "key" or "value" for a head and "all" for other nodes. Queries, keys and
    values are separate edges, as in Elhage et al. 2021 (transformer-circuits.pub/2021/framework):
    the three do different things, and in cross-attention they come from different stacks.
    """

    upstream: CircuitNode
    downstream: CircuitNode
    input: Input = "all"


@dataclass(frozen=True)
class Sublayer:
    """One sublayer of a stack: an attention or a feed-forward network.

    Attributes:
        kind: that of its nodes.
        path: of its module, such as "decoder.layers.0.cross_attn"; its norm is `path` + "_norm".
        index: position in its stack, from 0.
    """

    kind: NodeKind
    stack: Stack
    layer: int
    index: int

    @property
    def path(self) -> str:
        module = {"ffn": "ffn", "cross": "cross_attn"}.get(self.kind, "self_attn")
        return f"{self.stack}.layers.{self.layer}.{module}"

    def nodes(self, config: ModelConfig) -> list[CircuitNode]:
        heads = [-1] if self.kind == "ffn" else range(config.n_heads)
        return [CircuitNode(self.kind, self.stack, self.layer, head) for head in heads]

    def inputs(self) -> tuple[Input, ...]:
        return ("all",) if self.kind == "ffn" else HEAD_INPUTS

    def source_of(self, name: Input) -> tuple[Stack, int | None]:
        """Return the stack that an input reads, and before which of its sublayers; None: at its
        end."""
        if self.kind == "cross" and name in ("key", "value"):
            return "encoder", None
        return self.stack, self.index


EMBEDDINGS: dict[Stack, CircuitNode] = {
    "encoder": CircuitNode("source", "encoder"),
    "decoder": CircuitNode("target", "decoder"),
}
OUTPUT = CircuitNode("output", "decoder")


def sublayers(config: ModelConfig, stack: Stack) -> list[Sublayer]:
    """Return the sublayers of a stack in the order of the model."""
    kinds: tuple[NodeKind, ...] = (
        ("encoder", "ffn") if stack == "encoder" else ("decoder", "cross", "ffn")
    )
    pairs = [(layer, kind) for layer in range(config.n_layers) for kind in kinds]
    return [Sublayer(kind, stack, layer, index) for index, (layer, kind) in enumerate(pairs)]


def all_nodes(config: ModelConfig) -> list[CircuitNode]:
    """Return every node: per stack the embedding, then sublayer by sublayer; the output last."""
    nodes: list[CircuitNode] = []
    for stack, embedding in EMBEDDINGS.items():
        nodes.append(embedding)
        for sublayer in sublayers(config, stack):
            nodes += sublayer.nodes(config)
    return [*nodes, OUTPUT]


def upstream_nodes(config: ModelConfig, stack: Stack, before: int | None) -> list[CircuitNode]:
    """Return the nodes that add to the stream of `stack` before a sublayer; None: all of them."""
    nodes = [EMBEDDINGS[stack]]
    for sublayer in sublayers(config, stack)[:before]:
        nodes += sublayer.nodes(config)
    return nodes


def all_edges(config: ModelConfig) -> list[Edge]:
    """Return every edge, in the order of the downstream nodes, their inputs and the upstream
    nodes."""
    return list(_edges(config))


def _edges(config: ModelConfig) -> Iterator[Edge]:
    for stack in EMBEDDINGS:
        for sublayer in sublayers(config, stack):
            for node in sublayer.nodes(config):
                for name in sublayer.inputs():
                    for upstream in upstream_nodes(config, *sublayer.source_of(name)):
                        yield Edge(upstream, node, name)
    for upstream in upstream_nodes(config, "decoder", None):
        yield Edge(upstream, OUTPUT)


def edge_count(config: ModelConfig) -> int:
    """Return the number of edges, without making them."""
    layers, heads = config.n_layers, config.n_heads
    encoder = 1 + layers * (heads + 1)
    total = 0
    for stack in EMBEDDINGS:
        nodes = 1
        for sublayer in sublayers(config, stack):
            if sublayer.kind == "ffn":
                total, nodes = total + nodes, nodes + 1
            elif sublayer.kind == "cross":
                total, nodes = total + heads * (nodes + 2 * encoder), nodes + heads
            else:
                total, nodes = total + 3 * heads * nodes, nodes + heads
    return total + nodes
