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
from transformer.analysis.roles.head_roles import RULES, HeadRole
from transformer.figures.headgrid import Grid
from transformer.figures.offsets import offsets
from transformer.figures.state import KINDS
from transformer.measures import MEASURES, naming
from transformer.measures.head_codes import write_heads
from transformer.measures.kinds import AttentionKind
from transformer.measures.naming import file_name
from transformer.ui.base import state
from transformer.ui.base.registry import HOME
from transformer.ui.pages.research import GRID_MEASURES, Research, corpus, experiment
from transformer.ui.services.models import Model
from transformer.ui.widgets import computed, controls, display_names, frame, tables, views
from transformer.ui.widgets.charts import chart, dark

DESCRIPTION = (
    "Measures all heads of all three kinds in one pass. This takes a few seconds per hundred "
    "sentences."
)


def show(model: Model) -> None:
    """Draw the roles of all heads, and the card of the selected one."""
    picture = st.container()
    texts = corpus.choose(model)
    if texts is None:
        return
    report = computed.measured_or_preview(model, texts, "heads", description=DESCRIPTION)
    if report is None:
        return
    _default_head(report)
    with picture:
        experiment.show(
            experiment.Result(
                "All heads",
                _sentence(report),
                lambda: _draw_grid(report),
                frame.plain(MEASURES[state.view(Research).colour].note),
                pd.DataFrame(report["table"]),
                file_name("heads", model.name),
                experiment.report_program(model, texts, "heads"),
            )
        )
    _card(model, report, texts)


def _default_head(report: Mapping[str, Any]) -> None:
    """If no head is selected, select the one with the clearest role, else the most confident."""
    if state.view(Research).layer >= 0 and state.view(Research).head >= 0:
        return
    best = max(
        report["cards"], key=lambda card: (card["role"]["share"], card["measures"]["confidence"])
    )
    state.set_fields(kind=best["kind"], layer=best["layer"], head=best["head"])


def _sentence(report: Mapping[str, Any]) -> str:
    groups = Counter(card["role"]["group"] for card in report["cards"])
    n, without_role = len(report["cards"]), groups["none"]
    if without_role == n:
        return f"**None of the {n} heads has a role here:** no head meets a rule."
    roles = ", ".join(
        f"{name.lower()} {groups[group]}"
        for group, name in ROLE_NAMES.items()
        if groups[group] and group != "none"
    )
    return f"**{n - without_role} of {n} heads have a role here:** {roles}."


def _draw_grid(report: Mapping[str, Any]) -> None:
    """Draw all heads by the chosen measure, and the choice of the measure."""
    view = state.view(Research)
    measure = MEASURES[view.colour]
    values = pd.to_numeric(pd.DataFrame(report["table"])[view.colour]).to_numpy(dtype=np.float64)
    if np.isnan(values).all():
        st.info(f"This cannot be measured over these sentences: {measure.missing_reason}.")
    legend = [
        "Choose a head to see what it does",
        f"{measure.label}, {measure.unit or 'share'}; one row per layer, one column per head",
    ]
    if np.isnan(values).any():
        legend.append("No colour: not measured for this kind")
    marks = {
        c["role"]["short"]: display_names.display_text(c["role"]["text"])
        for c in report["cards"]
        if c["role"]["group"] != "none"
    }
    if marks:
        legend.append("Roles: " + "; ".join(f"{mark} = {marks[mark]}" for mark in sorted(marks)))
    views.head_grid(
        "cards",
        [_kind_grid(kind, report, view.colour) for kind in KINDS],
        high=float(np.nanmax(values, initial=1e-6)),
        legend=". ".join(legend) + ".",
        selected=(view.kind, view.layer, view.head),
    )
    st.selectbox(width=280, **state.bound_choice("colour"))


def _role_text(role: Mapping[str, Any]) -> str:
    return "no role" if role["group"] == "none" else display_names.display_text(str(role["text"]))


def _kind_grid(kind: AttentionKind, report: Mapping[str, Any], colour: str) -> Grid:
    cards = [card for card in report["cards"] if card["kind"] == kind]
    n_heads = 1 + max(card["head"] for card in cards)

    def grid_rows(values_by_head: list[Any]) -> list[list[Any]]:
        return [
            values_by_head[start : start + n_heads]
            for start in range(0, len(values_by_head), n_heads)
        ]

    values = [card["measures"].get(colour) for card in cards]
    hover = [
        f"{KINDS[kind]}, {naming.head_name(card['layer'], card['head'])}: "
        f"{format_measure(colour, value)}; {_role_text(card['role'])}"
        for card, value in zip(cards, values, strict=True)
    ]
    marks = [card["role"]["short"].replace("·", "") for card in cards]
    numbers = [math.nan if value is None else value for value in values]
    return Grid(kind, np.array(grid_rows(numbers)), grid_rows(marks), grid_rows(hover))


ROLE_NAMES = {
    "positional": "Positional",
    "backwards": "Backwards",
    "aligner": "Aligner",
    "syntactic": "Syntactic",
    "pieces": "Tokens of a word",
    "rare": "Rare words",
    "duplicate": "Same token",
    "punctuation": "Punctuation",
    "sink": "Attention sink",
    "none": "None",
}
MAX_BUTTON_CHARACTERS = 70
"""Maximum length of a sentence on a button."""


def _card(model: Model, report: Mapping[str, Any], texts: Corpus) -> None:
    view = state.view()
    card_index = next(
        number
        for number, card in enumerate(report["cards"])
        if (card["kind"], card["layer"], card["head"]) == (view.kind, view.layer, view.head)
    )
    card = HeadRole.from_dict(report["cards"][card_index])
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
            controls.button_row("kind")
            controls.layer_and_head(model)
        _role(card, report)
        with st.expander("Rules"):
            _rules(card)
        left, right = st.columns([3, 2], gap="large")
        with left:
            _measure_table(card, report)
        with right:
            _offsets(report["offsets"][card_index])
        _strongest(card, report, texts)
        _head_buttons(card)


