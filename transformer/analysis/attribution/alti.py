"""ALTI and ALTI+: the contribution of each token to each layer's output, through all layers.

Ferrando et al. 2022, "Measuring the Mixing of Contextual Information in the Transformer"
(https://arxiv.org/abs/2203.04212), section 3, and "Towards Opening the Black Box of Neural Machine
Translation" (https://arxiv.org/abs/2205.11631), section 3.

The output of attention, residual connection and LayerNorm is a sum over the input vectors,

    y_i = Σ_j T_i(x_j) + β,    T_i(x_j) = L(Σ_h α_ij f(x_j) + [j = i] x_i) / σ_i,

where L subtracts the mean and multiplies by γ: LayerNorm is linear for a given σ_i, so nothing is
approximated here. If the attention has an output bias b^O, as in some imported models, L(b^O)/σ_i
is added to β and is not attributed to any input. The contribution of an input is how much closer
it brings the sum to y_i,

    c_ij = max(0, ‖y_i‖₁ − ‖y_i − T_i(x_j)‖₁),

divided by the sum of its row. The matrices are multiplied through the layers as in `rollout`. The
feed-forward network does not mix positions; as in the papers, it is left out.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from transformer.analysis.attribution import norms
from transformer.analysis.attribution.rollout import Relevance, joint_rollout, layer_products
from transformer.inference.trace import Trace
from transformer.model import Transformer


def encoder(model: Transformer, trace: Trace) -> Float[np.ndarray, "layers src src"]:
    """Return how much of each source token is in each encoder position after every layer (ALTI).

    Rows sum to 1.

    Args:
        trace: of this model, with all sites recorded.

    Raises:
        ValueError: for a trace of another model, or without its weights.
        KeyError: for a trace without another site that is needed.
    """
    return layer_products(_all_layers(model, trace, "encoder"))


def joint(model: Transformer, trace: Trace) -> Relevance:
    """Return how much of each source and target token is in each decoder position (ALTI+).

    `joint(…).source_share[-1]` is the share of the source, against the target prefix with its
    `<s>`, in the prediction of each output token. See `encoder` for arguments and errors.
    """
    cross = _all_layers(model, trace, "cross")
    memory, decoder = encoder(model, trace)[-1], _all_layers(model, trace, "decoder")
    return joint_rollout(memory, decoder, cross[..., :-1], cross[..., -1])


def contributions(
    model: Transformer, trace: Trace, kind: str, layer: int
) -> Float[np.ndarray, "query inputs"]:
    """Return c_ij of one sublayer; rows sum to 1. Raises the errors of `encoder`.

    The inputs are the keys; for "cross" a last column is the position's own residual stream, which
    in self-attention is one of the keys. If no input brings the sum closer to the output, the whole
    row is attributed to the position itself; the papers do not treat this case.
    """
    _, site = norms.attention_module(model, trace, kind, layer)
    outputs = trace[f"{site}_norm.hook_output"].astype(np.float64)
    rows, start = [], 0
    for parts in transformed(model, trace, kind, layer):
        output = outputs[start : start + len(parts), None]
        reduction = np.abs(output).sum(axis=-1) - np.abs(output - parts).sum(axis=-1)
        rows.append(np.maximum(reduction, 0))
        start += len(parts)
    scores = np.concatenate(rows)
    own_index = np.arange(len(scores)) if kind != "cross" else np.full(len(scores), -1)
    zero_rows = ~scores.any(axis=-1)
    scores[zero_rows, own_index[zero_rows]] = 1
    return np.asarray(scores / scores.sum(axis=-1, keepdims=True))


def transformed(
    model: Transformer, trace: Trace, kind: str, layer: int
) -> Iterator[Float[np.ndarray, "some inputs d_model"]]:
    """Yield T_i(x_j) for blocks of queries i; over the inputs they sum to y_i − β.

    The inputs are those of `contributions`.
    """
    _, site = norms.attention_module(model, trace, kind, layer)
    norm = norms.add_and_norm(model, site).norm
    total = trace[f"{site}_norm.hook_sum"].astype(np.float64)
    scale = norms.to_array(norm.weight) / np.sqrt(total.var(axis=-1, keepdims=True) + norm.eps)
    stream = trace[query_stream_site(kind, layer)]
    start = 0
    for vectors in norms.summed_vectors(model, trace, kind, layer):
        rows = np.arange(len(vectors))
        if kind == "cross":
            vectors = np.concatenate([vectors, stream[start + rows, None]], axis=1)
        else:
            vectors = vectors.copy()
            vectors[rows, start + rows] += stream[start + rows]
        yield (vectors - vectors.mean(axis=-1, keepdims=True)) * scale[start + rows, None]
        start += len(vectors)


def _all_layers(
    model: Transformer, trace: Trace, kind: str
) -> Float[np.ndarray, "layers query inputs"]:
    layers = range(trace.n_layers)
    return np.stack([contributions(model, trace, kind, layer) for layer in layers])


def query_stream_site(kind: str, layer: int) -> str:
    """Return the site of the residual stream that this attention computes its queries from."""
    if kind == "cross":
        return f"decoder.layers.{layer}.self_attn_norm.hook_output"
    return (
        f"{kind}.layers.{layer - 1}.ffn_norm.hook_output" if layer else f"{kind}.embed.hook_output"
    )
