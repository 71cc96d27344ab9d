"""The walkthrough: a map of Figure 1 on the left, the open box with its numbers on the right."""

from __future__ import annotations

import re
from html import escape

import numpy as np
import streamlit as st
import torch

from transformer.analysis.inside import opened
from transformer.figures.places import STOPS
from transformer.inference import Trace
from transformer.ui import state
from transformer.ui.pages.inside import asides, figure, stops, tables
from transformer.ui.pages.inside.stops import Stop
from transformer.ui.services import trace_cache
from transformer.ui.services.models import Model
from transformer.ui.widgets import exact, frame
from transformer.ui.widgets.callbacks import follows

_BLOCKS = {
    "self_attn": "self-attention",
    "cross_attn": "cross-attention",
    "ffn": "feed-forward network",
}
RIVALS = 4


def show(model: Model) -> None:
    reading = trace_cache.read(model, state.view())
    stop = stops.now(model)
    trace = stops.trace(model, reading, stop.layer)
    left, right = st.columns([9, 13], gap="large")
    with left, st.container(key="inside-map"):
        figure.whole(model, stop, trace)
    with right:
        _ways(stop)
        found = opened(
            trace, model.translator, stop.box.name, stop.head if stop.box.by_head else None
        )
        with st.container(key="inside-top"):
            st.header(_title(stop), anchor=False)
        if stop.attention:
            figure.attention(model, stop, trace)
        st.latex(stop.box.equation)
        st.markdown(_symbols(stop.box.words))
        if stop.place == STOPS[-1]:
            ending(model, trace)
        st.caption(f"Paper, section {stop.box.section}. Shape: {_symbols(found.shape)}")
        if found.head is not None and model.n_heads > 1:
            _heads(model, found.head)
        asides.show(model, stop, trace)
        tables.show(model, stop, found)


def _title(stop: Stop) -> str:
    """The title of the open box: its name and its place in the model."""
    box = stop.box
    if box.stack == "output":
        return box.title
    parts = [box.stack]
    if box.layer is not None:
        parts.append(exact.layer(box.layer))
    if box.block in _BLOCKS:
        parts.append(_BLOCKS[box.block])
    where = ", ".join(parts)
    return frame.plain(f"{box.title} · {where}")


def _symbols(text: str) -> str:
    """Markdown of a sentence, with d_model, √d_k and W^Q as formulas."""
    parts = re.split(r"(√?\b[dn]_(?:model|heads|k|ff)\b|W\^[QKVO])", text)
    for i, part in enumerate(parts):
        if i % 2:
            root, name = part.startswith("√"), re.sub(r"_(\w+)", r"_{\1}", part.lstrip("√"))
            parts[i] = rf"$\sqrt{{{name}}}$" if root else f"${name}$"
        else:
            parts[i] = frame.plain(part)
    return "".join(parts)


def _ways(stop: Stop) -> None:
    """Buttons to the previous and the next box, and the number of the open one."""
    with st.container(horizontal=True, vertical_alignment="center", key="inside-ways"):
        for label, number in (("← Previous", stop.number - 1), ("Next →", stop.number + 1)):
            inside = 0 <= number < len(STOPS)
            st.button(
                label,
                key=f"inside-{label}",
                type="primary" if label.startswith("Next") else "secondary",
                disabled=not inside,
                on_click=stops.go,
                args=(STOPS[number] if inside else "",),
            )
        st.caption(f"Box {stop.number + 1} of {len(STOPS)}")


def _heads(model: Model, head: int) -> None:
    st.session_state["inside-head"] = st.session_state["inside-head-shown"] = head
    st.segmented_control(
        "Head",
        list(range(model.n_heads)),
        format_func=exact.numbering(),
        key="inside-head",
        on_change=_head,
        required=True,
    )


def _head() -> None:
    chosen = st.session_state["inside-head"]
    if chosen is not None and chosen != st.session_state["inside-head-shown"]:
        state.change(head=chosen)


def ending(model: Model, trace: Trace) -> None:
    """The most probable tokens of a step, and a choice of another step."""
    found = torch.tensor(trace["hook_logits"]).double().softmax(-1).numpy()
    step = min(max(state.view().row, 0), len(found) - 1)
    order = np.argsort(-found[step], kind="stable")[: RIVALS + 1]
    names = exact.tokens(model.translator.vocabulary.tokens(order.tolist()))
    written = " ".join(exact.tokens(trace.tgt_tokens[: step + 1]))
    st.markdown(
        f"After {frame.plain(written)} the most probable token is **{frame.plain(names[0])}**, "
        f"with **{found[step, order[0]]:.1%}**."
    )
    rows = "".join(
        f'<tr><th scope="row">{"<b>" if at == 0 else ""}{escape(name)}{"</b>" if at == 0 else ""}'
        f'</th><td><span class="hu-share"><span style="width: {100 * found[step, token]:.1f}%">'
        f"</span></span>{found[step, token]:.1%}</td></tr>"
        for at, (name, token) in enumerate(zip(names, order, strict=True))
    )
    st.html(
        '<table class="hu-table"><caption>The most probable tokens: '
        f"step {step + 1} of {len(found)}</caption><tbody>{rows}</tbody></table>"
    )
    if len(found) > 1:
        outputs = exact.tokens(trace.predicted_tokens)
        st.selectbox(
            "Another step",
            range(len(found)),
            format_func=lambda at: f"{at + 1}: {outputs[at]}",
            **follows("inside-ending", step, lambda at: state.change(row=int(at))),
        )
