"""ALTI and ALTI+: what each layer really mixes, and what each output token is made of.

Ferrando et al. 2022, "Measuring the Mixing of Contextual Information in the Transformer"
(https://arxiv.org/abs/2203.04212), section 3, and "Towards Opening the Black Box of Neural Machine
Translation" (https://arxiv.org/abs/2205.11631), section 3.

The output of attention, residual connection and LayerNorm is a sum over the input vectors,

    y_i = Σ_j T_i(x_j) + β,    T_i(x_j) = L(Σ_h α_ij f(x_j) + [j = i] x_i) / σ_i,

where L takes off the mean and multiplies by γ: LayerNorm is linear once its σ_i is known, so
nothing is approximated here. Where an attention has a bias b^O, as in models of others, L(b^O)/σ_i
stands beside β, and no input is given it. An input counts by how much nearer to y_i it brings one
than nothing,

    c_ij = max(0, ‖y_i‖₁ − ‖y_i − T_i(x_j)‖₁),

divided by the sum of its row. Rolled through the layers as in `rollout`. The feed-forward network,
which mixes no positions, is left out as in the papers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from transformer.analysis.attribution import norms
from transformer.analysis.attribution.rollout import Relevance, roll, roll_joint
from transformer.inference.trace import Trace
from transformer.model import Transformer


def encoder(model: Transformer, trace: Trace) -> Float[np.ndarray, "layers src src"]:
    """What of each source token is in each position of the encoder, after every layer (ALTI).

    Rows sum to 1.

    Args:
        trace: of this model, with all sites recorded.

    Raises:
        ValueError: for a trace of another model, or without its weights.
        KeyError: for a trace without another site that is needed.
    """
    return roll(_all(model, trace, "encoder"))


def joint(model: Transformer, trace: Trace) -> Relevance:
    """What of each source and target token is in each decoder position (ALTI+); see `encoder`.

    `joint(…).source_share[-1]` is the share of the source, against the target prefix with its
    `<s>`, in what each output token was predicted from.
    """
    across = _all(model, trace, "cross")
    memory, within = encoder(model, trace)[-1], _all(model, trace, "decoder")
    return roll_joint(memory, within, across[..., :-1], across[..., -1])


def contributions(
    model: Transformer, trace: Trace, kind: str, layer: int
) -> Float[np.ndarray, "query inputs"]:
    """c_ij of one sublayer, rows sum to 1; errors as of `encoder`.

    Inputs are the keys; for "cross" one more follows them, the position itself as it was before.
    In self-attention it is among the keys. Where no input brings the output nearer, which the
    papers leave open, the row is the position itself.
    """
    _, site = norms.attention(model, trace, kind, layer)
    outputs = trace[f"{site}_norm.hook_output"].astype(np.float64)
    rows, first = [], 0
    for parts in transformed(model, trace, kind, layer):
        output = outputs[first : first + len(parts), None]
        nearer = np.abs(output).sum(axis=-1) - np.abs(output - parts).sum(axis=-1)
        rows.append(np.maximum(nearer, 0))
        first += len(parts)
    found = np.concatenate(rows)
    itself = np.arange(len(found)) if kind != "cross" else np.full(len(found), -1)
    nothing = ~found.any(axis=-1)
    found[nothing, itself[nothing]] = 1
    return np.asarray(found / found.sum(axis=-1, keepdims=True))


def transformed(
    model: Transformer, trace: Trace, kind: str, layer: int
) -> Iterator[Float[np.ndarray, "some inputs d_model"]]:
    """T_i(x_j), some queries i after the other; over the inputs they add up to y_i − β. Inputs as
    in `contributions`."""
    _, site = norms.attention(model, trace, kind, layer)
    norm = norms.add_and_norm(model, site).norm
    total = trace[f"{site}_norm.hook_sum"].astype(np.float64)
    scale = norms.numbers(norm.weight) / np.sqrt(total.var(axis=-1, keepdims=True) + norm.eps)
    stream = trace[before(kind, layer)]
    first = 0
    for sent in norms.sums(model, trace, kind, layer):
        here = np.arange(len(sent))
        if kind == "cross":
            sent = np.concatenate([sent, stream[first + here, None]], axis=1)
        else:
            sent = sent.copy()
            sent[here, first + here] += stream[first + here]
        yield (sent - sent.mean(axis=-1, keepdims=True)) * scale[first + here, None]
        first += len(sent)


def _all(model: Transformer, trace: Trace, kind: str) -> Float[np.ndarray, "layers query inputs"]:
    layers = range(trace.n_layers)
    return np.stack([contributions(model, trace, kind, layer) for layer in layers])


def before(kind: str, layer: int) -> str:
    """The site of the residual stream that this attention reads its queries from."""
    if kind == "cross":
        return f"decoder.layers.{layer}.self_attn_norm.hook_output"
    return (
        f"{kind}.layers.{layer - 1}.ffn_norm.hook_output" if layer else f"{kind}.embed.hook_output"
    )
