"""One head: two pictures of it side by side, of the weights and of what they move."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st

from transformer.analysis.attribution.contribution import Contribution, agreement, contribution
from transformer.analysis.attribution.gradients import Gradients, gradients
from transformer.figures.contributions import CellValues
from transformer.figures.state import KINDS
from transformer.inference import Trace
from transformer.measures.naming import file_name
from transformer.ui import state
from transformer.ui.pages.lab import Lab
from transformer.ui.pages.lab.attribution_texts import CELLS, explain
from transformer.ui.services import models
from transformer.ui.services.models import Model
from transformer.ui.services.remembered import remembered
from transformer.ui.services.trace_cache import Reading
from transformer.ui.widgets import controls, exact, frame, tables, views


def show(model: Model, reading: Reading, trace: Trace) -> None:
    """The chosen head, the ranks of its cells, and the numbers to take away."""
    st.header("One head")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        controls.head(model, reading)
        st.selectbox(width=250, **state.chosen("beside"))
    view = state.view(Lab)
    kind, layer, head = view.kind, view.layer, view.head
    slopes = _slopes(model, trace)
    found = contribution(model.translator.model, trace, kind, layer, head, slopes)
    left, right = state.view(Lab).beside.split("-")
    _tables(model, trace, found, (left, right))
    for name, column in zip((left, right), st.columns(2, gap="large"), strict=True):
        with column:
            explain(CELLS[name])
    _ranks(found, left, right)
    _parting(model, trace)
    _ways_on(model, trace, found)


@remembered("Computing gradients …")
def _slopes(model: Model, trace: Trace) -> Gradients:
    """Gradients of the whole translation, by every weight; at most 19 MB each."""
    return gradients(model.translator.model, trace)


def _tables(model: Model, trace: Trace, found: Contribution, shown: tuple[str, str]) -> None:
    told = {name: (CELLS[name], values) for name, values in found.values.items()}
    quantities = [
        CellValues(name, cell.label, cell.title, cell.unit, values, cell.signed)
        for name, (cell, values) in told.items()
    ]
    cell = views.cell_of(trace, found.head[0])
    views.pair("moves", quantities, shown, model, trace, found.head, cell)


def _ranks(found: Contribution, left: str, right: str) -> None:
    """How alike two of them put the cells in order."""
    ranks = found.correlations()
    cells = int(found.open.sum())
    names = [CELLS[name].label for name in (left, right)]
    row, column = found.apart(left, right)
    with st.container(border=True):
        st.markdown(
            f"Rank correlation of {names[0]} and {names[1]}: **{_said(ranks[left, right])}**"
        )
        others = [
            f"{CELLS[a].label} – {CELLS[b].label} {_number(rank)}"
            for (a, b), rank in ranks.items()
            if (a, b) != (left, right)
        ]
        st.caption(
            f"Spearman's rank correlation over the {cells} cells of this head: 1 is the same "
            "order, 0 no relation, −1 the reverse order.  \n" + " · ".join(others)
        )
        frame.turn(
            "Show the cell where the two differ most", "my_location", {"row": row, "column": column}
        )


def _parting(model: Model, trace: Trace) -> None:
    """The head, of all kinds, in which weights and norms agree least, and the way to it."""
    table = _agreement(model, trace)
    if table.empty:
        return
    kind, layer, head, rank = table.iloc[0]
    left, right = st.columns([5, 2], vertical_alignment="center")
    left.markdown(
        f"**Where do weights and norms differ?** Of all {len(table)} heads they agree least in "
        f"{exact.head(layer, head)} ({KINDS[kind]}): {_number(rank)}. The median over all heads is "
        f"{_number(table['correlation'].median())}."
    )
    right.button(
        "Show that head",
        icon=":material/explore:",
        on_click=state.change,
        kwargs={
            "kind": kind,
            "layer": int(layer),
            "head": int(head),
            "beside": "weight-norm",
            "row": -1,
            "column": -1,
        },
    )


@remembered()
def _agreement(model: Model, trace: Trace) -> pd.DataFrame:
    return agreement(model.translator.model, trace)


def _said(rank: float) -> str:
    if math.isnan(rank):
        return "undefined, because one of them is constant"
    words = {0.9: "almost the same order", 0.5: "a similar order", 0.2: "loosely similar"}
    words |= {-0.2: "no common order"}
    fitting = (word for least, word in words.items() if rank >= least)
    return f"{_number(rank)}, {next(fitting, 'rather the reverse order')}"


def _number(rank: float) -> str:
    return "–" if math.isnan(rank) else f"{rank:.2f}".replace("-", "−")


def _ways_on(model: Model, trace: Trace, found: Contribution) -> None:
    kind, layer, head = found.head
    view = state.view(Lab)
    chosen = view.row >= 0 and view.column >= 0
    with st.container(horizontal=True, vertical_alignment="center"):
        frame.go(
            "pages/attention.py",
            "Calculate this cell step by step" if chosen else "Calculate this head step by step",
            "calculate",
            view="query-key",
            layer=layer,
            head=head,
            special="shown",
        )
        if chosen:
            frame.turn("Blank this cell", "backspace", {"lab": "switch"})
        name = file_name("moves", model.name, trace.source, kind, exact.in_file(layer, head))
        tables.csv("These numbers (.csv)", found.to_frame, name)
    names = ["contribution import contribution", "gradients import gradients"]
    exact.program(
        "The same numbers from Python",
        f"""{opening(model, trace, [f"attribution.{name}" for name in names])}
slopes = gradients(translator.model, trace)  # of the whole translation's log-probability
found = contribution(translator.model, trace, {kind!r}, {layer}, {head}, slopes)
print(found.to_frame())  # one row per cell
print(found.correlations())""",
    )


def opening(model: Model, trace: Trace, names: list[str]) -> str:
    """The first lines of a program: what it imports, the translator and the trace."""
    imports = "\n".join(f"from transformer.analysis.{name}" for name in names)
    # A greedy translation comes about again by itself; any other is given.
    greedy = state.view(Lab).method == "greedy"
    target = "" if greedy else f", target={list(trace.translation.ids)}"
    return f"""from transformer import Translator
{imports}

translator = Translator.load({str(models.written(model.name))!r})
trace = translator.trace({trace.source!r}{target})"""
