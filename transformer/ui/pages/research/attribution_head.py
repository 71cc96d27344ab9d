"""Explanations of the attribution measures, and two measures of one head side by side."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from transformer.analysis.attribution.contribution import Contribution, agreement, contribution
from transformer.analysis.attribution.gradients import Gradients, gradients
from transformer.figures.contributions import CellValues
from transformer.figures.state import KINDS
from transformer.inference import Trace
from transformer.measures.naming import file_name
from transformer.ui.base import state
from transformer.ui.base.registry import HOME
from transformer.ui.pages.research import Research
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.services.trace_cache import CachedTrace
from transformer.ui.widgets import controls, display_names, frame, tables, views
from transformer.ui.widgets.python_program import program_start


@dataclass(frozen=True)
class MeasureExplanation:
    """The texts of a measure.

    Attributes:
        title: above its picture; label: within a sentence; unit: below the picture.
        signed: whether it has negative values.
    """

    title: str
    description: str
    source: str
    limitation: str
    label: str = ""
    unit: str = ""
    signed: bool = False


CELL_MEASURES = {
    "weight": MeasureExplanation(
        "Weight α",
        "The share of its attention that the query gives to the key. A row sums to 1.",
        "Vaswani et al. 2017, section 3.2.1",
        "it ignores how long the value vector is, and whether later layers use it.",
        "weight",
        "share of the row",
    ),
    "norm": MeasureExplanation(
        "Norm ‖α·f(x)‖",
        "The length of the vector that is added: the weight times the key's value, multiplied "
        "by this head's part of $W^O$.",
        "Kobayashi et al. 2020, section 3",
        "long vectors may cancel each other, and it covers this layer only.",
        "norm",
        "length of the vector",
    ),
    "gradient": MeasureExplanation(
        "Gradient ∂ log p / ∂α",
        "How the log-probability of the whole translation changes with this weight, in nats: "
        "0.7 nats more doubles a probability.",
        "Compared with attention weights by Serrano & Smith 2019",
        "it holds for small changes only, and a weight near 0 may have a large gradient.",
        "gradient",
        "nats per unit of weight",
        signed=True,
    ),
    "product": MeasureExplanation(
        "Gradient × weight",
        "An estimate of how much log-probability would be lost if the weight were set to 0.",
        "Compared with attention weights by Serrano & Smith 2019",
        "it is a linear approximation. Blanking the cell can have another effect.",
        "gradient × weight",
        "nats",
        signed=True,
    ),
}

TOKEN_MEASURES = {
    "rollout": MeasureExplanation(
        "Rollout",
        "The weights of all layers multiplied, with heads averaged and half of each position "
        "kept in every layer for the residual connection.",
        "Abnar & Zuidema 2020, “Attention rollout and attention flow”",
        "because the kept half is constant, the source always gets {level:.1f}% of every token "
        "($1-0.5^{{{layers}}}$). It shows which tokens matter, not how much the source does.",
    ),
    "zeroing": MeasureExplanation(
        "Value zeroing",
        "How far the output of each layer changes when the value of one token is set to 0, "
        "including the feed-forward network and the residual connection, multiplied over the "
        "layers.",
        "Mohebbi et al. 2023; the residual connection's part is added here",
        "if either of two tokens is enough, both seem unimportant; and it does not measure the "
        "effect on the prediction.",
    ),
    "gradient": MeasureExplanation(
        "Gradient",
        "How the log-probability of this token depends on each token's embedding: gradient × "
        "embedding. Negative values lower it.",
        "Simonyan et al. 2014, Denil et al. 2014",
        "it holds for small changes only, is noisy, and is small where the model is confident, "
        "because a probability near 1 can hardly change.",
    ),
}


def explain(measure: MeasureExplanation, **numbers: float) -> None:
    """Draw the explanation below the measure's picture; `numbers` fill its placeholders."""
    limitation = measure.limitation.format(**numbers)
    st.markdown(f"**{measure.title}.** {measure.description}")
    st.caption(f"{measure.source}.  \n**Limitation:** {limitation}")


def show(model: Model, cached_trace: CachedTrace, trace: Trace) -> None:
    """Draw the selected head by two measures, their rank correlation, and the exports."""
    picture = st.container()
    st.markdown(f"{model.description.target}: **{frame.plain(trace.text)}**")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        controls.head(model, cached_trace)
        st.selectbox(width=250, **state.bound_choice("measure_pair"))
    st.markdown(
        "A weight says which share of its attention a query gives to a key. It does not say how "
        "large the vector is or whether the model uses it. Compare every weight with its "
        "**contribution**."
    )
    view = state.view(Research)
    kind, layer, head = view.kind, view.layer, view.head
    weight_gradients = _cached_gradients(model, trace)
    values = contribution(model.translator.model, trace, kind, layer, head, weight_gradients)
    left_measure, right_measure = state.view(Research).measure_pair.split("-")
    with picture.container(gap="xxsmall"):
        st.markdown(f"**{KINDS[kind]}, {display_names.head(layer, head)}**")
        _tables(model, trace, values, (left_measure, right_measure))
    for name, column in zip((left_measure, right_measure), st.columns(2, gap="large"), strict=True):
        with column:
            explain(CELL_MEASURES[name])
    _rank_correlation(values, left_measure, right_measure)
    _largest_disagreement(model, trace)
    _exports(model, trace, values)


