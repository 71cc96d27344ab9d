"""Correlation of the translation's cross-attention with the relevance of source tokens."""

from __future__ import annotations

import math

import streamlit as st

from transformer.analysis.attribution.relevance import (
    PUBLISHED_CORRELATIONS,
    RelevanceCorrelation,
    relevance_correlation,
)
from transformer.inference import Trace
from transformer.ui import state
from transformer.ui.pages.attention import Attention
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.services.trace_cache import CachedTrace
from transformer.ui.widgets.notable_heads import initial_explorer_state

MAX_SOURCE_TOKENS = 40
"""Maximum number of source tokens; more would take over half a second."""
HELP = (
    "Pearson’s correlation between the attention weights and the relevance of each source token, "
    "with rows that sum to 1. Relevance is how far the log-probability of the output token "
    "changes when the decoder may not attend to that position of the encoder’s output."
)


def show(model: Model, cached_trace: CachedTrace) -> None:
    """Draw one line below the explorer, for cross-attention of a sentence of 3 to 40 tokens."""
    view = state.view(Attention)
    if (
        view.kind != "cross"
        or view.lesson
        or not 3 <= len(cached_trace.trace.src_ids) <= MAX_SOURCE_TOKENS
    ):
        return
    explorer_state = initial_explorer_state(cached_trace, view.explorer(), model.aligner)
    layer = min(int(explorer_state["layer"]), cached_trace.trace.n_layers - 1)
    head = min(int(explorer_state["head"]), cached_trace.trace.n_heads - 1)
    correlation = _cached_correlation(model, cached_trace.trace)
    head_value, mean = float(correlation.heads[layer, head]), correlation.mean
    if math.isnan(head_value) or math.isnan(mean):
        return
    low, high = PUBLISHED_CORRELATIONS
    st.caption(
        "Correlation of attention with the relevance of source tokens for the next output token: "
        f"{_signed(head_value)} for this head, {_signed(mean)} for the mean of all cross-attention "
        f"heads. In published speech models the mean reaches {low} to {high} (Papi et al. 2025).",
        help=HELP,
    )


def _signed(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


@cached()
def _cached_correlation(model: Model, trace: Trace) -> RelevanceCorrelation:
    return relevance_correlation(model.translator, trace)