def _head_buttons(card: HeadRole) -> None:
    with st.container(horizontal=True):
        frame.page_button(
            HOME,
            "Show this head on your sentence",
            "visibility",
            depth="heads",
            view="heatmap",
            tokens="",
            row=-1,
            column=-1,
        )
        frame.page_button(
            HOME,
            "Switch off this head",
            "toggle_off",
            key="switch-off",
            depth="off",
            off=write_heads([(card.kind, card.layer, card.head)]),
        )


def _role(card: HeadRole, report: Mapping[str, Any]) -> None:
    head_name = f"{KINDS[card.kind]}, {naming.head_name(card.layer, card.head)}"
    if card.met:
        st.header(f"{head_name}: {frame.plain(display_names.display_text(card.role.text))}")
        uniform_value = report["chance"][card.kind].get(card.measure)
        value_text = format_measure(card.measure, card.measures[card.measure])
        text = f"{GRID_MEASURES[card.measure]}: **{value_text}**"
        if uniform_value is not None:
            text += f", uniform attention {format_measure(card.measure, uniform_value)}"
        text += f"{_by_offset(card.measure, report)}."
        if card.met[1:]:
            further_roles = "; and ".join(
                display_names.display_text(role.text) for role in card.met[1:]
            )
            text += f" It also {frame.plain(further_roles)}."
        st.markdown(text)
        return
    st.header(f"{head_name}: no role")
    text = "It meets none of the rules. Like most heads, it has no single function. "
    above_uniform = [
        (value / uniform_value, name)
        for name, uniform_value in report["chance"][card.kind].items()
        if MEASURES[name].group != "shape"
        and uniform_value is not None
        and uniform_value > 0.01
        and (value := card.measures.get(name) or 0.0) >= 0.05
    ]
    if above_uniform and max(above_uniform)[0] > 1.2:
        ratio, name = max(above_uniform)
        text += (
            f"Its highest value relative to uniform attention is {GRID_MEASURES[name].lower()}: "
            f"**{format_measure(name, card.measures[name])}**, {ratio:.1f} times as much."
        )
    st.markdown(text)


def _by_offset(measure: str, report: Mapping[str, Any]) -> str:
    """Return what the best fixed offset reaches, for a measure that is compared with it."""
    if measure not in report["best_offsets"]:
        return ""
    offset, share = report["best_offsets"][measure]
    return f" (offset {offset:+d}: {format_measure(measure, share)})".replace("-", "−")


def _rules(card: HeadRole) -> None:
    met = {role.group for role in card.met}
    rows = [
        [ROLE_NAMES[group], rule, "met" if group in met else "not met"]
        for group, rule in RULES.items()
        if group != "none"
    ]
    tables.show(
        "Rules in the order in which they are applied; the first rule that is met gives the role",
        ["Role", "Rule", "This head"],
        rows,
    )


def _measure_table(card: HeadRole, report: Mapping[str, Any]) -> None:
    same_kind = [
        other_card["measures"] for other_card in report["cards"] if other_card["kind"] == card.kind
    ]
    rows = []
    for name, label in GRID_MEASURES.items():
        value = card.measures.get(name)
        if value is None:
            continue
        uniform_value = report["chance"][card.kind].get(name)
        rank = 1 + sum((other_measures[name] or 0.0) > value for other_measures in same_kind)
        rows.append(
            [
                label,
                format_measure(name, value),
                format_measure(name, uniform_value),
                f"{rank} of {len(same_kind)}",
            ]
        )
    columns = ["Measure", "This head", "Uniform", "Rank"]
    caption = "Uniform: uniform attention; rank: among the heads of this kind"
    tables.show(caption, columns, rows)


def format_measure(measure: str, value: float | None) -> str:
    return measures.format_value(value, MEASURES[measure].unit)


def _offsets(counts: list[list[int]]) -> None:
    st.markdown("**Offset of the greatest weight**")
    chart(offsets([(offset, rows) for offset, rows in counts], MAX_OFFSET, dark=dark()), "offsets")
    st.caption(
        "The offset of each row's greatest weight: −1 is the previous token, 0 the same position."
    )


def _strongest(card: HeadRole, report: Mapping[str, Any], texts: Corpus) -> None:
    st.markdown(f"**Sentences where it is strongest** (by {GRID_MEASURES[card.measure].lower()})")
    if not card.strongest:
        st.caption("No sentence of this corpus.")
    with st.container(horizontal=True, gap="small"):
        for number, value in card.strongest:
            _sentence_button(card, number, value, report, texts)


def _sentence_button(
    card: HeadRole, number: int, value: float, report: Mapping[str, Any], texts: Corpus
) -> None:
    """Draw a button that opens this sentence and its measured translation in the explorer."""
    source, target = report["texts"][number]
    has_target = bool(texts.sentences[number].target)
    text = (
        source
        if len(source) <= MAX_BUTTON_CHARACTERS
        else source[: MAX_BUTTON_CHARACTERS - 1] + "…"
    )
    frame.page_button(
        HOME,
        f"{format_measure(card.measure, value)} · {frame.plain(text)}",
        "open_in_new",
        key=f"strongest-{number}",
        text=source,
        method="forced" if has_target else "greedy",
        target=target if has_target else "",
        depth="heads",
        view="heatmap",
        kind=card.kind,
        layer=card.layer,
        head=card.head,
        tokens="",
        row=-1,
        column=-1,
    )