@cached("Computing gradients …")
def _cached_gradients(model: Model, trace: Trace) -> Gradients:
    """Return the gradients of the translation's log-probability; at most 19 MB each."""
    return gradients(model.translator.model, trace)


def _tables(
    model: Model, trace: Trace, contributions: Contribution, selected: tuple[str, str]
) -> None:
    explained = {
        name: (CELL_MEASURES[name], values) for name, values in contributions.values.items()
    }
    quantities = [
        CellValues(name, cell.label, cell.title, cell.unit, values, cell.signed)
        for name, (cell, values) in explained.items()
    ]
    cell = views.cell_of(trace, contributions.head[0])
    views.pair("head-measures", quantities, selected, model, trace, contributions.head, cell)


def _rank_correlation(contributions: Contribution, left: str, right: str) -> None:
    """Draw the rank correlations of the measures over the head's cells."""
    ranks = contributions.correlations()
    cells = int(contributions.unmasked.sum())
    names = [CELL_MEASURES[name].label for name in (left, right)]
    row, column = contributions.largest_disagreement(left, right)
    with st.container(border=True):
        st.markdown(
            f"Rank correlation of {names[0]} and {names[1]}: "
            f"**{_rank_description(ranks[left, right])}**"
        )
        other_ranks = [
            f"{CELL_MEASURES[a].label} – {CELL_MEASURES[b].label} {_number(rank)}"
            for (a, b), rank in ranks.items()
            if (a, b) != (left, right)
        ]
        st.caption(
            f"Spearman's rank correlation over the {cells} cells of this head: 1 is the same "
            "order, 0 no relation, −1 the reverse order.  \n" + " · ".join(other_ranks)
        )
        frame.state_button(
            "Show the cell where the two differ most", "my_location", {"row": row, "column": column}
        )


def _largest_disagreement(model: Model, trace: Trace) -> None:
    """Draw a link to the head of any kind in which weights and norms agree least."""
    table = _agreement(model, trace)
    if table.empty:
        return
    kind, layer, head, rank = table.iloc[0]
    left, right = st.columns([5, 2], vertical_alignment="center")
    left.markdown(
        f"**Where do weights and norms differ?** Of all {len(table)} heads they agree least in "
        f"{KINDS[kind].lower()}, {display_names.head(layer, head)}: {_number(rank)}. "
        f"The median over all heads is {_number(table['correlation'].median())}."
    )
    right.button(
        "Show that head",
        icon=":material/explore:",
        on_click=state.change,
        kwargs={
            "kind": kind,
            "layer": int(layer),
            "head": int(head),
            "measure_pair": "weight-norm",
            "row": -1,
            "column": -1,
        },
    )


@cached()
def _agreement(model: Model, trace: Trace) -> pd.DataFrame:
    return agreement(model.translator.model, trace)


def _rank_description(rank: float) -> str:
    if math.isnan(rank):
        return "undefined, because one of them is constant"
    thresholds = {0.9: "almost the same order", 0.5: "a similar order", 0.2: "loosely similar"}
    thresholds |= {-0.2: "no common order"}
    descriptions = (word for minimum, word in thresholds.items() if rank >= minimum)
    return f"{_number(rank)}, {next(descriptions, 'rather the reverse order')}"


def _number(correlation: float) -> str:
    return "–" if math.isnan(correlation) else f"{correlation:.2f}".replace("-", "−")


def _exports(model: Model, trace: Trace, contributions: Contribution) -> None:
    kind, layer, head = contributions.head
    view = state.view(Research)
    cell_selected = view.row >= 0 and view.column >= 0
    with st.container(horizontal=True, vertical_alignment="center"):
        frame.page_button(
            HOME,
            "Calculate this cell step by step"
            if cell_selected
            else "Calculate this head step by step",
            "calculate",
            depth="heads",
            view="query-key",
            layer=layer,
            head=head,
            special="shown",
        )
        if cell_selected:
            frame.page_button(HOME, "Blank this cell", "backspace", key="blank", depth="off")
        name = file_name(
            "attribution", model.name, trace.source, kind, display_names.for_file_name(layer, head)
        )
        tables.csv("These numbers (.csv)", contributions.to_frame, name)
    names = ["contribution import contribution", "gradients import gradients"]
    display_names.python_code(
        "The same numbers from Python",
        f"""{program_start(model, trace, [f"attribution.{name}" for name in names])}
slopes = gradients(translator.model, trace)  # of the whole translation's log-probability
contributions = contribution(translator.model, trace, {kind!r}, {layer}, {head}, slopes)
print(contributions.to_frame())  # one row per cell
print(contributions.correlations())""",
    )
