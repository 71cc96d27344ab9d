"""The feed-forward network as two convolutions of kernel 1, beside two products (section 3.3)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from transformer.analysis.inside.context import array
from transformer.analysis.inside.panels import Array
from transformer.inference.trace import Trace
from transformer.model import Transformer
from transformer.model.layers import FeedForward

Rows = Float[Tensor, "length d_model"]


@dataclass(frozen=True, eq=False)
class Convolved:
    """One feed-forward network over one sentence, in both forms.

    Attributes:
        linear: (length, d_model), max(0, x W_1 + b_1) W_2 + b_2, as the model had it (or its own
            activation for the max).
        convolved: the same by two `conv1d` with the same weights.
        kernels: shapes of the two kernels, (out, in, 1).
        apart: greatest difference between the two.
        alone: greatest change of any row when it is convolved without its neighbours.
    """

    linear: Array
    convolved: Array
    kernels: tuple[tuple[int, ...], tuple[int, ...]]
    apart: float
    alone: float


def convolved(model: Transformer, trace: Trace, block: str) -> Convolved:
    """Put what a block's network read through two convolutions, all of it and row by row.

    Args:
        trace: of this model, with the norms and the network's output of that layer.
        block: "encoder.layers.0.ffn".

    Raises:
        KeyError: if the trace was recorded without them.
        ValueError: for a block that is no feed-forward network.
    """
    ffn = model.get_submodule(block)
    if not isinstance(ffn, FeedForward):
        raise ValueError(f"{block} is a {type(ffn).__name__}; this is about feed-forward networks")
    before = "cross_attn" if block.startswith("decoder") else "self_attn"
    site = block.removesuffix("ffn") + f"{before}_norm.hook_output"
    x = torch.tensor(trace[site], device=ffn.w_1.weight.device)
    with torch.no_grad():
        whole = by_convolution(ffn, x)
        alone = torch.cat([by_convolution(ffn, row[None]) for row in x])
    linear = trace[f"{block}.hook_output"].astype("float64")
    return Convolved(
        linear=linear,
        convolved=array(whole),
        kernels=(tuple(_kernel(ffn.w_1).shape), tuple(_kernel(ffn.w_2).shape)),
        apart=float(abs(linear - array(whole)).max()),
        alone=float((whole - alone).abs().max()),
    )


def by_convolution(ffn: FeedForward, x: Rows) -> Rows:
    """conv1d, activation, conv1d: channels are the dimensions, and the kernel sees one position."""
    hidden = ffn.activation(functional.conv1d(x.T[None], _kernel(ffn.w_1), ffn.w_1.bias))
    return functional.conv1d(hidden, _kernel(ffn.w_2), ffn.w_2.bias)[0].T


def _kernel(linear: torch.nn.Linear) -> Float[Tensor, "out in 1"]:
    """A product's matrix as a kernel of one position: the same numbers, an axis more."""
    return linear.weight[:, :, None]
