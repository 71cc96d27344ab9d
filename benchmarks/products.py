"""The float32 matrix products of a translation: a lower bound for the time of any decoding that
returns the same tokens as float32, with or without drafts.

Each product uses torch's default routine or oneDNN, whichever is faster for its shape.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from transformer.model import Transformer

TRIALS = 20
Product = Callable[[Tensor, Tensor], Tensor]


def products_alone(
    model: Transformer, sources: list[list[int]], steps: int, beam_size: int = 1
) -> Callable[[], object]:
    """Return a function that computes the matrix products of all sources, one source after another.

    For each source it multiplies by the encoder's weights once, and by the decoder's weights once
    for all positions of all hypotheses together.
    """
    encoder_products = [
        (weight, len(ids)) for ids in sources for weight in _encoder_side_weights(model)
    ]
    n_positions = 1 + (steps - 1) * beam_size  # all hypotheses share the first position, `<s>`
    decoder_products = [
        (weight, n_positions) for _ in sources for weight in _decoder_side_weights(model)
    ]
    products: list[tuple[Product, Tensor, Tensor]] = []
    fastest: dict[tuple[int, ...], Product] = {}
    for weight, rows in encoder_products + decoder_products:
        x = torch.ones(rows, weight.shape[1])
        shape = (rows, *weight.shape)
        if shape not in fastest:
            fastest[shape] = _faster_product(x, weight)
        products.append((fastest[shape], x, weight))
    return torch.inference_mode()(lambda: [product(x, weight) for product, x, weight in products])


def _encoder_side_weights(model: Transformer) -> list[Tensor]:
    weights: list[Any] = []
    layer: Any
    for layer in model.encoder.layers:
        weights += [layer.self_attn.w_qkv, layer.self_attn.w_o, *_ffn(layer)]
    d = model.config.d_model
    for layer in model.decoder.layers:
        weights.append(layer.cross_attn.w_qkv[d:].detach())
    return weights


def _decoder_side_weights(model: Transformer) -> list[Tensor]:
    weights: list[Any] = []
    layer: Any
    for layer in model.decoder.layers:
        cross = layer.cross_attn
        weights += [layer.self_attn.w_qkv, layer.self_attn.w_o, cross.w_q, cross.w_o, *_ffn(layer)]
    return [*weights, model.embedding.weight]


def _ffn(layer: Any) -> list[Tensor]:
    return [layer.ffn.w_1.weight, layer.ffn.w_2.weight]


@torch.inference_mode()
def _faster_product(x: Tensor, weight: Tensor) -> Product:
    best: dict[Product, float] = {}
    for product in (torch.nn.functional.linear, _onednn):
        for _ in range(TRIALS):
            start = time.perf_counter()
            product(x, weight)
            seconds = time.perf_counter() - start
            best[product] = min(best.get(product, seconds), seconds)
    return min(best, key=best.__getitem__)


def _onednn(x: Tensor, weight: Tensor) -> Tensor:
    return torch.ops.mkldnn._linear_pointwise(x, weight, None, "none", [], "")  # type: ignore[no-any-return]
