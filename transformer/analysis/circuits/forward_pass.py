"""One forward pass of example pairs with the activations that edges need."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from transformer.analysis.circuits.graph import EMBEDDINGS, CircuitNode, Stack, Sublayer, sublayers
from transformer.hooks import Hooks
from transformer.model import Transformer
from transformer.model.attention import MultiHeadAttention

Activation = Float[Tensor, "pairs length d_model"]
Contribution = Float[Tensor, "nodes pairs length d_model"]


@dataclass(frozen=True, eq=False)
class Activations:
    """Activations of one pass by the name of their hook, and what is derived from them."""

    model: Transformer
    values: Mapping[str, Tensor]

    def embedding(self, stack: Stack) -> Activation:
        return self.values[f"{stack}.embed.hook_output"]

    def output(self, sublayer: Sublayer) -> Activation:
        """What the sublayer adds to the residual stream."""
        return self.values[f"{sublayer.path}.hook_output"]

    def stream_before(self, sublayer: Sublayer) -> Activation:
        """Return a copy of the residual stream that the sublayer reads."""
        if sublayer.index == 0:
            return self.embedding(sublayer.stack).clone()
        previous = sublayers(self.model.config, sublayer.stack)[sublayer.index - 1]
        return self.values[f"{previous.path}_norm.hook_output"].clone()

    def contributions(self, sublayer: Sublayer) -> Contribution:
        """Return the part of `output` of each node: all of a feed-forward network, and head_i W^O_i
        of a head. The bias of W^O, if there is one, is of no head."""
        if sublayer.kind == "ffn":
            return self.output(sublayer)[None]
        heads = self.values[f"{sublayer.path}.hook_heads"]
        w_o = attention(self.model, sublayer).w_o.detach().unflatten(1, (heads.shape[1], -1))
        return torch.einsum("bhtk,dhk->hbtd", heads, w_o)

    def contribution(self, node: CircuitNode) -> Activation:
        """Return what one node adds to the residual stream of its stack."""
        if node.kind in ("source", "target"):
            return self.embedding(node.stack)
        sublayer = sublayer_of(self.model, node)
        return self.contributions(sublayer)[max(node.head, 0)]


def attention(model: Transformer, sublayer: Sublayer) -> MultiHeadAttention:
    module = model.get_submodule(sublayer.path)
    assert isinstance(module, MultiHeadAttention)
    return module


def norm(model: Transformer, sublayer: Sublayer) -> Callable[[Tensor], Tensor]:
    """Return the normalization after the sublayer's residual connection (post-norm)."""
    module = model.get_submodule(f"{sublayer.path}_norm")
    normalization: torch.nn.Module = module.norm  # type: ignore[assignment]
    return normalization


def sublayer_of(model: Transformer, node: CircuitNode) -> Sublayer:
    return next(
        sublayer
        for sublayer in sublayers(model.config, node.stack)
        if sublayer.kind == node.kind and sublayer.layer == node.layer
    )


def recorded_names(model: Transformer) -> Iterator[str]:
    """Yield the hooks that `Activations` needs."""
    for stack in EMBEDDINGS:
        yield f"{stack}.embed.hook_output"
        for sublayer in sublayers(model.config, stack):
            yield f"{sublayer.path}.hook_output"
            yield f"{sublayer.path}_norm.hook_sum"
            yield f"{sublayer.path}_norm.hook_output"
            if sublayer.kind != "ffn":
                yield f"{sublayer.path}.hook_heads"


@torch.no_grad()
def record(model: Transformer, src: Tensor, tgt: Tensor) -> Activations:
    """Run the model once and return its activations."""
    values: dict[str, Tensor] = {}
    hooks = Hooks(dict.fromkeys(recorded_names(model), lambda x, name: values.update({name: x})))
    model(src, tgt, hooks=hooks)
    return Activations(model, values)


def projected(
    model: Transformer, sublayer: Sublayer, stream: Activation, name: str, head: int
) -> Float[Tensor, "pairs length d_k"]:
    """Return the query, key or value of one head for this input of the attention."""
    module = attention(model, sublayer)
    d_k = model.config.d_k
    start = ("query", "key", "value").index(name) * model.config.d_model + head * d_k
    rows = slice(start, start + d_k)
    bias = None if module.b_qkv is None else module.b_qkv[rows]
    return functional.linear(stream, module.w_qkv[rows], bias)
