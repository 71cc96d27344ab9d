"""Models in which no term of a sum is zero by chance, and traces with weights painted by hand."""

from __future__ import annotations

import copy

import numpy as np
import torch

from transformer.config import ModelConfig
from transformer.inference.results import StepTable, Translation
from transformer.inference.trace import WEIGHTS, Trace
from transformer.model import Transformer

TEXT, TARGET = "The baker sells the lamp again.", "Le boulanger vend la lampe."
KINDS = tuple(WEIGHTS)


def lively(model: Transformer) -> Transformer:
    """A copy whose LayerNorms scale and shift, and whose biases are not zero."""
    model = copy.deepcopy(model)
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("norm.weight"):
                parameter.uniform_(0.3, 1.7, generator=generator)
            elif name.endswith("bias"):
                parameter.normal_(0, 0.3, generator=generator)
    return model.eval()


def without_values(model: Transformer, attention: str) -> Transformer:
    """The same model, in which the values of every attention of this name are 0."""
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith(f"{attention}.w_qkv"):
                weight[-model.config.d_model :] = 0
    return model


def painted(
    encoder: np.ndarray, decoder: np.ndarray | None = None, cross: np.ndarray | None = None
) -> Trace:
    """A trace that holds these weights alone, each (layers, heads, query, key)."""
    n_layers, n_heads, n_src, _ = encoder.shape
    decoder = np.ones((n_layers, n_heads, 1, 1)) if decoder is None else decoder
    n_tgt = decoder.shape[-1]
    cross = np.full((n_layers, n_heads, n_tgt, n_src), 1 / n_src) if cross is None else cross
    config = ModelConfig(vocab_size=99, d_model=n_heads, n_layers=n_layers, n_heads=n_heads)
    src, tgt = tuple(range(10, 10 + n_src)), tuple(range(30, 30 + n_tgt))
    words, mots = tuple(map(str, src)), tuple(map(str, tgt))
    table = StepTable((), (), [], [], [])
    done = Translation("", src, words, "", tgt, mots, True, 0.0, 0.0, "forced", table)
    weights = {
        WEIGHTS[kind].format(layer): layers[layer][None].astype(np.float32)
        for kind, layers in zip(KINDS, (encoder, decoder, cross), strict=True)
        for layer in range(n_layers)
    }
    read = (config.bos_id, *tgt[:-1])
    labels = tuple(map(str, read))
    return Trace(words, labels, mots, src, read, tgt, config.to_dict(), done, weights)


def random_rows(seed: int, *shape: int, causal: bool = False) -> np.ndarray:
    """Rows that sum to 1, with some weights of 0 among them."""
    drawn = np.random.default_rng(seed).random(shape)
    drawn[drawn < 0.25] = 0
    if causal:
        drawn = np.tril(drawn)
    drawn[..., 0] += 0.1
    rows: np.ndarray = drawn / drawn.sum(axis=-1, keepdims=True)
    return rows
