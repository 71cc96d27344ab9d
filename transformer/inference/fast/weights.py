"""Decoder weights for decoding one token at a time, as float32, bfloat16 or int8.

The number format affects matrix products only: sums, norms, softmax and attention are always
float32. With one row a product is limited by reading the weights, so int8 is faster than float32;
with many rows it is limited by arithmetic, and some processors compute bfloat16 several times
faster.
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

    transpose_few_rows = True

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        self.weight, self.bias = weight.detach().t(), _detached(bias)

    def __call__(self, x: Tensor) -> Tensor:
        if self._use_columns(x):
            product = torch.mm(self.weight.t(), x.t()).t().contiguous()
            return product if self.bias is None else product.add_(self.bias)
        return linear(x, self.weight.t(), self.bias)

    def addmm(self, base: Tensor, x: Tensor) -> Tensor:
        if len(x) > 1:
            return self(x).add_(base)
        total = torch.addmm(base, x, self.weight)
        return total if self.bias is None else total.add_(self.bias)

    def _use_columns(self, x: Tensor) -> bool:
        return self.transpose_few_rows and len(x) in COLUMN_LAYOUT_ROWS and x.device.type == "cpu"


class Fp32Copy(Fp32):
    """float32, a contiguous transposed copy, which is faster with one row."""

    transpose_few_rows = False

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        self.weight, self.bias = weight.detach().t().contiguous(), _detached(bias)


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


@dataclass(frozen=True)
class Norm:
    """Layer normalization; `shift` is added to its output."""

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
    """Weights of one decoder layer.

    The output bias b_2 of the feed-forward network is already added by the norm before it, which
    saves an operation: with x' = x + b_2, x' W_1 + (b_1 - b_2 W_1) = x W_1 + b_1, and the residual
    connection carries b_2 to the output.
    """

    def __init__(self, layer: DecoderLayer, wide: MatrixFactory, small: MatrixFactory) -> None:
        self_attn, cross_attn, ffn = layer.self_attn, layer.cross_attn, layer.ffn
        self.self_score: ScoreFunction = self_attn.score
        self.cross_score: ScoreFunction = cross_attn.score
        d, bias = cross_attn.d_model, cross_attn.b_qkv
        b_q, b_kv = (None, None) if bias is None else (bias[:d], bias[d:])
        self.qkv, self.o = (
            wide(self_attn.w_qkv, self_attn.b_qkv),
            small(self_attn.w_o, self_attn.b_o),
        )
        self.cross_q, self.cross_o = (
            small(cross_attn.w_q, b_q),
            small(cross_attn.w_o, cross_attn.b_o),
        )
        self.cross_q_weight, self.cross_o_weight = cross_attn.w_q.detach(), cross_attn.w_o.detach()
        self.cross_kv = small(cross_attn.w_qkv[d:], b_kv)
        self.cross_kv_weight = cross_attn.w_qkv[d:].detach().t()
        self.b_q, self.b_kv, self.b_o = _detached(b_q), _detached(b_kv), _detached(cross_attn.b_o)
        self.activation = ffn.activation
        self.w_1, self.w_2 = wide(ffn.w_1.weight, None), wide(ffn.w_2.weight, None)
        b_2 = ffn.w_2.bias.detach()
        self.b_1 = (ffn.w_1.bias - ffn.w_1.weight @ b_2).detach()
        self.self_norm = Norm.of(layer.self_attn_norm)
        self.cross_norm = Norm.of(layer.cross_attn_norm, shift=b_2)
        self.ffn_norm = Norm.of(layer.ffn_norm)


class DecoderWeights:
    """All weights of a decoder. Immutable, so it can be shared between threads."""

    def __init__(
        self, model: Transformer, wide: MatrixFactory = Fp32, small: MatrixFactory | None = None
    ) -> None:
        """`wide` builds the larger matrices, `small` the square ones (default: `wide`)."""
        self.config = model.config
        self.layers = [
            LayerWeights(layer, wide, small or wide)  # type: ignore[arg-type]
            for layer in model.decoder.layers
        ]
        self.embedding = model.embedding.weight.detach()
        self.embedding_scale = self.config.embedding_scale
        self.output = wide(model.embedding.weight, model.output_bias)
        self.positions = model.decoder.embed.positions
