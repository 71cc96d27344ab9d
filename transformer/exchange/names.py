"""Names of Marian's weights in `transformers` and here, and the order of channels.

A sinusoid of section 3.5 alternates: sine, cosine, sine, … Marian writes all sines and then all
cosines (as tensor2tensor did). Every other part of the model treats its channels alike, so one
order becomes the other by moving rows and columns of the weights, and nothing is approximated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer.model.positions import sinusoidal

TABLE = "model.shared.weight"
TIED = ("lm_head.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight")
"""Other names of the shared table."""
BIAS = "final_logits_bias"
DECODER_POSITIONS = "model.decoder.embed_positions.weight"
POSITIONS = re.compile(r"model\.(encoder|decoder)\.embed_positions\.weight")

_NORMS = {
    "self_attn_norm.norm": "self_attn_layer_norm",
    "cross_attn_norm.norm": "encoder_attn_layer_norm",
    "ffn_norm.norm": "final_layer_norm",
}
_PARTS = {**_NORMS, "ffn.w_1": "fc1", "ffn.w_2": "fc2"}
_ATTENTIONS = {"self_attn": "self_attn", "cross_attn": "encoder_attn"}


def blocks(n_layers: int) -> Iterator[tuple[str, str, bool]]:
    """Yield (our layer, their layer, whether it is a decoder layer) of every layer."""
    for stack in ("encoder", "decoder"):
        for layer in range(n_layers):
            path = f"{stack}.layers.{layer}"
            yield path, f"model.{path}", stack == "decoder"


def layer_names(decoder: bool) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield our weight names within a layer with theirs (three for our stacked projections)."""
    for ours, theirs in _ATTENTIONS.items():
        if ours == "cross_attn" and not decoder:
            continue
        for our_kind, their_kind in (("w", "weight"), ("b", "bias")):
            parts = tuple(f"{theirs}.{part}_proj.{their_kind}" for part in "qkv")
            yield f"{ours}.{our_kind}_qkv", parts
            yield f"{ours}.{our_kind}_o", (f"{theirs}.out_proj.{their_kind}",)
    for ours, theirs in _PARTS.items():
        if ours.startswith("cross_attn") and not decoder:
            continue
        for kind in ("weight", "bias"):
            yield f"{ours}.{kind}", (f"{theirs}.{kind}",)


def weight_names(n_layers: int) -> dict[str, tuple[str, ...]]:
    """Return all layer weights by our name, with their names in stacking order."""
    return {
        f"{ours}.{end}": tuple(f"{theirs}.{part}" for part in parts)
        for ours, theirs, decoder in blocks(n_layers)
        for end, parts in layer_names(decoder)
    }


def from_marian(weights: dict[str, Tensor], n_layers: int) -> dict[str, Tensor]:
    """Return the layer weights under our names. Raises KeyError for a missing weight."""
    return {
        ours: torch.cat([weights[part] for part in theirs])
        for ours, theirs in weight_names(n_layers).items()
    }


def to_marian(weights: dict[str, Tensor], n_layers: int) -> dict[str, Tensor]:
    """Inverse of `from_marian`."""
    return {
        part: piece.contiguous()
        for ours, theirs in weight_names(n_layers).items()
        for part, piece in zip(theirs, weights[ours].chunk(len(theirs)), strict=True)
    }


RESIDUAL = {
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
"""Suffixes of our weight names, with the dimension that indexes residual channels."""


def marian_channels(d_model: int) -> Int[Tensor, " d_model"]:
    """Return Marian's index of each of our channels."""
    channels = torch.arange(d_model)
    return channels // 2 + (channels % 2) * ((d_model + 1) // 2)


def marian_positions(length: int, d_model: int) -> Float[Tensor, "length d_model"]:
    """Return the sinusoids in Marian's order of channels."""
    return sinusoidal(length, d_model)[:, marian_channels(d_model).argsort()]


def reorder_channels(
    weights: dict[str, Tensor], order: Int[Tensor, " d_model"]
) -> dict[str, Tensor]:
    """Return the weights (our names) with their residual channels in this order."""
    reordered_weights = {}
    for name, weight in weights.items():
        dimension = next((dim for end, dim in RESIDUAL.items() if name.endswith(end)), None)
        reordered_weights[name] = (
            weight if dimension is None else weight.index_select(dimension, order)
        )
    return reordered_weights
