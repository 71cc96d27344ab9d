"""One head of the Switch off heads experiment: edit a row of its weights, blank its cells."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
import streamlit as st

from transformer.analysis.attribution.norms import contributions
from transformer.analysis.interventions.blanking import CellEffects, blank_cells
from transformer.analysis.interventions.comparison import Comparison
from transformer.analysis.interventions.switching import site
from transformer.figures.contributions import CellValues
from transformer.figures.state import KINDS
from transformer.inference import Trace
from transformer.measures import naming
from transformer.measures.kinds import AttentionKind, Head
from transformer.measures.naming import file_name, token_name
from transformer.ui.base import state
from transformer.ui.pages.home import Home
from transformer.ui.pages.home.switch_changes import EditedRow, Plan, parse_row, position_label
from transformer.ui.services import trace_cache
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.services.trace_cache import CachedTrace
from transformer.ui.widgets import controls, display_names, frame, tables, terms, views
from transformer.ui.widgets.callbacks import controlled
from transformer.ui.widgets.python_program import escaped_token, program_start

KEYS_KEY, QUERY_KEY = "switch-keys", "switch-query"


def show(
    model: Model, cached_trace: CachedTrace, plan: Plan, comparison: Comparison | None, effect: str
) -> None:
    """Draw the selected head.

    Args:
        comparison: None while nothing is changed.
        effect: a sentence on the comparison, or "".
    """
    st.header("One head")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        controls.head(model, cached_trace)
        frame.state_button("Open this head", "visibility", {"depth": "heads", "view": "heatmap"})
    view = state.view()
    head = (view.kind, view.layer, view.head)
    if comparison is not None:
        _before_after(model, cached_trace.trace, comparison, head)
    _edit_row(cached_trace.trace, plan, head, effect)
    _blanking(model, cached_trace, head)


def _before_after(model: Model, trace: Trace, comparison: Comparison, head: Head) -> None:
    kind, layer, number = head
    before, after = (
        item.weights(kind, layer)[number].astype(np.float64) for item in (trace, comparison.forced)
    )
    quantities = [
        CellValues("before", "before", "Before", "weight", before, max_size=1.0),
        CellValues("after", "after", "After", "weight", after, max_size=1.0),
        CellValues("change", "change", "Change", "weight", after - before, signed=True),
    ]
    cell = views.cell_of(trace, kind)
    views.pair("altered-head", quantities, ("before", "after"), model, trace, head, cell)


def _edit_row(trace: Trace, plan: Plan, head: Head, effect: str) -> None:
    """Draw the widgets that edit one row of the head: its keys and their weights."""
    edited_row = parse_row(state.view(Home).edited_row)
    kind = head[0]
    with st.expander("Edit a row of weights", expanded=edited_row is not None):
        if edited_row is not None and edited_row.head != head:
            st.caption(
                f"Row {display_names.number(edited_row.query)} of "
                f"{KINDS[edited_row.head[0]].lower()}, {naming.head_name(*edited_row.head[1:])}, "
                "is edited already. An edit here replaces that one."
            )
        current = edited_row if edited_row is not None and edited_row.head == head else None
        query = _row_choice(trace, kind, current)
        columns = trace.labels(kind)[1]
        keys = columns[: query + 1] if kind == "decoder" else columns
        stored = current.weights if current and current.query == query else {}
        weights = {key: weight for key, weight in stored.items() if key < len(keys)}
        _weight_controls(keys, weights, head)
        if not weights:
            return
        if head in plan.heads:
            st.caption("This head is switched off, so the edited row has no effect.")
        if effect:
            st.markdown(effect)
        frame.state_button("Undo this edit", "undo", {"edited_row": ""})


def _row_choice(trace: Trace, kind: AttentionKind, current: EditedRow | None) -> int:
    """Draw a menu of queries. Return the one whose row to edit."""
    rows, exact = trace.labels(kind)[0], display_names.is_exact()

    def label(position: int) -> str:
        prediction = (
            "" if kind == "encoder" else f" → {token_name(trace.predicted_tokens[position], exact)}"
        )
        return f"{position_label(position, rows[position], exact)}{prediction}"

    query = current.query if current else max(state.view(Home).row, 0)
    binding = controlled(
        QUERY_KEY,
        min(query, len(rows) - 1),
        lambda position: state.change(row=position, column=-1, edited_row=""),
    )
    row: int = st.selectbox(
        "Row (query)", range(len(rows)), format_func=label, width=340, **binding
    )
    return row


def _weight_controls(keys: Sequence[str], weights: Mapping[int, int], head: Head) -> None:
    """Draw a menu of the keys with weight, and a slider for each."""
    exact = display_names.is_exact()
    st.session_state[KEYS_KEY] = list(weights)
    st.multiselect(
        "Keys with non-zero weight",
        range(len(keys)),
        format_func=lambda position: position_label(position, keys[position], exact),
        key=KEYS_KEY,
        on_change=_store_row,
        args=(head,),
        placeholder="Choose at least one key",
    )
    columns = st.columns(4) * len(keys) if weights else []
    for position, column in zip(weights, columns, strict=False):
        st.session_state[_slider(position)] = weights[position]
        column.slider(
            frame.plain(position_label(position, keys[position])),
            1,
            100,
            key=_slider(position),
            on_change=_store_row,
            args=(head,),
        )


def _slider(key: int) -> str:
    return f"switch-weight-{key}"


def _store_row(head: Head) -> None:
    """Store the widgets' values in the address; a new key gets 50. A callback."""
    session = st.session_state
    weights = {key: int(session.get(_slider(key), 50)) for key in session[KEYS_KEY]}
    code = EditedRow(head, session[QUERY_KEY], weights).code() if weights else ""
    state.change(edited_row=code, row=session[QUERY_KEY])


