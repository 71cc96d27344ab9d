"""The norm of each key's contribution to a query: the weight times the length of the value vector.

A head's output is Σ_j α_ij f(x_j) with f(x_j) = x_j W^V W^O of that head, so a large weight on a
short vector contributes little: Kobayashi et al. 2020, "Attention is Not Only a Weight"
(https://arxiv.org/abs/2004.10102), section 3. The paper's attention has no biases, so the vectors
of all keys and heads sum to the module's `hook_output`. In an imported model b^V is part of f(x_j),
and b^O belongs to no key.

Every function takes the model and a trace of it with all sites recorded. A trace made with hooks is
used as recorded: replaced values and weights count, and the vectors of a scaled head are scaled
too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from jaxtyping import Float
from torch import Tensor

from transformer.inference.trace import WEIGHTS, Trace
from transformer.measures.kinds import AttentionKind
from transformer.model import Transformer
from transformer.model.attention import MultiHeadAttention
from transformer.model.layers import AddAndNorm


def vectors(
    model: Transformer, trace: Trace, kind: AttentionKind, layer: int
) -> Float[np.ndarray, "heads key d_model"]:
    """Return f(x_j) of every head, the head's contribution to a query with weight 1 on key j.

    Args:
        kind: "encoder", "decoder" or "cross", as in `trace.weights`.
        layer: 0 is the lowest, -1 the highest.

    Raises:
        ValueError: for a kind or layer that does not exist, a trace of another model, or one in
            which a hook replaced a head's output by another vector.
        KeyError: for a trace without the values.
    """
    module, site = attention_module(model, trace, kind, layer)
    w_o = to_array(module.w_o).T.reshape(module.n_heads, -1, module.d_model)
    value_vectors: npt.NDArray[np.float32] = _gates(trace, kind, layer, site) * (
        trace[f"{site}.hook_value"] @ w_o
    )
    return value_vectors


def _gates(
    trace: Trace, kind: AttentionKind, layer: int, site: str
) -> Float[np.ndarray, "heads 1 1"]:
    """Return the factor by which a hook scaled each head's output: 1 without such a hook."""
    expected = trace.weights(kind, layer) @ trace[f"{site}.hook_value"]
    written = trace[f"{site}.hook_heads"]
    size = (expected * expected).sum(axis=(1, 2), keepdims=True)
    gates: npt.NDArray[np.float32] = np.ones_like(size)
    np.divide((expected * written).sum(axis=(1, 2), keepdims=True), size, out=gates, where=size > 0)
    residual = np.linalg.norm(written - gates * expected, axis=(1, 2))
    for head in np.flatnonzero(residual > 1e-3 * np.linalg.norm(expected, axis=(1, 2))):
        raise ValueError(
            f"the output of head {head} of {site} does not follow from its weights and values, so "
            "it cannot be split over the keys; use a trace without the hook that replaced it"
        )
    return gates


def contributions(
    model: Transformer, trace: Trace, kind: AttentionKind, layer: int
) -> Float[np.ndarray, "heads query key"]:
    """Return ‖α_ij f(x_j)‖ of every head; shape as `trace.weights(kind, layer)`. Raises the errors
    of `vectors`."""
    lengths = np.linalg.norm(vectors(model, trace, kind, layer), axis=-1)
    return np.asarray(trace.weights(kind, layer) * lengths[:, None])


def attention_module(
    model: Transformer, trace: Trace, kind: AttentionKind, layer: int
) -> tuple[MultiHeadAttention, str]:
    """Return the module of one kind and layer, and its name in model and trace. Raises the errors
    of `vectors`."""
    trace.weights(kind, layer)
    check_same_model(model, trace)
    site = WEIGHTS[kind].format(layer % trace.depth(kind)).removesuffix(".hook_weights")
    module = model.get_submodule(site)
    assert isinstance(module, MultiHeadAttention)
    return module, site


def add_and_norm(model: Transformer, site: str) -> AddAndNorm:
    """Return the residual connection and LayerNorm that follow the attention called `site`."""
    module = model.get_submodule(f"{site}_norm")
    assert isinstance(module, AddAndNorm)
    return module


def to_array(weight: Tensor) -> npt.NDArray[Any]:
    """Return a copy of a parameter as an array on the CPU."""
    return np.asarray(weight.detach().cpu().numpy())


def check_same_model(model: Transformer, trace: Trace) -> None:
    """Raise ValueError if the trace is of a model with another configuration."""
    model_config, trace_config = model.config.to_dict(), trace.config
    if model_config != trace_config:
        raise ValueError(
            f"the trace is of a model with {_sizes(trace_config)}, but the model has "
            f"{_sizes(model_config)}; pass the model that made the trace"
        )


def _sizes(config: dict[str, Any]) -> str:
    names = ("d_model", "n_layers", "n_heads", "vocab_size")
    return ", ".join(f"{name} {config[name]}" for name in names)
