"""Names of Marian's weights in `transformers` and here, and the order of channels.

A sinusoid of section 3.5 alternates: sine, cosine, sine, … Marian writes all sines and then all
cosines (as tensor2tensor did). No other part of the model depends on the order of channels,
so rows and columns of the weights are reordered, and nothing is approximated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer.model.positions import sinusoidal

EMBEDDING_TABLE = "model.shared.weight"
TIED_TABLES = (
    "lm_head.weight",
    "model.encoder.embed_tokens.weight",
    "model.decoder.embed_tokens.weight",
)
"""Other names of the shared table."""
OUTPUT_BIAS = "final_logits_bias"
POSITIONS = re.compile(r"model\.(encoder|decoder)\.embed_positions\.weight")

_NORMS = {
    "self_attn_norm.norm": "self_attn_layer_norm",
    "cross_attn_norm.norm": "encoder_attn_layer_norm",
    "ffn_norm.norm": "final_layer_norm",
}
_PARTS = {**_NORMS, "ffn.w_1": "fc1", "ffn.w_2": "fc2"}
_ATTENTIONS = {"self_attn": "self_attn", "cross_attn": "encoder_attn"}


def layer_paths(n_layers: int) -> Iterator[tuple[str, str, bool]]:
    """Yield every layer as (path in this package, path in Marian, whether it is in the decoder)."""
    for stack in ("encoder", "decoder"):
        for layer in range(n_layers):
            path = f"{stack}.layers.{layer}"
            yield path, f"model.{path}", stack == "decoder"


def layer_names(decoder: bool) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield this package's weight names within a layer, each with Marian's names: three for a
    stacked projection, else one."""
    for name, marian_name in _ATTENTIONS.items():
        if name == "cross_attn" and not decoder:
            continue
        for prefix, suffix in (("w", "weight"), ("b", "bias")):
            parts = tuple(f"{marian_name}.{part}_proj.{suffix}" for part in "qkv")
            yield f"{name}.{prefix}_qkv", parts
            yield f"{name}.{prefix}_o", (f"{marian_name}.out_proj.{suffix}",)
    for name, marian_name in _PARTS.items():
        if name.startswith("cross_attn") and not decoder:
            continue
        for kind in ("weight", "bias"):
            yield f"{name}.{kind}", (f"{marian_name}.{kind}",)


def weight_names(n_layers: int) -> dict[str, tuple[str, ...]]:
    """Return Marian's names of every layer weight, in stacking order, by this package's name."""
    return {
        f"{path}.{end}": tuple(f"{marian_path}.{part}" for part in parts)
        for path, marian_path, decoder in layer_paths(n_layers)
        for end, parts in layer_names(decoder)
    }


def from_marian(weights: dict[str, Tensor], n_layers: int) -> dict[str, Tensor]:
    """Return the layer weights by this package's names. Raises KeyError for a missing weight."""
    return {
        name: torch.cat([weights[part] for part in marian_names])
        for name, marian_names in weight_names(n_layers).items()
    }


def to_marian(weights: dict[str, Tensor], n_layers: int) -> dict[str, Tensor]:
    """Inverse of `from_marian`."""
    return {
        part: piece.contiguous()
        for name, marian_names in weight_names(n_layers).items()
        for part, piece in zip(marian_names, weights[name].chunk(len(marian_names)), strict=True)
    }


RESIDUAL_DIMENSIONS = {
    "embedding.weight": 1,
    "w_qkv": 1,
    "w_o": 0,
    "b_o": 0,
    "norm.weight": 0,
    "norm.bias": 0,
    "w_1.weight": 1,
    "w_2.weight": 0,
    "w_2.bias": 0,
}
"""Suffixes of this package's weight names, with the dimension that indexes residual channels."""


def marian_channels(d_model: int) -> Int[Tensor, " d_model"]:
    """Return Marian's index of each channel of this package."""
    channels = torch.arange(d_model, device="cpu")
    return channels // 2 + (channels % 2) * ((d_model + 1) // 2)


def marian_positions(length: int, d_model: int) -> Float[Tensor, "length d_model"]:
    """Return the sinusoids in Marian's order of channels."""
    return sinusoidal(length, d_model)[:, marian_channels(d_model).argsort()]


def reorder_channels(
    weights: dict[str, Tensor], order: Int[Tensor, " d_model"]
) -> dict[str, Tensor]:
    """Return the weights, by this package's names, with their residual channels in this order."""
    reordered_weights = {}
    for name, weight in weights.items():
        dimension = next(
            (dim for suffix, dim in RESIDUAL_DIMENSIONS.items() if name.endswith(suffix)), None
        )
        reordered_weights[name] = (
            weight if dimension is None else weight.index_select(dimension, order)
        )
    return reordered_weights
