"""Decoder weights for decoding one token at a time, as float32, bfloat16 or int8.

The number format affects matrix products only: sums, norms, softmax and attention are always
float32. With one row a product is limited by reading the weights, so int8 is faster than float32;
with many rows it is limited by arithmetic, and some processors compute bfloat16 several times
faster.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor, nn

from transformer.inference.fast.products import bf16_product, linear
from transformer.model import Transformer
from transformer.model.attention import ScoreFunction
from transformer.model.layers import DecoderLayer


class Matrix(Protocol):
    """A weight matrix W with an optional bias b, mapping (rows, in) to (rows, out)."""

    def __call__(self, x: Tensor) -> Tensor:
        """Return x @ W + b, in the number format of the matrix."""

    def addmm(self, base: Tensor, x: Tensor) -> Tensor:
        """Return base + x @ W + b, in float32."""


MatrixFactory = Callable[[Tensor, Tensor | None], Matrix]


def _detached(bias: Tensor | None) -> Tensor | None:
    return None if bias is None else bias.detach()


COLUMN_LAYOUT_ROWS = range(2, 6)
"""Numbers of rows, typical of a beam search, that are multiplied faster as columns: (W^T x^T)^T
(torch 2.13 with MKL, one and two threads; `python -m benchmarks.decoding`, one sentence, beam)."""


class Fp32:
    """float32, sharing the model's tensors; `linear` multiplies many rows."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        self.weight, self.bias = weight.detach().t(), _detached(bias)

    def __call__(self, x: Tensor) -> Tensor:
        if len(x) in COLUMN_LAYOUT_ROWS and x.device.type == "cpu":
            product = torch.mm(self.weight.t(), x.t()).t().contiguous()
            return product if self.bias is None else product.add_(self.bias)
        return linear(x, self.weight.t(), self.bias)

    def addmm(self, base: Tensor, x: Tensor) -> Tensor:
        if len(x) > 1:
            return self(x).add_(base)
        total = torch.addmm(base, x, self.weight)
        return total if self.bias is None else total.add_(self.bias)


class Bf16:
    """bfloat16 products; the bias stays float32."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        self.product: Callable[[Tensor], Tensor] = bf16_product(weight.detach())
        self.bias = _detached(bias)

    def __call__(self, x: Tensor) -> Tensor:
        product = self.product(x.to(torch.bfloat16))
        return product if self.bias is None else product + self.bias

    def addmm(self, base: Tensor, x: Tensor) -> Tensor:
        return base + self(x)


class Int8(Bf16):
    """int8 weights with one scale per output, multiplied by bfloat16 rows."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        self.bias = _detached(bias)
        scale = weight.detach().abs().amax(dim=1).clamp(min=1e-12) / 127
        self.weight = (weight.detach() / scale[:, None]).round().to(torch.int8)
        self.scale = scale.to(torch.bfloat16)

    def product(self, x: Tensor) -> Tensor:
        return torch._weight_int8pack_mm(x, self.weight, self.scale)


class LayerWeights:
    """Weights of one decoder layer."""

    def __init__(self, layer: DecoderLayer, matrix: MatrixFactory) -> None:
        self_attn, cross_attn, ffn = layer.self_attn, layer.cross_attn, layer.ffn
        self.self_score: ScoreFunction = self_attn.score
        self.cross_score: ScoreFunction = cross_attn.score
        d, bias = cross_attn.d_model, cross_attn.b_qkv
        b_q, b_kv = (None, None) if bias is None else (bias[:d], bias[d:])
        self.qkv = matrix(self_attn.w_qkv, self_attn.b_qkv)
        self.o = matrix(self_attn.w_o, self_attn.b_o)
        self.cross_q = matrix(cross_attn.w_q, b_q)
        self.cross_kv = matrix(cross_attn.w_qkv[d:], b_kv)
        self.cross_o = matrix(cross_attn.w_o, cross_attn.b_o)
        self.activation = ffn.activation
        self.w_1 = matrix(ffn.w_1.weight, ffn.w_1.bias)
        self.w_2 = matrix(ffn.w_2.weight, ffn.w_2.bias)
        self.self_norm: nn.LayerNorm = layer.self_attn_norm.norm
        self.cross_norm: nn.LayerNorm = layer.cross_attn_norm.norm
        self.ffn_norm: nn.LayerNorm = layer.ffn_norm.norm


class DecoderWeights:
    """All weights of a decoder. Immutable, so it can be shared between threads."""

    def __init__(self, model: Transformer, matrix: MatrixFactory = Fp32) -> None:
        self.config = model.config
        self.layers = [
            LayerWeights(layer, matrix)  # type: ignore[arg-type]
            for layer in model.decoder.layers
        ]
        self.embedding = model.embedding.weight.detach()
        self.embedding_scale = self.config.embedding_scale
        self.output = matrix(model.embedding.weight, model.output_bias)
        self.positions = model.decoder.embed.positions
