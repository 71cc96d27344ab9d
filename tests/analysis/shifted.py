"""Models whose heads do one thing by construction: look a fixed number of places away."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from transformer.config import ModelConfig
from transformer.inference import Translator
from transformer.model import Transformer
from transformer.text import Vocabulary


def place(weights: Tensor, offset: int) -> Tensor:
    """All weight of row i on key i + offset, or on the nearest key there is."""
    queries, keys = weights.shape[-2:]
    made = torch.zeros_like(weights)
    for i in range(queries):
        made[..., i, min(max(i + offset, 0), keys - 1)] = 1.0
    return made


def shift_model(vocabulary: Vocabulary, offsets: tuple[int, ...]) -> Translator:
    """One encoder layer; head h looks `offsets[h]` places away, made of W^Q, W^K and positions.

    A query asks for the position `offset` further on: the rotation of the sinusoids that the
    paper's section 3.5 speaks of, PE(pos + k) = M_k PE(pos), times a large number. Token vectors
    are all 0, so that a vector is its position alone.
    """
    d_k = 32
    config = ModelConfig(
        vocab_size=len(vocabulary), d_model=d_k * len(offsets), n_heads=len(offsets), n_layers=1
    )
    model = Transformer(config).eval().requires_grad_(False)
    model.embedding.weight.zero_()
    attention = model.encoder.layers[0].self_attn
    attention.w_qkv.zero_()
    pairs = torch.arange(d_k // 2)
    rates = torch.exp(-2 * pairs * torch.log(torch.tensor(10000.0)) / config.d_model)
    for head, offset in enumerate(offsets):
        own = slice(head * d_k, (head + 1) * d_k)
        turn = torch.zeros(d_k, config.d_model)
        sin, cos = torch.sin(rates * offset), torch.cos(rates * offset)
        turn[2 * pairs, 2 * pairs], turn[2 * pairs, 2 * pairs + 1] = cos, sin
        turn[2 * pairs + 1, 2 * pairs], turn[2 * pairs + 1, 2 * pairs + 1] = -sin, cos
        attention.w_q[own] = 100 * turn
        attention.w_k[own] = torch.eye(d_k, config.d_model)
    return Translator(model, vocabulary)


@contextmanager
def quiet() -> Iterator[None]:
    """Random starting weights without moving the caller's generator."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield
