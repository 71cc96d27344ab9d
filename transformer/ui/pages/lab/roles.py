"""Head roles over a corpus: a grid of all heads, and the card of the selected one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from transformer import measures
from transformer.analysis.corpora import Corpus
from transformer.analysis.reports import MAX_OFFSET
from transformer.analysis.roles.corpus_tokens import RELATIONS
from transformer.analysis.roles.head_roles import RESTS_ON, RULES, HeadRole
from transformer.figures.headgrid import Grid, headgrid_data
from transformer.figures.offsets import offsets
from transformer.figures.state import KINDS
from transformer.measures import MEASURES
from transformer.measures.head_codes import LETTERS
from transformer.measures.naming import file_name
from transformer.ui import state
from transformer.ui.pages.lab import GRID_MEASURES, Lab
from transformer.ui.services import models
from transformer.ui.services.models import Model
from transformer.ui.widgets import computed, controls, corpus, exact, frame, tables
from transformer.ui.widgets.charts import chart, dark
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
    frame.lead_text(
        "One sentence shows what a head did once. Measured over many sentences, some heads have a "
        "clear **role**; most do not."
    )
    texts = corpus.choose(model)
    if texts is None:
        return
    found = computed.measured_or_preview(model, texts, "heads", about=ABOUT)
    if found is None:
        return
    _first_choice(found)
    _summary(found)
    _heads(found)
    _card(model, found, texts)
    _table(model, found, texts)


def _first_choice(found: Mapping[str, Any]) -> None:
    """Before anybody has chosen a head: the one whose role is clearest, else the most confident."""
    if state.view(Lab).layer >= 0 and state.view(Lab).head >= 0:
        return
    best = max(
        found["cards"], key=lambda card: (card["role"]["share"], card["measures"]["confidence"])
    )
    state.set_fields(kind=best["kind"], layer=best["layer"], head=best["head"])


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
    st.selectbox(width=280, **state.bound_choice("colour"))
    colour, view = state.view(Lab).colour, state.view(Lab)
    measure = MEASURES[colour]
    st.caption(frame.plain(measure.note))
    table = pd.DataFrame(found["table"])
    values = pd.to_numeric(table[colour]).to_numpy(dtype=np.float64)
    if np.isnan(values).all():
        st.info(f"This cannot be measured over these sentences: {measure.missing_reason}.")
    marks = dict(
        sorted(
            {(c["role"]["short"], exact.display_text(c["role"]["text"])) for c in found["cards"]}
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
        exact=exact.is_on(),
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
        f"{said(colour, value)}; {exact.display_text(card['role']['text'])}"
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
    exact.python_code(
        "The same numbers from Python",
        f"""from transformer import Translator
from transformer.analysis.roles.head_roles import head_roles
from transformer.analysis.corpora import Corpus
from transformer.analysis.roles.head_measures import measure_heads

