"""The walkthrough: a map of Figure 1 on the left, the open box with its numbers on the right."""

from __future__ import annotations

import re
from html import escape

import numpy as np
import streamlit as st
import torch

from transformer.analysis.inside import opened_box
from transformer.figures.figure1 import STOPS
from transformer.inference import Trace
from transformer.ui.base import state
from transformer.ui.pages.inside.figure import drawing, stops, tables
from transformer.ui.pages.inside.figure.stops import Stop
from transformer.ui.services import trace_cache
from transformer.ui.services.models import Model
from transformer.ui.widgets import display_names, frame
from transformer.ui.widgets.callbacks import controlled

ALTERNATIVES = 4
WEIGHT_STEPS = ("scores", "scale", "mask", "softmax")
"""Boxes whose tables have a number for every query and key."""
_AXIS_NAMES = {"src": "source length", "tgt": "target length", "vocab": "vocabulary size"}


def show(model: Model) -> None:
    cached_trace = trace_cache.read(model, state.view())
    stop = stops.current_stop(model)
    trace = stops.trace(model, cached_trace, stop.layer)
    map_column, box_column = st.columns([9, 13], gap="large")
    with map_column, st.container(key="inside-map"):
        drawing.draw_figure_1(model, stop, trace)
    with box_column:
        _navigation_buttons(stop)
        tables_of_box = opened_box(
            trace, model.translator, stop.box.name, stop.head if stop.box.by_head else None
        )
        with st.container(key="inside-top"):
            st.header(stops.with_formulas(_title(stop)), anchor=False)
        if stop.attention:
            drawing.draw_figure_2(model, stop, trace)
        st.markdown(stops.with_formulas(display_names.display_text(stop.box.explanation)))
        st.latex(stop.box.equation)
        if stop.box.stop == STOPS[-1]:
            next_token(model, trace)
        st.caption(_source_and_shape(stop.box.section, tables_of_box.shape))
        if tables_of_box.head is not None and model.n_heads > 1:
            _head_choice(model, tables_of_box.head)
        if stop.attention and stop.box.step in WEIGHT_STEPS:
            _link_to_heads(stop)
        tables.show(model, stop, tables_of_box)


def _title(stop: Stop) -> str:
    """Return the title of the open box: its name and where it is in the model."""
    location = stops.location(stop.box)
    return f"{stop.box.title} · {location}" if location else stop.box.title


def _source_and_shape(section: str, shape: str) -> str:
    """Return a caption with the box's section of the paper and the shape of its output."""
    sections = "sections" if " and " in section else "section"
    for axis, name in _AXIS_NAMES.items():
        shape = re.sub(rf"\b{axis}\b", name, shape)
    return f"Paper, {sections} {section}. Shape: {stops.with_formulas(shape)}"


def _navigation_buttons(stop: Stop) -> None:
    """Draw buttons to the previous and the next box, and the number of the open one: not how many
    there are, which deterred readers who had only begun."""
    index = STOPS.index(stop.box.stop)
    with st.container(horizontal=True, vertical_alignment="center", key="inside-navigation"):
        for label, number in (("← Previous", index - 1), ("Next →", index + 1)):
            exists = 0 <= number < len(STOPS)
            st.button(
                label,
                key=f"inside-{label}",
                type="primary" if label.startswith("Next") else "secondary",
                disabled=not exists,
                on_click=stops.open_box,
                args=(STOPS[number] if exists else "",),
            )
        st.caption(f"Box {index + 1}")


def _head_choice(model: Model, head: int) -> None:
    st.segmented_control(
        "Head",
        list(range(model.n_heads)),
        format_func=display_names.number,
        required=True,
        **controlled("inside-head", head, _choose_head),
    )


def _choose_head(head: int) -> None:
    if head != state.view().head:  # the browser may send the previous choice again
        state.change(head=head)


def next_token(model: Model, trace: Trace) -> None:
    """Draw the most probable tokens of a step, and a menu of steps."""
    probabilities = torch.tensor(trace["hook_logits"]).double().softmax(-1).numpy()
    step = min(max(state.view().row, 0), len(probabilities) - 1)
    order = np.argsort(-probabilities[step], kind="stable")[: ALTERNATIVES + 1]
    names = list(map(display_names.piece, model.translator.vocabulary.tokens(order.tolist())))
    prefix = " ".join(display_names.tokens(trace.tgt_tokens[: step + 1]))
    st.markdown(
        f"After {frame.plain(prefix)} the most probable token is **{frame.plain(names[0])}**, "
        f"with a probability of **{100 * probabilities[step, order[0]]:.1f}%**."
    )
    rows = ""
    for rank, (name, token) in enumerate(zip(names, order, strict=True)):
        label = f"<b>{escape(name)}</b>" if rank == 0 else escape(name)
        share = probabilities[step, token]
        rows += (
            f'<tr><th scope="row">{label}</th><td><span class="hu-share">'
            f'<span style="width: {100 * share:.1f}%"></span></span>{100 * share:.1f}%</td></tr>'
        )
    st.html(
        '<table class="hu-table"><caption>The most probable tokens: '
        f"step {step + 1} of {len(probabilities)}</caption><tbody>{rows}</tbody></table>"
    )
    if len(probabilities) > 1:
        outputs = display_names.tokens(trace.predicted_tokens)
        st.selectbox(
            "Step",
            range(len(probabilities)),
            format_func=lambda index: f"{index + 1}: {outputs[index]}",
            **controlled("inside-ending", step, lambda index: state.change(row=int(index))),
        )


def _link_to_heads(stop: Stop) -> None:
    """Draw a link to the view that shows the whole computation of a weight."""
    frame.page_link(
        "app.py",
        "This weight from query and key to the weighted value, in one view: Query–key →",
        depth="heads",
        view="query-key",
        kind="cross" if stop.box.block == "cross_attn" else stop.box.stack,
        layer=stop.layer,
        head=stop.head,
    )
