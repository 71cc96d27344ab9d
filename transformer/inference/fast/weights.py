"""The decoder's weights, arranged for one token at a time, in three kinds of number.

Only matrix products change with the kind: sums, norms, softmax and attention are float32 always.
At one row a product is as fast as its weights can be read, so eight bits beat thirty-two; at many
rows it is bound by arithmetic, where some processors do bfloat16 several times faster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from transformer.inference.fast.products import bf16_product, linear
from transformer.model import Transformer
from transformer.model.attention import ScoreFunction
from transformer.model.layers import AddAndNorm, DecoderLayer


class Matrix(Protocol):
    """A weight that rows are multiplied by, (rows, in) to (rows, out), and a bias b if given."""

    def __call__(self, x: Tensor) -> Tensor:
        """x @ W + b, in the number kind of the matrix."""

    def plus(self, base: Tensor, x: Tensor) -> Tensor:
        """base + x @ W + b, in float32."""


Kind = Callable[[Tensor, Tensor | None], Matrix]


def _kept(bias: Tensor | None) -> Tensor | None:
    return None if bias is None else bias.detach()


FEW = range(2, 6)
"""So many rows, as of one beam search, are multiplied faster as columns (torch 2.13 with MKL, one
thread and two; `python -m benchmarks.decoding`, one sentence with a beam)."""


class Exact:
    """float32, the model's own tensors; `linear` has the fastest way for many rows."""

    columns = True

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        self.weight, self.bias = weight.detach().t(), _kept(bias)

    def __call__(self, x: Tensor) -> Tensor:
        if self._few(x):
            product = torch.mm(self.weight.t(), x.t()).t().contiguous()
            return product if self.bias is None else product.add_(self.bias)
        return linear(x, self.weight.t(), self.bias)

    def plus(self, base: Tensor, x: Tensor) -> Tensor:
        if len(x) > 1:
            return self(x).add_(base)
        total = torch.addmm(base, x, self.weight)
        return total if self.bias is None else total.add_(self.bias)

    def _few(self, x: Tensor) -> bool:
        return self.columns and len(x) in FEW and x.device.type == "cpu"


class ExactCopy(Exact):
    """float32, a contiguous transposed copy: faster at one row."""

    columns = False

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        self.weight, self.bias = weight.detach().t().contiguous(), _kept(bias)


class Bf16:
    """bfloat16 products; the bias stays float32."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        self.product: Callable[[Tensor], Tensor] = bf16_product(weight.detach())
        self.bias = _kept(bias)

    def __call__(self, x: Tensor) -> Tensor:
        product = self.product(x.to(torch.bfloat16))
        return product if self.bias is None else product + self.bias

    def plus(self, base: Tensor, x: Tensor) -> Tensor:
        return base + self(x)


class Int8(Bf16):
    """Weights of eight bits with a scale an output, multiplied by bfloat16 rows."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        self.bias = _kept(bias)
        scale = weight.detach().abs().amax(dim=1).clamp(min=1e-12) / 127
        self.weight = (weight.detach() / scale[:, None]).round().to(torch.int8)
        self.scale = scale.to(torch.bfloat16)

    def product(self, x: Tensor) -> Tensor:
        return torch._weight_int8pack_mm(x, self.weight, self.scale)


@dataclass(frozen=True)
class Norm:
    """LayerNorm's weights; `shift` is added to what comes out."""

    weight: Tensor
    bias: Tensor
    eps: float

    @classmethod
    def of(cls, module: AddAndNorm, shift: Tensor | None = None) -> Norm:
        weight, bias = module.norm.weight.detach(), module.norm.bias.detach()
        return cls(weight, bias if shift is None else bias + shift, module.norm.eps)

    def __call__(self, x: Tensor) -> Tensor:
        return torch.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)


class LayerWeights:
    """One decoder layer.

    The bias after the feed-forward network is added by the norm before it already, where it costs
    nothing: with x' = x + b_2, x' W_1 + (b_1 - b_2 W_1) is x W_1 + b_1, and the residual
    brings b_2 along.
    """

    def __init__(self, layer: DecoderLayer, wide: Kind, small: Kind) -> None:
        own, cross, ffn = layer.self_attn, layer.cross_attn, layer.ffn
        self.own_score: ScoreFunction = own.score
        self.cross_score: ScoreFunction = cross.score
        d, bias = cross.d_model, cross.b_qkv
        b_q, b_kv = (None, None) if bias is None else (bias[:d], bias[d:])
        self.qkv, self.o = wide(own.w_qkv, own.b_qkv), small(own.w_o, own.b_o)
        self.cross_q, self.cross_o = small(cross.w_q, b_q), small(cross.w_o, cross.b_o)
        self.raw_q, self.raw_o = cross.w_q.detach(), cross.w_o.detach()
        self.cross_kv = small(cross.w_qkv[d:], b_kv)
        self.raw_kv = cross.w_qkv[d:].detach().t()
        self.b_q, self.b_kv, self.b_o = _kept(b_q), _kept(b_kv), _kept(cross.b_o)
        self.activation = ffn.activation
        self.w_1, self.w_2 = wide(ffn.w_1.weight, None), wide(ffn.w_2.weight, None)
        late = ffn.w_2.bias.detach()
        self.b_1 = (ffn.w_1.bias - ffn.w_1.weight @ late).detach()
        self.own_norm = Norm.of(layer.self_attn_norm)
        self.cross_norm = Norm.of(layer.cross_attn_norm, shift=late)
        self.ffn_norm = Norm.of(layer.ffn_norm)


class DecoderWeights:
    """All of a decoder in one kind of number. Never changed once built: threads share it."""

    def __init__(self, model: Transformer, wide: Kind = Exact, small: Kind | None = None) -> None:
        """`wide` makes the larger matrices, `small` the square ones (the same if left out)."""
        self.config = model.config
        self.layers = [
            LayerWeights(layer, wide, small or wide)  # type: ignore[arg-type]
            for layer in model.decoder.layers
        ]
        self.embedding = model.embedding.weight.detach()
        self.embedding_scale = self.config.embedding_scale
        self.output = wide(model.embedding.weight, model.output_bias)
        self.positions = model.decoder.embed.positions