translator = Translator.load({str(models.public_path(model.name))!r})
measured = measure_heads(translator, {corpus.python_code(model, texts)})
print(measured.table())
print(head_roles(measured)[0])""",
    )


NAMES = {
    "positional": "Positional",
    "backwards": "Backwards",
    "aligner": "Aligner",
    "syntactic": "Syntactic",
    "pieces": "Pieces of a word",
    "rare": "Rare words",
    "duplicate": "Same token",
    "punctuation": "Punctuation",
    "sink": "Attention sink",
    "none": "None",
}
SENTENCE = 70
"""Letters of a sentence on a button."""


def _card(model: Model, found: Mapping[str, Any], texts: Corpus) -> None:
    view = state.view()
    at = next(
        number
        for number, card in enumerate(found["cards"])
        if (card["kind"], card["layer"], card["head"]) == (view.kind, view.layer, view.head)
    )
    card = HeadRole.from_dict(found["cards"][at])
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
            controls.button_row("kind")
            controls.layer_and_head(model)
        _role(card, found)
        with st.expander("Rules and numbers of this head"):
            _rules(card, found)
        left, right = st.columns([3, 2], gap="large")
        with left:
            _numbers(card, found)
        with right:
            _offsets(found["offsets"][at])
        _strongest(card, found, texts)
        _ways_on(card)


def _ways_on(card: HeadRole) -> None:
    with st.container(horizontal=True):
        frame.page_button(
            "pages/attention.py",
            "Show this head on your sentence",
            "visibility",
            view="heatmap",
            tokens="",
            row=-1,
            column=-1,
        )
        frame.state_button(
            "Switch off this head",
            "toggle_off",
            {"lab": "switch", "off": f"{LETTERS[card.kind]}{card.layer}.{card.head}"},
        )


def _role(card: HeadRole, found: Mapping[str, Any]) -> None:
    where = f"{KINDS[card.kind]}, {exact.head(card.layer, card.head)}"
    if card.met:
        st.header(f"{where}: {frame.plain(exact.display_text(card.role.text))}")
        even = found["chance"][card.kind].get(card.measure)
        told = (
            f"{GRID_MEASURES[card.measure]}: **{said(card.measure, card.measures[card.measure])}**"
        )
        told += f", uniform attention {said(card.measure, even)}" if even is not None else ""
        told += f"{_by_offset(card.measure, found)}."
        if card.met[1:]:
            also = "; and ".join(exact.display_text(role.text) for role in card.met[1:])
            told += f" It also {frame.plain(also)}."
        st.markdown(told)
        return
    st.header(f"{where}: no role")
    line = "It meets no rule: like most heads, it does no single thing most of the time. "
    more = [
        (value / even, name)
        for name, even in found["chance"][card.kind].items()
        if MEASURES[name].group != "shape"
        and even is not None
        and even > 0.01
        and (value := card.measures.get(name) or 0.0) >= 0.05
    ]
    if more and max(more)[0] > 1.2:
        times, name = max(more)
        line += (
            "Compared with uniform attention it stands out in "
            f"**{GRID_MEASURES[name].lower()}**: {said(name, card.measures[name])}, {times:.1f} "
            "times as much."
        )
    st.markdown(line)


def _by_offset(measure: str, found: Mapping[str, Any]) -> str:
    """What counting places alone would get, for a measure that is held against that."""
    if measure not in found["best_offsets"]:
        return ""
    offset, share = found["best_offsets"][measure]
    return f" (offset {offset:+d}: {said(measure, share)})".replace("-", "−")


def _rules(card: HeadRole, found: Mapping[str, Any]) -> None:
    met = {role.group for role in card.met}
    rows = []
    for group, rule in RULES.items():
        if group == "none":
            continue
        names = {
            "aligner": ("aligned", "aligned_input"),
            "sink": ("first", "last", "delimiters"),
            "syntactic": tuple(RELATIONS),
        }
        numbers = [
            f"{GRID_MEASURES[name].lower()} "
            f"{said(name, card.measures[name])}{_by_offset(name, found)}"
            for name in names.get(group, (RESTS_ON[group],))
            if card.measures.get(name) is not None
        ]
        told = ", ".join(numbers) or "not measured for this kind, or over this corpus"
        rows.append([NAMES[group], rule, told, "met" if group in met else "not met"])
    heads = ["Role", "Rule", "This head", ""]
    tables.show(
        "Rules in the order in which they are applied; the first one met gives the role",
        heads,
        rows,
    )


def _numbers(card: HeadRole, found: Mapping[str, Any]) -> None:
    others = [other["measures"] for other in found["cards"] if other["kind"] == card.kind]
    rows = []
    for name, label in GRID_MEASURES.items():
        value = card.measures.get(name)
        if value is None:
            continue
        even = found["chance"][card.kind].get(name)
        place = 1 + sum((other[name] or 0.0) > value for other in others)
        rows.append([label, said(name, value), said(name, even), f"{place} of {len(others)}"])
    heads = ["Measure", "This head", "Uniform", "Rank"]
    about = "Uniform: uniform attention; rank: among the heads of this kind"
    tables.show(about, heads, rows)


def said(measure: str, value: float | None) -> str:
    return measures.format_value(value, MEASURES[measure].unit)


def _offsets(counts: list[list[int]]) -> None:
    st.markdown("**Offset of the greatest weight**")
    chart(offsets([(at, rows) for at, rows in counts], MAX_OFFSET, dark=dark()), "offsets")
    st.caption(
        "The offset of each row's greatest weight: −1 is the previous token, 0 the same position."
    )


def _strongest(card: HeadRole, found: Mapping[str, Any], texts: Corpus) -> None:
    st.markdown(f"**Sentences where it is strongest** (by {GRID_MEASURES[card.measure].lower()})")
    if not card.strongest:
        st.caption("No sentence of this corpus.")
    with st.container(horizontal=True, gap="small"):
        for number, value in card.strongest:
            _sentence(card, number, value, found, texts)


def _sentence(
    card: HeadRole, number: int, value: float, found: Mapping[str, Any], texts: Corpus
) -> None:
    """A way to this sentence in the explorer, with the translation that was measured."""
    source, target = found["texts"][number]
    given = bool(texts.sentences[number].target)
    text = source if len(source) <= SENTENCE else source[: SENTENCE - 1] + "…"
    frame.page_button(
        "pages/attention.py",
        f"{said(card.measure, value)} · {frame.plain(text)}",
        "open_in_new",
        key=f"strongest-{number}",
        text=source,
        method="forced" if given else "greedy",
        target=target if given else "",
        view="heatmap",
        kind=card.kind,
        layer=card.layer,
        head=card.head,
        tokens="",
        row=-1,
        column=-1,
    )
