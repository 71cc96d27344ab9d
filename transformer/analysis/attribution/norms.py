"""What each key contributes to a query: the norm of the vector that it sends, beside its weight.

A head's output is Σ_j α_ij f(x_j) with f(x_j) = x_j W^V W^O of that head, so a large weight on a
short vector contributes little: Kobayashi et al. 2020, "Attention is Not Only a Weight"
(https://arxiv.org/abs/2004.10102), section 3. The paper's attention has no biases, so the vectors
of all keys and heads add up to the module's `hook_output` and nothing is left over. In a model of
others b^V is part of f(x_j), and b^O, which comes from no key, is what is left.

Every function takes the model and a trace of it with all sites recorded. A trace made with hooks
is taken as it is: values and weights put in the place of others count, and the vectors of a head
that was turned down are turned down with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from jaxtyping import Float
from torch import Tensor

from transformer.cancellation import check_cancelled
from transformer.inference.trace import WEIGHTS, Trace
from transformer.model import Transformer
from transformer.model.attention import MultiHeadAttention
from transformer.model.layers import AddAndNorm

BLOCK = 2**22
"""Numbers of one block of vectors: a long text is taken some queries at a time."""


def vectors(
    model: Transformer, trace: Trace, kind: str, layer: int
) -> Float[np.ndarray, "heads key d_model"]:
    """f(x_j) of every head: what a key would send to a query that looks at nothing else.

    Args:
        kind: "encoder", "decoder" or "cross", as in `trace.weights`.
        layer: 0 is the lowest, -1 the highest.

    Raises:
        ValueError: for a kind or layer that is not there, a trace of another model, or one in which
            a hook made a head write what does not come from its keys.
        KeyError: for a trace without the values.
    """
    module, site = attention(model, trace, kind, layer)
    w_o = numbers(module.w_o).T.reshape(module.n_heads, -1, module.d_model)
    sent: npt.NDArray[np.float32] = _gates(trace, kind, layer, site) * (
        trace[f"{site}.hook_value"] @ w_o
    )
    return sent


def _gates(trace: Trace, kind: str, layer: int, site: str) -> Float[np.ndarray, "heads 1 1"]:
    """What a hook multiplied each head's output by: 1, unless the trace was made with one."""
    made = trace.weights(kind, layer) @ trace[f"{site}.hook_value"]
    wrote = trace[f"{site}.hook_heads"]
    size = (made * made).sum(axis=(1, 2), keepdims=True)
    gates: npt.NDArray[np.float32] = np.ones_like(size)
    np.divide((made * wrote).sum(axis=(1, 2), keepdims=True), size, out=gates, where=size > 0)
    left = np.linalg.norm(wrote - gates * made, axis=(1, 2))
    for head in np.flatnonzero(left > 1e-3 * np.linalg.norm(made, axis=(1, 2))):
        raise ValueError(
            f"head {head} of {site} wrote what its weights and values do not make, so it cannot be "
            "split over the keys; take a trace without the hook that put it there"
        )
    return gates


def contributions(
    model: Transformer, trace: Trace, kind: str, layer: int
) -> Float[np.ndarray, "heads query key"]:
    """‖α_ij f(x_j)‖ of every head, beside `trace.weights(kind, layer)`; errors as of `vectors`."""
    lengths = np.linalg.norm(vectors(model, trace, kind, layer), axis=-1)
    return np.asarray(trace.weights(kind, layer) * lengths[:, None])


def summed_contributions(
    model: Transformer, trace: Trace, kind: str, layer: int
) -> Float[np.ndarray, "query key"]:
    """‖Σ_h α_ij f(x_j)‖: the heads' vectors added before they are measured (their section 5).

    Heads may pull in opposite directions, so this is at most the sum of `contributions` over
    the heads.
    """
    return np.concatenate(
        [np.linalg.norm(sent, axis=-1) for sent in sums(model, trace, kind, layer)]
    )


def sums(
    model: Transformer, trace: Trace, kind: str, layer: int
) -> Iterator[Float[np.ndarray, "some key d_model"]]:
    """Σ_h α_ij f(x_j), some queries after the other; over the keys they add up to `hook_output`,
    less b^O where the model has one."""
    sent = np.ascontiguousarray(vectors(model, trace, kind, layer).transpose(1, 0, 2))
    weights = trace.weights(kind, layer).transpose(2, 1, 0)  # (key, query, heads)
    step = max(1, BLOCK // (sent.shape[0] * sent.shape[2]))
    for first in range(0, weights.shape[1], step):
        check_cancelled()
        yield (weights[:, first : first + step] @ sent).transpose(1, 0, 2)


def attention(
    model: Transformer, trace: Trace, kind: str, layer: int
) -> tuple[MultiHeadAttention, str]:
    """The module of one kind and layer, and its name in model and trace; errors as of `vectors`."""
    trace.weights(kind, layer)
    same_model(model, trace)
    site = WEIGHTS[kind].format(layer % trace.depth(kind)).removesuffix(".hook_weights")
    module = model.get_submodule(site)
    assert isinstance(module, MultiHeadAttention)
    return module, site


def add_and_norm(model: Transformer, site: str) -> AddAndNorm:
    """The residual connection and LayerNorm that follow the attention called `site`."""
    module = model.get_submodule(f"{site}_norm")
    assert isinstance(module, AddAndNorm)
    return module


def numbers(weight: Tensor) -> npt.NDArray[Any]:
    """A copy of a parameter as an array, wherever the model lives."""
    return np.asarray(weight.detach().cpu().numpy())


def same_model(model: Transformer, trace: Trace) -> None:
    """Raises ValueError if the trace is of a model of another shape."""
    ours, its = model.config.to_dict(), trace.config
    if ours != its:
        raise ValueError(
            f"the trace is of a model with {_sizes(its)}, the model given has {_sizes(ours)}; "
            "give the model that the trace was made with"
        )


def _sizes(config: dict[str, Any]) -> str:
    names = ("d_model", "n_layers", "n_heads", "vocab_size")
    return ", ".join(f"{name} {config[name]}" for name in names)
