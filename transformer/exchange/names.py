"""What each weight of a Marian model is called by `transformers`, and by us."""

from __future__ import annotations

import re
from collections.abc import Iterator

import torch
from torch import Tensor

TABLE = "model.shared.weight"
TIED = ("lm_head.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight")
"""Other names of the one table."""
BIAS = "final_logits_bias"
POSITIONS = re.compile(r"model\.(encoder|decoder)\.embed_positions\.weight")

_NORMS = {
    "self_attn_norm.norm": "self_attn_layer_norm",
    "cross_attn_norm.norm": "encoder_attn_layer_norm",
    "ffn_norm.norm": "final_layer_norm",
}
_PARTS = {**_NORMS, "ffn.w_1": "fc1", "ffn.w_2": "fc2"}
_ATTENTIONS = {"self_attn": "self_attn", "cross_attn": "encoder_attn"}


def blocks(n_layers: int) -> Iterator[tuple[str, str, bool]]:
    """(our layer, their layer, whether it is the decoder's) of every layer."""
    for stack in ("encoder", "decoder"):
        for layer in range(n_layers):
            path = f"{stack}.layers.{layer}"
            yield path, f"model.{path}", stack == "decoder"


def layer_names(decoder: bool) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The end of each of our names within a layer, and of theirs; three where ours has one."""
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


def every(n_layers: int) -> dict[str, tuple[str, ...]]:
    """Our name of every weight within the layers, and theirs, in the order of being stacked."""
    return {
        f"{ours}.{end}": tuple(f"{theirs}.{part}" for part in parts)
        for ours, theirs, decoder in blocks(n_layers)
        for end, parts in layer_names(decoder)
    }


def joined(weights: dict[str, Tensor], n_layers: int) -> dict[str, Tensor]:
    """Weights of the layers under our names. Raises KeyError for one that is not there."""
    return {
        ours: torch.cat([weights[part] for part in theirs])
        for ours, theirs in every(n_layers).items()
    }


def split(weights: dict[str, Tensor], n_layers: int) -> dict[str, Tensor]:
    """The inverse of `joined`."""
    return {
        part: piece.contiguous()
        for ours, theirs in every(n_layers).items()
        for part, piece in zip(theirs, weights[ours].chunk(len(theirs)), strict=True)
    }
