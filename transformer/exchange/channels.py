"""Marian's order of the residual channels, and ours.

A sinusoid of section 3.5 alternates: sine, cosine, sine, … Marian writes all sines and then all
cosines (as tensor2tensor did). Every other part of the model treats its channels alike, so one
order becomes the other by moving rows and columns of the weights, and nothing is approximated.
"""

from __future__ import annotations

import torch
from jaxtyping import Int
from torch import Tensor

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
"""Ends of our names of weights, and which dimension of each runs over the residual channels."""


def theirs_of_ours(d_model: int) -> Int[Tensor, " d_model"]:
    """For each of our channels the place that Marian gives it."""
    places = torch.arange(d_model)
    return places // 2 + (places % 2) * ((d_model + 1) // 2)


def reordered(weights: dict[str, Tensor], order: Int[Tensor, " d_model"]) -> dict[str, Tensor]:
    """Each weight, under our names, with its residual channels taken in this order."""
    found = {}
    for name, weight in weights.items():
        dimension = next((dim for end, dim in RESIDUAL.items() if name.endswith(end)), None)
        found[name] = weight if dimension is None else weight.index_select(dimension, order)
    return found
