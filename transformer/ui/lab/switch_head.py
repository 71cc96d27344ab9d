"""One head: chosen, and its attention before and after."""

from __future__ import annotations

import numpy as np
import streamlit as st

from transformer.analysis.interventions.comparison import Comparison
from transformer.analysis.interventions.switching import Head
from transformer.figures.contributions import CellValues, contributions_data
from transformer.inference import Trace
from transformer.ui import frame, state
from transformer.ui.kit import controls, exact, views
from transformer.ui.lab import switch_cells, switch_paint
from transformer.ui.lab.switch_plan import Plan
from transformer.ui.models import Model
from transformer.ui.trace_cache import Reading


def show(model: Model, reading: Reading, made: Plan, found: Comparison | None) -> None:
    """The chosen head; `found` is nothing while nothing is changed."""
    st.subheader("One head")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        controls.head(model, reading)
        frame.go("pages/attention.py", "This head in the explorer", "visibility", view="heatmap")
    view = state.view()
    head = (view.kind, view.layer, view.head)
    if found is not None:
        _before_after(model, reading.trace, found, head)
    switch_paint.show(reading.trace, made, found, head)
    switch_cells.show(model, reading, head)


def _before_after(model: Model, trace: Trace, found: Comparison, head: Head) -> None:
    kind, layer, number = head
    if kind != "decoder" and found.original.src_ids != found.forced.src_ids:
        return
    before, after = (
        one.weights(kind, layer)[number].astype(np.float64) for one in (trace, found.forced)
    )
    rows, columns = trace.labels(kind)
    data = contributions_data(
        [
            CellValues("before", "before", "Before", "weight", before, most=1.0),
            CellValues("after", "after", "After", "weight", after, most=1.0),
            CellValues("change", "change", "Change", "weight", after - before, signed=True),
        ],
        ("before", "after"),
        kind=kind,
        rows=exact.tokens(rows),
        columns=exact.tokens(columns),
        writes=None if kind == "encoder" else exact.tokens(trace.predicted_tokens),
        cell=cell_of(trace, kind),
        head=f"{model.hash} {head} {trace.src_ids} {trace.tgt_ids} {exact.on()}",
        large=state.view().size == "large",
    )
    views.pair("altered-head", data)


def cell_of(trace: Trace, kind: str) -> tuple[int, int] | None:
    """The chosen cell, if it is one of this head's."""
    view = state.view()
    rows, columns = trace.labels(kind)
    inside = 0 <= view.row < len(rows) and 0 <= view.column < len(columns)
    return (view.row, view.column) if inside else None
