"""Edit the weights of one row of the selected head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import streamlit as st

from transformer.analysis.interventions.comparison import Comparison
from transformer.analysis.interventions.switching import Head
from transformer.figures.before_after import pairs
from transformer.figures.positions import Numbers
from transformer.figures.state import KINDS
from transformer.inference import Trace
from transformer.measures.naming import token_name
from transformer.ui import state
from transformer.ui.pages.lab import Lab
from transformer.ui.pages.lab.switch_plan import Plan
from transformer.ui.pages.lab.switch_result import said
from transformer.ui.pages.lab.switch_written import Row, place, row_of
from transformer.ui.widgets import exact, frame
from transformer.ui.widgets.callbacks import follows
from transformer.ui.widgets.charts import chart, dark

KEYS, QUERY = "switch-keys", "switch-query"


def show(trace: Trace, made: Plan, found: Comparison | None, head: Head) -> None:
    """Draw the widgets that edit one row of the head: its keys and their weights."""
    painted = row_of(state.view(Lab).paint)
    kind, layer, number = head
    with st.expander("Edit a row of weights", expanded=painted is not None):
        if painted is not None and painted.head != head:
            st.caption(
                f"Row {exact.number(painted.query)} of {exact.head(*painted.head[1:])} "
                f"({KINDS[painted.head[0]]}) is edited now. An edit here replaces that one."
            )
        here = painted if painted is not None and painted.head == head else None
        query = _choose_row(trace, kind, here)
        columns = trace.labels(kind)[1]
        keys = columns[: query + 1] if kind == "decoder" else columns
        asked = here.weights if here and here.query == query else {}
        weights = {key: weight for key, weight in asked.items() if key < len(keys)}
        _choose_keys(keys, weights, head)
        if not weights:
            return
        _preview(keys, trace.weights(kind, layer)[number, query, : len(keys)], weights)
        if head in made.heads:
            st.caption("This head is switched off, so the edited row has no effect.")
        if found is not None:
            st.markdown(said(made, found))
        frame.turn("Undo this edit", "undo", {"paint": ""})


def _choose_row(trace: Trace, kind: str, here: Row | None) -> int:
    """The query whose row is painted, or would be."""
    rows, now = trace.labels(kind)[0], exact.on()

    def label(at: int) -> str:
        written = "" if kind == "encoder" else f" → {token_name(trace.predicted_tokens[at], now)}"
        return f"{place(at, rows[at], now)}{written}"

    query = here.query if here else max(state.view(Lab).row, 0)
    told = follows(
        QUERY, min(query, len(rows) - 1), lambda at: state.change(row=at, column=-1, paint="")
    )
    row: int = st.selectbox("Row of", range(len(rows)), format_func=label, width=340, **told)
    return row


def _choose_keys(keys: Sequence[str], weights: Mapping[int, int], head: Head) -> None:
    """The keys that have weight, and a slider for each."""
    now = exact.on()
    st.session_state[KEYS] = list(weights)
    st.multiselect(
        "Keys with weight",
        range(len(keys)),
        format_func=lambda at: place(at, keys[at], now),
        key=KEYS,
        on_change=_repaint,
        args=(head,),
        placeholder="Choose at least one key",
    )
    columns = st.columns(4) * len(keys) if weights else []
    for at, column in zip(weights, columns, strict=False):
        st.session_state[_slider(at)] = weights[at]
        column.slider(
            frame.plain(place(at, keys[at])),
            1,
            100,
            key=_slider(at),
            on_change=_repaint,
            args=(head,),
        )


def _slider(key: int) -> str:
    return f"switch-weight-{key}"


def _repaint(head: Head) -> None:
    """What the widgets say now; a key that is new begins at 50."""
    now = st.session_state
    weights = {key: int(now.get(_slider(key), 50)) for key in now[KEYS]}
    paint = Row(head, now[QUERY], weights).written() if weights else ""
    state.change(paint=paint, row=now[QUERY])


def _preview(keys: Sequence[str], before: Numbers, weights: Mapping[int, int]) -> None:
    """The row as it was, and as it is painted, made to sum to 1."""
    after = np.array([weights.get(key, 0) for key in range(len(keys))], dtype=np.float64)
    chart(
        pairs(
            exact.tokens(keys),
            before,
            after / after.sum(),
            across="weight",
            dark=dark(),
        ),
        "switch-painted",
    )
