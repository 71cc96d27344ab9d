"""One head: before and after, a row of it painted by hand, and what its cells are worth."""

from __future__ import annotations

import numpy as np
import streamlit as st

from transformer.analysis.gates import Head
from transformer.analysis.interventions import Comparison
from transformer.figures.altered import pairs
from transformer.figures.moves import Quantity, moves_data
from transformer.inference import Trace
from transformer.ui import frame, state, views
from transformer.ui.address import KINDS
from transformer.ui.lab import switch_cells
from transformer.ui.lab.moves_texts import piece
from transformer.ui.lab.switch_plan import Plan
from transformer.ui.lab.switch_result import said
from transformer.ui.lab.switch_written import Row, row_of, word
from transformer.ui.models import Model
from transformer.ui.readings import Reading

KEYS, QUERY = "switch-keys", "switch-query"


def show(model: Model, reading: Reading, made: Plan, found: Comparison | None) -> None:
    """The chosen head; `found` is nothing while nothing is changed."""
    st.subheader("One head")
    head = _choose(model, reading)
    if found is not None:
        _before_after(model, reading.trace, found, head)
    _paint(reading.trace, made, found, head)
    switch_cells.show(model, reading, head)


def _choose(model: Model, reading: Reading) -> Head:
    now = reading.side.resolved(state.view().explorer())
    state.settle(layer=now["layer"], head=now["head"])
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.segmented_control(
            "Kind of attention",
            list(KINDS),
            format_func=KINDS.__getitem__,
            required=True,
            **{**state.bound("kind"), "on_change": _turned},
        )
        for name, count in (("layer", model.n_layers), ("head", model.n_heads)):
            st.selectbox(name.capitalize(), range(count), width=90, **state.bound(name))
        frame.go("pages/attention.py", "This head in the explorer", "visibility", view="heatmap")
    view = state.view()
    return view.kind, view.layer, view.head


def _turned(_: str, key: str) -> None:
    """Another kind was chosen: its rows and columns are other tokens."""
    if st.session_state[key] is not None:
        state.change(kind=st.session_state[key], row=-1, column=-1)


def _before_after(model: Model, trace: Trace, found: Comparison, head: Head) -> None:
    kind, layer, number = head
    if kind != "decoder" and found.original.src_ids != found.forced.src_ids:
        return
    before, after = (
        one.weights(kind, layer)[number].astype(np.float64) for one in (trace, found.forced)
    )
    rows, columns = trace.labels(kind)
    data = moves_data(
        [
            Quantity("before", "before", "Before", "weight", before, most=1.0),
            Quantity("after", "after", "After", "weight", after, most=1.0),
            Quantity("change", "change", "Change", "weight", after - before, signed=True),
        ],
        ("before", "after"),
        kind=kind,
        rows=rows,
        columns=columns,
        writes=None if kind == "encoder" else trace.predicted_tokens,
        cell=cell_of(trace, kind),
        head=f"{model.hash} {head} {trace.src_ids} {trace.tgt_ids}",
        large=state.view().size == "large",
    )
    views.pair("altered-head", data)


def cell_of(trace: Trace, kind: str) -> tuple[int, int] | None:
    """The chosen cell, if it is one of this head's."""
    view = state.view()
    rows, columns = trace.labels(kind)
    inside = 0 <= view.row < len(rows) and 0 <= view.column < len(columns)
    return (view.row, view.column) if inside else None


def _paint(trace: Trace, made: Plan, found: Comparison | None, head: Head) -> None:
    """A row of the head as the visitor wants it: the tokens it may look at, and how much."""
    painted = row_of(state.view().paint)
    with st.expander("Paint one of its rows by hand", expanded=painted is not None):
        kind, layer, number = head
        rows, columns = trace.labels(kind)
        if painted is not None and painted.head != head:
            st.caption(
                f"Row {painted.query} of layer {painted.head[1]}, head {painted.head[2]} "
                f"({KINDS[painted.head[0]]}) is painted now. Painting here lets go of it."
            )
        here = painted if painted is not None and painted.head == head else None
        query = here.query if here else max(min(state.view().row, len(rows) - 1), 0)
        st.session_state[QUERY] = min(query, len(rows) - 1)
        st.selectbox(
            "Row of",
            range(len(rows)),
            format_func=lambda at: _row_label(trace, kind, at),
            key=QUERY,
            on_change=_another_row,
            width=340,
        )
        query = st.session_state[QUERY]
        keys = columns[: query + 1] if kind == "decoder" else columns
        weights = here.weights if here and here.query == query else {}
        st.session_state[KEYS] = [key for key in weights if key < len(keys)]
        st.multiselect(
            "The tokens it may look at",
            range(len(keys)),
            format_func=lambda at: f"{at} {word(keys[at])}",
            key=KEYS,
            on_change=_repaint,
            args=(head,),
            placeholder="Choose one, and the row is painted",
        )
        if not weights:
            return
        for at, column in zip(st.session_state[KEYS], st.columns(4) * len(keys), strict=False):
            st.session_state[_slider(at)] = weights[at]
            column.slider(
                f"{at} {piece(keys[at])}",
                1,
                100,
                key=_slider(at),
                on_change=_repaint,
                args=(head,),
            )
        new = np.array([weights.get(key, 0) for key in range(len(keys))], dtype=np.float64)
        old = trace.weights(kind, layer)[number, query, : len(keys)]
        st.plotly_chart(
            pairs(
                keys,
                old,
                new / new.sum(),
                across="weight",
                dark=bool(st.context.theme.type == "dark"),
            ),
            theme=None,
            key="switch-painted",
            config={"displayModeBar": False},
        )
        if head in made.heads:
            st.caption("This head is off: nobody hears what its painted row would say.")
        if found is not None:
            st.markdown(said(made, found))
        st.button("Let go of it", icon=":material/undo:", on_click=_unpaint)


def _row_label(trace: Trace, kind: str, at: int) -> str:
    rows, _ = trace.labels(kind)
    label = f"{at} {word(rows[at])}"
    return label if kind == "encoder" else f"{label} → {word(trace.predicted_tokens[at])}"


def _slider(key: int) -> str:
    return f"switch-weight-{key}"


def _another_row() -> None:
    state.change(row=st.session_state[QUERY], column=-1, paint="")


def _repaint(head: Head) -> None:
    """What the widgets say now; a key that is new begins at 50."""
    now = st.session_state
    weights = {key: int(now.get(_slider(key), 50)) for key in now[KEYS]}
    paint = Row(head, now[QUERY], weights).written() if weights else ""
    state.change(paint=paint, row=now[QUERY])


def _unpaint() -> None:
    state.change(paint="")
