"""The curves of runs on the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from transformer.figures.curves import QUANTITIES, curves
from transformer.ui.kit.charts import chart, dark

FIRST = ("loss", "sequence_accuracy")
"""What the two charts show until something else is chosen."""
STACKED = 250
"""Pixels of a chart, where two stand one below the other beside the heads."""
_LABELS = {
    "loss": "Loss",
    "smoothed_loss": "Loss with label smoothing",
    "perplexity": "Perplexity",
    "token_accuracy": "Tokens right",
    "sequence_accuracy": "Sequences right",
    "bleu": "BLEU",
    "aer": "Alignment error",
    "learning_rate": "Learning rate",
    "gradient_norm": "Norm of the gradient",
    "tokens_per_second": "Tokens a second",
}


def charts(runs: Mapping[str, list[dict[str, Any]]], key: str, *, stacked: bool = False) -> None:
    """Two quantities of the runs, each to be chosen, over their steps; side by side or stacked."""
    places = [st.container() for _ in FIRST] if stacked else st.columns(2)
    for place, (column, first) in enumerate(zip(places, _firsts(runs), strict=True)):
        with column:
            what = st.selectbox(
                "Left curve" if place == 0 else "Right curve",
                list(QUANTITIES),
                index=list(QUANTITIES).index(first),
                format_func=lambda name: _LABELS.get(name, name),
                label_visibility="collapsed",
                key=f"curve-{place}-{key}",
            )
            figure = curves(runs, what, dark=dark())
            figure.update_layout(height=STACKED if stacked else 340)
            chart(figure, f"chart-{place}-{key}")


def _firsts(runs: Mapping[str, list[dict[str, Any]]]) -> list[str]:
    """What the charts show first: `FIRST`; of early saves, which have no lines of single steps,
    what they have."""
    names = {name for lines in runs.values() for line in lines for name in line}
    if "loss" in names or not names:
        return list(FIRST)
    there = [name for name, q in QUANTITIES.items() if names & {*q.training, q.valid}]
    wanted = [*(name for name in FIRST if name in there), *there, *FIRST]
    return list(dict.fromkeys(wanted))[: len(FIRST)]