MAX_TOKENS = 48
"""Maximum length of source and target; each cell needs a pass, and more would take minutes."""


def _blanking(model: Model, cached_trace: CachedTrace, head: Head) -> None:
    """Draw the effect of blanking the selected cell, or all cells with their rank correlations."""
    terms.heading("Is attention an explanation?", "Blanking")
    st.markdown(
        "The weight is the share of attention; the **norm** ‖α·f(x)‖ is the length of the vector "
        "that is added. **Blanking** sets one weight to 0, leaves the rest unchanged, and measures "
        "the change in log-probability. If weights were explanations, all three would rank the "
        "cells in the same order."
    )
    controls.button_row("blank")
    names = [site(head[0], head[1], point) for point in ("value", "heads")]  # for the norms
    trace = trace_cache.with_hook_points(model, cached_trace, names)
    rows = range(len(trace.labels(head[0])[0]))
    selected = views.cell_of(trace, head[0])
    if selected and head[0] == "decoder" and selected[1] > selected[0]:
        selected = None  # masked
    longest = max(len(trace.src_tokens), len(trace.tgt_tokens))
    all_cells = state.view(Home).blank == "all" and longest <= MAX_TOKENS
    if state.view(Home).blank == "all" and not all_cells:
        st.caption(
            f"All cells can be blanked for up to {MAX_TOKENS} tokens; this sentence has {longest}."
        )
    queries = list(rows) if all_cells else [selected[0]] if selected else []
    cells = _blank_rows(model, trace, head, queries)
    _draw(model, trace, head, cells if all_cells else None, selected)
    if selected and cells:
        _cell(trace, cells, selected)
    if cells and all_cells:
        _rank_comparison(model, trace, cells)


def _blank_rows(
    model: Model, trace: Trace, head: Head, queries: Sequence[int]
) -> CellEffects | None:
    """Blank these rows one at a time, so that finished rows stay cached if a rerun interrupts."""
    parts = []
    bar = st.progress(0.0, "Blanking all cells …") if len(queries) > 1 else None
    for done, query in enumerate(queries):
        parts.append(_blank_row(model, trace, head, query))
        if bar:
            bar.progress((done + 1) / len(queries), f"Blanked {done + 1} of {len(queries)} rows")
    if bar:
        bar.empty()
    if not parts:
        return None
    first = parts[0]
    arrays = {name: np.concatenate([getattr(part, name) for part in parts])
              for name in ("weights", "norms", "effects")}  # fmt: skip
    return CellEffects(
        head, tuple(chain(*(part.cells for part in parts))), tokens=first.tokens, **arrays
    )


@cached()
def _blank_row(model: Model, trace: Trace, head: Head, query: int) -> CellEffects:
    return blank_cells(model.translator, trace, head, [query])


