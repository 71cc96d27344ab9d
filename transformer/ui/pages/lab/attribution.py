"""Attribution: weights, norms, rollout, flow, ALTI+, value zeroing and gradients."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from transformer.analysis.attribution.direct_logits import KINDS, DirectLogits, direct_logits
from transformer.inference import Trace
from transformer.measures.naming import file_name
from transformer.ui import state
from transformer.ui.pages.lab import Lab, attribution_head, attribution_token
from transformer.ui.pages.lab.attribution_head import opening
from transformer.ui.pages.lab.attribution_texts import piece
from transformer.ui.services import trace_cache
from transformer.ui.services.models import Model
from transformer.ui.services.remembered import remembered
from transformer.ui.widgets import charts, controls, exact, frame, tables

MAX_PIECES = 128
"""Pieces of the longer side: gradients and ALTI+ of longer sentences take seconds."""
READ = (
    "attn.hook_value",
    "attn.hook_heads",
    "attn_norm.hook_sum",
    "attn_norm.hook_output",
    "ffn.hook_output",
    "ffn_norm.hook_sum",
    "ffn_norm.hook_output",
    "embed.hook_tokens",
    "embed.hook_positions",
    "embed.hook_output",
    "encoder.hook_memory",
)
"""What norms and ALTI+ read besides the weights."""
PARTS = {
    "cross": "cross-attention heads",
    "decoder": "decoder self-attention heads",
    "ffn": "feed-forward networks",
    "embedding": "embedding of the previous token",
    "position": "position",
    "bias": "LayerNorms and biases",
}


def show(model: Model) -> None:
    """The visitor's sentence, one head of it, and one output token of it."""
    frame.lead(
        "A weight says which share of its attention a query gives to a key. It does not say how "
        "large the vector is or whether the model uses it. Compare every weight with its "
        "**contribution**."
    )
    controls.sentence(model)
    reading = trace_cache.read(model, state.view())
    st.markdown(f"{model.about.target}: **{frame.plain(reading.trace.text)}**")
    longest = max(len(reading.trace.src_tokens), len(reading.trace.tgt_tokens))
    if longest > MAX_PIECES:
        st.info(
            f"The text or its translation has {longest} tokens; attribution is computed for up to "
            f"{MAX_PIECES}. Choose one sentence of it. The Attention page accepts longer texts."
        )
        return
    names = [name for name in model.translator.model.hook_names if name.endswith(READ)]
    trace = trace_cache.with_sites(model, reading, names)
    attribution_head.show(model, reading, trace)
    attribution_token.show(model, trace)
    rival = state.view(Lab).against
    board(model, trace, state.view().step, None if rival < 0 else rival)


def board(model: Model, trace: Trace, step: int, against: int | None = None) -> None:
    """A board of the decoder's heads, what else adds to the logit, and how far to believe it."""
    st.header("Direct logit attribution")
    found = _direct(model, trace, step, against)
    written = piece(trace.predicted_tokens[step])
    over = "the mean of all tokens" if against is None else (
        f"“{piece(model.translator.vocabulary.token(against))}”"
    )  # fmt: skip
    sums = found.table.groupby("part")["adds"].sum()
    parts = ", ".join(f"{called} {_signed(sums[part])}" for part, called in PARTS.items())
    st.markdown(
        f"The logit of “**{written}**” is {_signed(found.value)} above {over}. It is the sum of "
        f"everything written to the decoder's residual stream at this position: {parts}. By head:"
    )
    charts.head_boards(
        {kind: found.heads(kind) for kind in ("cross", "decoder")},
        "adds to the logit",
        "adds",
        lambda head, best: f", most by {head} ({_signed(best)})" if best > 0 else "",
    )
    st.caption(
        "In logits: blue raises the token's logit, orange lowers it; 0.7 more doubles its odds. "
        "Only the direct path counts, with the LayerNorm scales held fixed. What later layers make "
        "of a head's output is counted as theirs."
    )
    st.markdown(_believed(found))
    tables.csv(
        "Logit contributions (.csv)",
        lambda: _lines(found),
        file_name("adds-to-logit", model.name, trace.source, exact.number(step)),
    )
    rival = "" if against is None else f", against={against}"
    exact.program(
        "The same numbers from Python",
        f"""{opening(model, trace, ["attribution.direct_logits import direct_logits"])}
found = direct_logits(translator.model, trace, {step}{rival})
print(found.value, found.table)  # one row per part; they sum to the value
print(found.heads("cross"), found.removed("cross"), found.agreement)""",
    )


@remembered("Computing direct contributions …")
def _direct(model: Model, trace: Trace, step: int, against: int | None) -> DirectLogits:
    return direct_logits(model.translator.model, trace, step, against)


def _believed(found: DirectLogits) -> str:
    """How far the straight way is the whole one, measured here."""
    agreement = found.agreement
    if np.isnan(agreement):
        return "Ablating heads of this model changes nothing here, so there is nothing to compare."
    how = "closely" if agreement >= 0.8 else "roughly" if agreement >= 0.5 else "hardly"
    return (
        "**How reliable is this?** Each head was also ablated at this position: the measured "
        f"change agrees **{how}** with the direct contributions (correlation {_signed(agreement)} "
        "over all heads). They differ where later layers react to the head."
    )


def _lines(found: DirectLogits) -> pd.DataFrame:
    """The table, and beside each head what really goes without it."""
    lines = found.table.copy()
    lines["removed"] = np.nan
    for kind in KINDS:
        lines.loc[lines["part"] == kind, "removed"] = found.removed(kind).ravel()
    return lines


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")
