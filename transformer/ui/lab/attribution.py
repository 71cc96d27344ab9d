"""Beside every weight what it moves: norms, rollout, flow, ALTI+, value zeroing and gradients."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from transformer.inference import Trace
from transformer.ui import frame, state, trace_cache
from transformer.ui.kit import controls
from transformer.ui.lab import Lab, attribution_board, attribution_head, attribution_token
from transformer.ui.models import Model
from transformer.ui.trace_cache import Reading

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


def show(model: Model) -> None:
    """The visitor's sentence, one head of it, and one output token of it."""
    frame.lead(
        "A weight says how much a query *takes* from a key. It does not say how large that is, "
        "nor what becomes of it. So here is, beside every weight, what it **moves**."
    )
    controls.sentence(model)
    reading = trace_cache.read(model, state.view())
    st.markdown(f"{model.about.target}: **{frame.plain(reading.trace.text)}**")
    longest = max(len(reading.trace.src_tokens), len(reading.trace.tgt_tokens))
    if longest > MAX_PIECES:
        st.info(
            f"The text or its translation has {longest} pieces. What weights move is worked out "
            f"for up to {MAX_PIECES}: take a sentence of it. The Attention page takes longer texts."
        )
        return
    trace = recorded(model, reading)
    attribution_head.show(model, reading, trace)
    attribution_token.show(model, trace)
    rival = state.view(Lab).against
    attribution_board.show(model, trace, state.view().step, None if rival < 0 else rival)


def recorded(model: Model, reading: Reading) -> Trace:
    """The trace of `reading` with all that norms and ALTI+ read besides the weights."""
    names = [name for name in model.translator.model.hook_names if name.endswith(READ)]
    more = trace_cache.sites(model, reading, names)
    return replace(reading.trace, tensors={**reading.trace.tensors, **more.tensors})