def _draw(
    model: Model,
    trace: Trace,
    head: Head,
    cells: CellEffects | None,
    selected: tuple[int, int] | None,
) -> None:
    """Draw the weights beside the norms or the effects; hovering marks a cell in both tables."""
    kind, layer, number = head
    norms = contributions(model.translator.model, trace, kind, layer)[number]
    quantities = [
        CellValues("weight", "weight", "Weight α", "share of the row",
                 trace.weights(kind, layer)[number], max_size=1.0),
        CellValues("norm", "norm", "Norm ‖α·f(x)‖", "length of the vector", norms),
    ]  # fmt: skip
    if cells is not None:
        blanked = np.zeros_like(norms)
        i, j = np.array(cells.cells).T
        blanked[i, j] = cells.total
        quantities.append(
            CellValues("effect", "change when blanked, nats", "Effect of blanking",
                     "nats of the translation’s log-probability",
                     blanked, signed=True)
        )  # fmt: skip
    measures = "weight", quantities[-1].name
    views.pair("blanked-head", quantities, measures, model, trace, head, selected)


def _cell(trace: Trace, cells: CellEffects, selected: tuple[int, int]) -> None:
    index = cells.cells.index(selected)
    rows, columns = trace.labels(cells.head[0])
    token_effects = cells.effects[index]
    strongest = int(np.abs(token_effects).argmax())
    total = float(cells.total[index])
    with st.container(border=True):
        st.markdown(
            f"**{escaped_token(rows[selected[0]])} → {escaped_token(columns[selected[1]])}**"
        )
        for column, (label, value) in zip(
            st.columns(3),
            (
                ("Weight", f"{cells.weights[index]:.3f}"),
                ("Norm", f"{cells.norms[index]:.3f}"),
                ("Blanked, log-probability", f"{total:+.4f} nats".replace("-", "−")),
            ),
            strict=True,
        ):
            column.metric(label, value)
        st.caption(
            f"Without this cell the translation is {math.exp(total):.3f} times as probable. "
            f"The effect is greatest for “{escaped_token(cells.tokens[strongest])}” "
            f"({token_effects[strongest]:+.4f} nats)."
        )


def _rank_comparison(model: Model, trace: Trace, cells: CellEffects) -> None:
    """Draw the rank correlations of weights and norms with the effect."""
    st.markdown(_rank_summary(cells.correlations(), len(cells.cells)))
    st.caption(
        "One cell is blanked at a time, in one sentence. Effects that other heads compensate for, "
        "and cells that matter only together, are not measured. A low number therefore does not "
        "mean that the head is useless. Effects are ranked by size. Blanking follows Kobayashi "
        "et al. 2020; the question is from Jain & Wallace 2019 and Wiegreffe & Pinter 2019."
    )
    _exports(model, trace, cells)


def _rank_summary(ranks: dict[str, float], count: int) -> str:
    """Return a summary of the three rank correlations."""
    by_weight, by_norm = ranks["weight_effect"], ranks["norm_effect"]
    if math.isnan(by_weight) or math.isnan(by_norm):
        return "One of the three is constant over all cells, so there is no order to compare."
    closer = "norms are" if by_norm > by_weight else "weights are"
    if abs(by_norm - by_weight) < 0.02:
        closer = "neither is"
    return (
        f"Over the {count} cells of this head, Spearman’s rank correlation with the effect of "
        f"blanking is **{_number(by_weight)}** for weights and **{_number(by_norm)}** for norms "
        f"({_number(ranks['weight_norm'])} between the two): {closer} closer. 1 is the same order, "
        "0 no relation."
    )


def _number(rank: float) -> str:
    return "–" if math.isnan(rank) else f"{rank:.2f}".replace("-", "−")


def _exports(model: Model, trace: Trace, cells: CellEffects) -> None:
    kind, layer, head = cells.head
    name = file_name(
        "cells", model.name, trace.source, kind, display_names.for_file_name(layer, head)
    )
    tables.csv("These cells (.csv)", cells.to_frame, name)
    display_names.python_code(
        "These cells from Python",
        f"""{program_start(model, trace, ["interventions import blank_cells"])}
cells = blank_cells(translator, trace, ({kind!r}, {layer}, {head}))
print(cells.to_frame())  # one row per cell
print(cells.correlations())""",
    )
