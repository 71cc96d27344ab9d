"""Head roles over a corpus: a grid of all heads, and the selected one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from transformer.analysis.corpora import Corpus
from transformer.figures.headgrid import Grid, headgrid_data
from transformer.figures.state import KINDS
from transformer.measures import MEASURES
from transformer.measures.naming import file_name
from transformer.ui import state
from transformer.ui.pages.lab import Lab, roles_head
from transformer.ui.pages.lab.roles_head import said
from transformer.ui.services import models
from transformer.ui.services.models import Model
from transformer.ui.widgets import computed, corpus, exact, frame, tables
from transformer.ui.widgets.views import component

ABOUT = (
    "Measures all heads of all three kinds in one pass. This takes a few seconds per hundred "
    "sentences."
)
DO = {
    "positional": "attend to a fixed offset",
    "backwards": "read backwards",
    "aligner": "align words with their source words",
    "syntactic": "follow a grammatical relation",
    "pieces": "join the pieces of a word",
    "rare": "attend to the rarest token",
    "duplicate": "attend to the same token",
    "punctuation": "attend to punctuation",
    "sink": "are attention sinks",
}
_grid = component("headgrid")


def show(model: Model) -> None:
    frame.lead(
        "One sentence shows what a head did once. Measured over many sentences, some heads have a "
        "clear **role**; most do not."
    )
    texts = corpus.chosen(model)
    if texts is None:
        return
    found = computed.measured_or_preview(model, texts, "heads", about=ABOUT)
    if found is None:
        return
    _first_choice(found)
    _summary(found)
    _heads(found)
    roles_head.show(model, found, texts)
    _table(model, found, texts)


def _first_choice(found: Mapping[str, Any]) -> None:
    """Before anybody has chosen a head: the one whose role is clearest, else the most confident."""
    if state.view(Lab).layer >= 0 and state.view(Lab).head >= 0:
        return
    best = max(
        found["cards"], key=lambda card: (card["role"]["share"], card["measures"]["confidence"])
    )
    state.normalise(kind=best["kind"], layer=best["layer"], head=best["head"])


def _summary(found: Mapping[str, Any]) -> None:
    groups = Counter(card["role"]["group"] for card in found["cards"])
    n, none = len(found["cards"]), groups["none"]
    roles = [f"{groups[group]} {does}" for group, does in DO.items() if groups[group]]
    if roles:
        st.markdown(
            f"**{n - none} of {n} heads have a role here:** {'; '.join(roles)}. The other {none} "
            "meet no rule; the grid shows how they compare on each measure."
        )
    else:
        st.markdown(
            f"**None of the {n} heads has a role here.** No head does one thing most of the time. "
            "The grid shows how they compare on each measure."
        )


def _heads(found: Mapping[str, Any]) -> None:
    st.selectbox(width=280, **state.chosen("colour"))
    colour, view = state.view(Lab).colour, state.view(Lab)
    measure = MEASURES[colour]
    st.caption(frame.plain(measure.note))
    table = pd.DataFrame(found["table"])
    values = pd.to_numeric(table[colour]).to_numpy(dtype=np.float64)
    if np.isnan(values).all():
        st.info(f"This cannot be measured over these sentences: {measure.lacking}.")
    marks = dict(
        sorted(
            {(c["role"]["short"], exact.retold(c["role"]["text"])) for c in found["cards"]}
            - {("·", "none")}
        )
    )
    legend = [f"{measure.label}, {measure.unit or 'share'}; one row per layer, one column per head"]
    if np.isnan(values).any():
        legend.append("No colour: not measured for this kind")
    if marks:
        legend.append("Roles: " + ", ".join(f"{mark} {text}" for mark, text in marks.items()))
    data = headgrid_data(
        [_one(kind, found, colour) for kind in KINDS],
        low=0.0,
        high=float(np.nanmax(values, initial=1e-6)),
        legend=". ".join(legend),
        chosen=(view.kind, view.layer, view.head),
        large=view.size == "large",
        exact=exact.on(),
    )
    _grid(key="cards", data=data, on_choice_change=_taken)


def _one(kind: str, found: Mapping[str, Any], colour: str) -> Grid:
    cards = [card for card in found["cards"] if card["kind"] == kind]
    n_heads = 1 + max(card["head"] for card in cards)

    def lines(each: list[Any]) -> list[list[Any]]:
        return [each[at : at + n_heads] for at in range(0, len(each), n_heads)]

    values = [card["measures"].get(colour) for card in cards]
    told = [
        f"{KINDS[kind]}, {exact.head(card['layer'], card['head'])}: "
        f"{said(colour, value)}; {exact.retold(card['role']['text'])}"
        for card, value in zip(cards, values, strict=True)
    ]
    marks = [card["role"]["short"].replace("·", "") for card in cards]
    numbers = [math.nan if value is None else value for value in values]
    return Grid(kind, KINDS[kind], np.array(lines(numbers)), lines(marks), lines(told))


def _taken() -> None:
    told = st.session_state["cards"]["choice"]
    state.change(
        kind=str(told["grid"]), layer=int(told["row"]), head=int(told["column"]), row=-1, column=-1
    )


def _table(model: Model, found: Mapping[str, Any], texts: Corpus) -> None:
    table = pd.DataFrame(found["table"])
    with st.expander(f"All {len(table)} heads as a table"):
        st.dataframe(table, hide_index=True, height=420)
        st.caption("Click a column name to sort by it.")
    tables.csv("All heads (.csv)", lambda: table, file_name("heads", model.name))
    exact.program(
        "The same numbers from Python",
        f"""from transformer import Translator
from transformer.analysis.roles.head_roles import head_roles
from transformer.analysis.corpora import Corpus
from transformer.analysis.roles.head_measures import measure_heads

translator = Translator.load({str(models.written(model.name))!r})
measured = measure_heads(translator, {corpus.program(model, texts)})
print(measured.table())
print(head_roles(measured)[0])""",
    )
