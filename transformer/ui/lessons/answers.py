"""Answers that are worked out: from the pass over the lesson's sentence, or from the formula."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from transformer import measures
from transformer.analysis import positions
from transformer.analysis.inside import misprints
from transformer.analysis.table1 import score_scale
from transformer.figures.roles import POSITIONAL
from transformer.figures.side import Side
from transformer.inference import Trace
from transformer.inference.trace import Array
from transformer.model import Transformer

ROW = 2
"""The row of the lesson on one query: the place that has read the second piece."""


def steps(trace: Trace) -> str:
    *wrote, last = trace.translation.steps
    return (
        f"{len(wrote) + 1} steps: {_pieces([step.chosen.token for step in wrote])}, and then "
        f"{_pieces([last.chosen.token])}, the piece that means the end. It takes it as any other, "
        f"when it is the most probable one: here with {_percent(last.probability)}."
    )


def shifted(trace: Trace) -> str:
    table = trace.translation.steps
    worst = min(table, key=lambda step: step.probability)
    return (
        f"At step {worst.position + 1}, where {_pieces([worst.chosen.token])} is right: it had "
        f"{_percent(worst.probability)} and costs −ln of that, "
        f"{-math.log(worst.probability):.2f} nats. Training makes the sum over all places small."
    )


def missing_row(trace: Trace) -> str:
    logits = trace["hook_logits"][-1].astype(np.float64)
    share = np.exp(logits - logits.max())
    share /= share.sum()
    return (
        f"The last: when all of {_pieces(trace.predicted_tokens[:-1])} is read, the answer is "
        f"`</s>`. A sentence of n pieces asks n + 1 questions, here {len(trace.predicted_tokens)}. "
        f"This model was asked that one too, and gives `</s>` "
        f"{_percent(float(share[trace.predicted_ids[-1]]))} there. Without the row nothing would "
        "ever be learned about ending: no example says that `</s>` is right anywhere."
    )


def embedding(trace: Trace) -> str:
    d_model = int(trace.config["d_model"])
    long = np.linalg.norm(trace["encoder.embed.hook_tokens"], axis=-1).mean()
    place = np.linalg.norm(trace["encoder.embed.hook_positions"], axis=-1).mean()
    return (
        f"√{d_model} = {d_model**0.5:.3g} times: here from {long / d_model**0.5:.2f} to "
        f"{long:.1f} on average. What tells the place has length {place:.1f}; without the factor "
        "it would drown the word it is added to."
    )


def waves(trace: Trace) -> str:
    d_model = int(trace.config["d_model"])
    longest = 2 * math.pi * 10000 ** ((d_model - 2) / d_model)
    return (
        f"From 2π ≈ 6.3 places to, with d_model = {d_model}, {longest:,.0f} (the paper says "
        "10000·2π ≈ 62,832, which a wider and wider model comes near). Whoever looks at all of "
        "them together knows near places apart and far ones too."
    )


def misprint(trace: Trace) -> str:
    d_model = int(trace.config["d_model"])
    d_model += d_model % 2
    right, wrong = (
        positions.pair_residuals(form(4 * d_model, d_model), 1).max()
        for form in (positions.sinusoidal, positions.misprinted)
    )
    return (
        "Sine and cosine of a pair share the exponent $2i/d_{model}$. With another one the two "
        "hands turn at different speeds, and no 2 × 2 matrix moves them one place on: the best "
        f"is off by up to {wrong:.2g}, where the paper's is by {right:.0e}, which is rounding. How "
        "alike two places are then depends on where they stand."
    )


def variance(model: object, view: object) -> str:
    table = score_scale.measure((64, 256)).query("score == 'dot'").set_index("d_k")
    small, large = table["variance"]
    return (
        f"From {small:.0f} to {large:.0f} with queries and keys drawn just now: four times, as d_k "
        "does. Of independent numbers with variance 1 each product has variance 1, and d_k of "
        "them are added up (footnote 4). Dividing by √d_k makes it 1 again, for every d_k."
    )


def meeting(trace: Trace) -> str:
    layer, head = Side(trace).clearest("cross")
    weights = trace.weights("cross", layer)[head, ROW]
    rows, columns = trace.labels("cross")
    best = int(weights.argmax())
    return (
        f"{_pieces([columns[best]])} gets {_percent(float(weights[best]))} of the weight in the "
        f"row of {_pieces([rows[ROW]])} (layer {layer}, head {head}). Every number on the way "
        "is in the picture: q·k, divided by √d_k, its exponential, divided by the sum of all."
    )


def value(trace: Trace) -> str:
    layer, head = Side(trace).clearest("cross")
    site = f"decoder.layers.{layer}.cross_attn.hook_"
    weights, values = trace[f"{site}weights"][head, ROW], trace[f"{site}value"][head]
    best = int(weights.argmax())
    apart = np.abs(weights @ values - trace[f"{site}heads"][head, ROW]).max()
    return (
        f"The **weight** is one number for a query and a key: in layer {layer}, head {head} the "
        f"row of {_pieces(trace.tgt_tokens[ROW : ROW + 1])} gives "
        f"{_pieces([trace.src_tokens[best]])} {_percent(float(weights[best]))}. The **value** of "
        f"that piece is a vector, $x W_i^V$: {values.shape[1]} numbers of length "
        f"{np.linalg.norm(values[best]):.2f}, the same whoever asks. The head says the sum of all "
        f"values, each times its weight; worked out from the {len(weights)} of this row it is what "
        f"the model has, to {max(apart, 1e-7):.0e}."
    )


def shared_matrix(model: Transformer, trace: Trace) -> str:
    found = misprints.keys_by_the_query_matrix(model, trace, 0)
    right, wrong = found.own_place
    return (
        "The keys’: it is $KW_i^K$. With $W_i^Q$ every key would be its own query, and the score "
        "of two places the same both ways: whatever a piece found in another, the other would "
        "find in it. In this model’s first layer the two ways differ by up to "
        f"{found.right_lopsided:.2g}; with the queries’ matrix by {found.wrong_lopsided:.0e}, "
        "which is rounding. "
        f"Of each row’s weight {_percent(found.moved)} would move to other pieces, and a place "
        f"would give itself {_percent(wrong)} on average, not {_percent(right)}."
    )


def not_self(trace: Trace) -> str:
    _, rows, columns = trace.weights("cross", 0).shape
    same = trace.weights("decoder", 0).shape[-1]
    return (
        f"*Self*. The picture is {rows} × {columns}: its rows are the {rows} pieces the decoder "
        f"has read, its columns the {columns} of your sentence. Self-attention’s is always square, "
        f"the same pieces on both sides; the decoder’s other attention has {same} × {same}, with "
        "the mask’s empty triangle. Choose it above the picture."
    )


def positional(trace: Trace) -> str:
    shares = np.stack([measures.positional(w) for w in _all(trace, "encoder")])
    offsets = np.stack([measures.offset(w) for w in _all(trace, "encoder")])
    there = shares >= POSITIONAL
    rows = len(trace.src_tokens)
    rule = (
        "Voita et al. (2019) call such heads positional, counted over many sentences; by chance "
        f"one hardly gets there in {rows} rows."
    )
    if there.any():
        found = ", ".join(f"{offset:+d}" for offset in sorted(set(offsets[there].tolist())))
        return f"{int(there.sum())} of {shares.size}, at the distances {found}. {rule}"
    layer, head = divmod(int(shares.argmax()), shares.shape[1])
    return (
        f"None: this model has no such head on this sentence. The nearest, layer {layer}, head "
        f"{head}, looks at the distance {offsets[layer, head]:+d} in {_percent(shares.max())} of "
        f"the rows that can. {rule}"
    )


def output(trace: Trace) -> str:
    d_model, n_heads = int(trace.config["d_model"]), trace.n_heads
    return (
        f"It is $h \\cdot d_v \\times d_{{model}}$: {n_heads} heads of {d_model // n_heads} "
        f"numbers side by side are {d_model} numbers for each place, and the matrix takes all of "
        f"them: {d_model} × {d_model} here. With $h \\times d_{{model}}$ only one number of "
        "each head could pass."
    )


def mask(trace: Trace) -> str:
    weights = np.stack(list(_all(trace, "decoder")))
    later = np.triu(np.ones(weights.shape[-2:], dtype=bool), k=1)
    return (
        "The mask sets the later scores to −∞, and $e^{-\\infty} = 0$. A score of +∞ would take "
        "all of the weight. Here the greatest weight on a later place, over all layers and heads, "
        f"is {weights[..., later].max():.0f}, and each row still sums to 1."
    )


def units(trace: Trace) -> str:
    hidden = np.stack(
        [trace[f"encoder.layers.{layer}.ffn.hook_hidden"] for layer in range(trace.n_layers)]
    )
    return (
        "$\\max$: it is $\\max(0, xW_1 + b_1)$, which cuts off what is below zero (equation 2). "
        f"Of the {hidden.shape[-1]:,} units of each encoder layer {_percent((hidden > 0).mean())} "
        "are above zero on this sentence; the others are silent."
    )


def norm(trace: Trace) -> str:
    total = trace["encoder.layers.0.self_attn_norm.hook_sum"][0]
    return (
        f"In the first layer the vector of {_pieces(trace.src_tokens[:1])} has mean "
        f"{total.mean():.3f} and variance {total.var():.3f} before the norm (over its "
        f"{len(total)} numbers, not over the sentence). Afterwards they are 0 and 1, until γ and "
        "β stretch and move each of the numbers."
    )


def _all(trace: Trace, kind: str) -> Iterator[Array]:
    return (trace.weights(kind, layer) for layer in range(trace.n_layers))


def _pieces(tokens: Sequence[str]) -> str:
    """As code, so that Markdown leaves them as they are."""
    return " ".join(f"`{token.replace('`', 'ˋ')}`" for token in tokens)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
