"""One head of the Switch off heads experiment: edit a row of its weights, blank its cells."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain

import numpy as np
import streamlit as st

from transformer.analysis.attribution.norms import contributions
from transformer.analysis.interventions.blanking import Cells, blank_cells
from transformer.analysis.interventions.comparison import Comparison
from transformer.analysis.interventions.switching import Head, site
from transformer.figures.before_after import effects, pairs
from transformer.figures.contributions import CellValues
from transformer.figures.positions import Numbers
from transformer.figures.state import KINDS
from transformer.inference import Trace
from transformer.measures.naming import file_name, token_name
from transformer.ui import state
from transformer.ui.pages.lab import Lab
from transformer.ui.pages.lab.attribution_head import escaped_token, program_start
from transformer.ui.pages.lab.switch_changes import Plan, Row, place, row_of
from transformer.ui.services import trace_cache
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.services.trace_cache import CachedTrace
from transformer.ui.widgets import controls, exact, frame, tables, terms, views
from transformer.ui.widgets.callbacks import controlled
from transformer.ui.widgets.charts import chart, dark

KEYS, QUERY = "switch-keys", "switch-query"


def show(
    model: Model, cached_trace: CachedTrace, made: Plan, found: Comparison | None, effect: str
) -> None:
    """Draw the chosen head.

    Args:
        found: None while nothing is changed. effect: `found` in a sentence, else "".
    """
    st.header("One head")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        controls.head(model, cached_trace)
        frame.page_button("pages/attention.py", "Open this head", "visibility", view="heatmap")
    view = state.view()
    head = (view.kind, view.layer, view.head)
    if found is not None:
        _before_after(model, cached_trace.trace, found, head)
    _edit_row(cached_trace.trace, made, head, effect)
    _blanking(model, cached_trace, head)


def _before_after(model: Model, trace: Trace, found: Comparison, head: Head) -> None:
    kind, layer, number = head
    if kind != "decoder" and found.original.src_ids != found.forced.src_ids:
        return
    before, after = (
        one.weights(kind, layer)[number].astype(np.float64) for one in (trace, found.forced)
    )
    quantities = [
        CellValues("before", "before", "Before", "weight", before, max_size=1.0),
        CellValues("after", "after", "After", "weight", after, max_size=1.0),
        CellValues("change", "change", "Change", "weight", after - before, signed=True),
    ]
    cell = views.cell_of(trace, kind)
    views.pair("altered-head", quantities, ("before", "after"), model, trace, head, cell)


def _edit_row(trace: Trace, made: Plan, head: Head, effect: str) -> None:
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
        if effect:
            st.markdown(effect)
        frame.state_button("Undo this edit", "undo", {"paint": ""})


def _choose_row(trace: Trace, kind: str, here: Row | None) -> int:
    """The query whose row is painted, or would be."""
    rows, now = trace.labels(kind)[0], exact.is_on()

    def label(at: int) -> str:
        written = "" if kind == "encoder" else f" → {token_name(trace.predicted_tokens[at], now)}"
        return f"{place(at, rows[at], now)}{written}"

    query = here.query if here else max(state.view(Lab).row, 0)
    told = controlled(
        QUERY, min(query, len(rows) - 1), lambda at: state.change(row=at, column=-1, paint="")
    )
    row: int = st.selectbox("Row of", range(len(rows)), format_func=label, width=340, **told)
    return row


def _choose_keys(keys: Sequence[str], weights: Mapping[int, int], head: Head) -> None:
    """The keys that have weight, and a slider for each."""
    now = exact.is_on()
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


MAX_PIECES = 48
"""Pieces of the longer side: there are as many passes as cells, and of more it is minutes."""


def _blanking(model: Model, cached_trace: CachedTrace, head: Head) -> None:
    """The chosen cell in numbers, or all cells of the head and how their orders agree."""
    terms.heading("Is attention an explanation?", "Blanking")
    st.markdown(
        "The weight is the share of attention; the **norm** ‖α·f(x)‖ is the length of the vector "
        "that is added. **Blanking** sets one weight to 0, leaves the rest unchanged, and measures "
        "the change in log-probability. If weights were explanations, all three would rank the "
        "cells alike."
    )
    controls.button_row("blank")
    read = [site(head[0], head[1], point) for point in ("value", "heads")]  # by the norms
    trace = trace_cache.with_sites(model, cached_trace, read)
    rows = range(len(trace.labels(head[0])[0]))
    chosen = views.cell_of(trace, head[0])
    if chosen and head[0] == "decoder" and chosen[1] > chosen[0]:
        chosen = None  # masked
    longest = max(len(trace.src_tokens), len(trace.tgt_tokens))
    every = state.view(Lab).blank == "all" and longest <= MAX_PIECES
    if state.view(Lab).blank == "all" and not every:
        st.caption(
            f"All cells can be blanked for up to {MAX_PIECES} tokens; this sentence has {longest}."
        )
    queries = list(rows) if every else [chosen[0]] if chosen else []
    found = _blanked(model, trace, head, queries)
    _draw(model, trace, head, found if every else None, chosen)
    if chosen and found:
        _cell(trace, found, chosen)
    if found and every:
        _orders(model, trace, found, chosen)


def _blanked(model: Model, trace: Trace, head: Head, queries: Sequence[int]) -> Cells | None:
    """The cells of these rows, a row at a time: what is done is kept if a visitor goes on."""
    parts = []
    bar = st.progress(0.0, "Blanking all cells …") if len(queries) > 1 else None
    for done, query in enumerate(queries):
        parts.append(_row(model, trace, head, query))
        if bar:
            bar.progress((done + 1) / len(queries), f"Blanked {done + 1} of {len(queries)} rows")
    if bar:
        bar.empty()
    if not parts:
        return None
    first = parts[0]
    joined = {name: np.concatenate([getattr(part, name) for part in parts])
              for name in ("weights", "norms", "effects")}  # fmt: skip
    return Cells(head, tuple(chain(*(part.cells for part in parts))), tokens=first.tokens, **joined)


@cached()
def _row(model: Model, trace: Trace, head: Head, query: int) -> Cells:
    return blank_cells(model.translator, trace, head, [query])


def _draw(
    model: Model, trace: Trace, head: Head, found: Cells | None, chosen: tuple[int, int] | None
) -> None:
    """Two tables that share their pointer: the weights, and norms or the effects `found`."""
    kind, layer, number = head
    norms = contributions(model.translator.model, trace, kind, layer)[number]
    quantities = [
        CellValues("weight", "weight", "Weight α", "share of the row",
                 trace.weights(kind, layer)[number], max_size=1.0),
        CellValues("norm", "norm", "Norm ‖α·f(x)‖", "length of the vector", norms),
    ]  # fmt: skip
    if found is not None:
        blanked = np.zeros_like(norms)
        i, j = np.array(found.cells).T
        blanked[i, j] = found.total
        quantities.append(
            CellValues("effect", "change when blanked, nats", "Effect of blanking",
                     "nats of the translation’s log-probability",
                     blanked, signed=True)
        )  # fmt: skip
    both = "weight", quantities[-1].name
    views.pair("blanked-head", quantities, both, model, trace, head, chosen)


def _cell(trace: Trace, found: Cells, chosen: tuple[int, int]) -> None:
    at = found.cells.index(chosen)
    rows, columns = trace.labels(found.head[0])
    effects_of = found.effects[at]
    most = int(np.abs(effects_of).argmax())
    total = float(found.total[at])
    with st.container(border=True):
        st.markdown(f"**{escaped_token(rows[chosen[0]])} → {escaped_token(columns[chosen[1]])}**")
        for column, (label, value) in zip(
            st.columns(3),
            (
                ("Weight", f"{found.weights[at]:.3f}"),
                ("Norm", f"{found.norms[at]:.3f}"),
                ("Blanked, log-probability", f"{total:+.4f} nats".replace("-", "−")),
            ),
            strict=True,
        ):
            column.metric(label, value)
        st.caption(
            f"Without this cell the translation is {math.exp(total):.3f} times as probable. "
            f"The effect is greatest for “{escaped_token(found.tokens[most])}” "
            f"({effects_of[most]:+.4f} nats)."
        )


def _orders(model: Model, trace: Trace, found: Cells, chosen: tuple[int, int] | None) -> None:
    """How alike weight, norm and effect put the cells in order."""
    ranks = found.correlations()
    rows, columns = trace.labels(found.head[0])
    told = [(exact.token(rows[i]), exact.token(columns[j])) for i, j in found.cells]
    at = found.cells.index(chosen) if chosen else None
    for column, (name, across, sizes) in zip(
        st.columns(2, gap="large"),
        (("weight", "weight", found.weights), ("norm", "norm ‖α·f(x)‖", found.norms)),
        strict=True,
    ):
        with column:
            st.markdown(
                f"**{name.capitalize()} against effect**: rank correlation "
                f"{_number(ranks[f'{name}_effect'])}"
            )
            chart(
                effects(sizes, found.total, told, across=across, chosen=at, dark=dark()),
                f"switch-by-{name}",
                partial(_picked, f"switch-by-{name}", found.cells),
            )
    st.markdown(_answer(ranks, len(found.cells)))
    st.caption(
        "One cell is blanked at a time, in one sentence. Effects that other heads compensate for, "
        "and cells that matter only together, are not measured. A low number therefore does not "
        "mean that the head is useless. Effects are ranked by size. Blanking after Kobayashi et "
        "al. 2020; the question after Jain & Wallace 2019 and Wiegreffe & Pinter 2019."
    )
    _ways_on(model, trace, found)


def _picked(key: str, cells: Sequence[tuple[int, int]]) -> None:
    points = st.session_state[key]["selection"]["points"]
    if points:
        row, column = cells[int(points[0]["customdata"][0])]
        state.change(row=row, column=column)


def _answer(ranks: dict[str, float], count: int) -> str:
    """The three rank correlations in a sentence."""
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


def _ways_on(model: Model, trace: Trace, found: Cells) -> None:
    kind, layer, head = found.head
    name = file_name("cells", model.name, trace.source, kind, exact.in_file(layer, head))
    tables.csv("These cells (.csv)", found.to_frame, name)
    exact.python_code(
        "These cells from Python",
        f"""{program_start(model, trace, ["interventions import blank_cells"])}
cells = blank_cells(translator, trace, ({kind!r}, {layer}, {head}))
print(cells.to_frame())  # one row per cell
print(cells.correlations())""",
    )
