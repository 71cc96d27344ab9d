"""The float32 matrix products of a translation and nothing else: no way of decoding whose tokens
are float32's can be faster, however it drafts.

Each product is done by torch's library or by oneDNN, whichever is faster here for its shape.
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
    """Does those of all sources one by one: the encoder's, and the decoder's of every position of
    every hypothesis at once."""
    read = [(weight, len(ids)) for ids in sources for weight in _of_source(model)]
    positions = 1 + (steps - 1) * beam_size  # all begin with one `<s>`
    written = [(weight, positions) for _ in sources for weight in _of_target(model)]
    works: list[tuple[Product, Tensor, Tensor]] = []
    known: dict[tuple[int, ...], Product] = {}
    for weight, rows in read + written:
        x = torch.ones(rows, weight.shape[1])
        shape = (rows, *weight.shape)
        if shape not in known:
            known[shape] = _faster(x, weight)
        works.append((known[shape], x, weight))
    return torch.inference_mode()(lambda: [product(x, weight) for product, x, weight in works])


def _of_source(model: Transformer) -> list[Tensor]:
    found: list[Any] = []
    for layer in model.encoder.layers:
        found += [layer.self_attn.w_qkv, layer.self_attn.w_o, *_ffn(layer)]
    d = model.config.d_model
    return found + [layer.cross_attn.w_qkv[d:].detach() for layer in model.decoder.layers]


def _of_target(model: Transformer) -> list[Tensor]:
    found: list[Any] = []
    for layer in model.decoder.layers:
        cross = layer.cross_attn
        found += [layer.self_attn.w_qkv, layer.self_attn.w_o, cross.w_q, cross.w_o, *_ffn(layer)]
    return [*found, model.embedding.weight]


def _ffn(layer: Any) -> list[Tensor]:
    return [layer.ffn.w_1.weight, layer.ffn.w_2.weight]


@torch.inference_mode()
def _faster(x: Tensor, weight: Tensor) -> Product:
    best: dict[Product, float] = {}
    for product in (torch.nn.functional.linear, _onednn):
        for _ in range(TRIALS):
            begun = time.perf_counter()
            product(x, weight)
            spent = time.perf_counter() - begun
            best[product] = min(best.get(product, spent), spent)
    return min(best, key=best.__getitem__)


def _onednn(x: Tensor, weight: Tensor) -> Tensor:
    return torch.ops.mkldnn._linear_pointwise(x, weight, None, "none", [], "")  # type: ignore[no-any-return]
