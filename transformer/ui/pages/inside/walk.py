"""The walkthrough: a map of Figure 1 on the left, the open box with its numbers on the right."""

from __future__ import annotations

import re
from html import escape

import numpy as np
import streamlit as st
import torch

from transformer.analysis.inside import Batched, Convolved, batched, convolved, opened
from transformer.figures.box_layout import STOPS
from transformer.inference import Trace
from transformer.ui import state
from transformer.ui.pages.inside import figure, stops
from transformer.ui.pages.inside import tables as number_tables
from transformer.ui.pages.inside.stops import Stop
from transformer.ui.services import trace_cache
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.widgets import exact, frame, tables
from transformer.ui.widgets.callbacks import controlled

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
        _asides(model, stop, trace)
        number_tables.show(model, stop, found)


def _title(stop: Stop) -> str:
    """The title of the open box: its name and its place in the model."""
    where = stops.where(stop.box)
    return frame.plain(f"{stop.box.title} · {where}" if where else stop.box.title)


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
            **controlled("inside-ending", step, lambda at: state.change(row=int(at))),
        )


DIMENSIONS = 6
"""Shown of a row, in both forms."""
_DIGITS = 6


def _asides(model: Model, stop: Stop, trace: Trace) -> None:
    """Draw the toggle that belongs to the open box, and its content once it is on."""
    if stop.box.block == "ffn":
        if st.toggle("Show as two convolutions", key="inside-convolutions"):
            _convolutions(convolved(model.translator.model, trace, _path(stop)), trace, stop)
    elif stop.attention and st.toggle("Show as a batch: B sentences, h heads", key="inside-batch"):
        text = state.view().text
        others = [example for example in model.about.examples if example != text]
        _batch(_batched(model, (text, *others[:2]), _path(stop)))


def _path(stop: Stop) -> str:
    """The block's module: "encoder.layers.0.ffn"."""
    return f"{stop.box.stack}.layers.{stop.layer}.{stop.box.block}"


def _convolutions(found: Convolved, trace: Trace, stop: Stop) -> None:
    tokens = trace.src_tokens if stop.box.stack == "encoder" else trace.tgt_tokens
    row = min(max(state.view().row, 0), len(tokens) - 1)
    with st.container(border=True, key="inside-aside"):
        relu = trace.config.get("activation", "relu") == "relu"
        bent = r"\max(0,\ \mathrm{conv}_{1}(x))" if relu else r"f(\mathrm{conv}_{1}(x))"
        st.latex(rf"\mathrm{{FFN}}(x) = \mathrm{{conv}}_{{2}}\big({bent}\big)")
        st.latex(r"\mathrm{conv}_{1}(x)_t = \textstyle\sum_{i} x_{t,i}\, W_{1,i} + b_1")
        first, second = (" × ".join(map(str, shape)) for shape in found.kernels)
        st.markdown(
            "Section 3.3 describes the network also as two convolutions with kernel size 1. The "
            "weights are the same, with an additional axis of length 1: "
            f"{first} and {second} (out, in, kernel). Here torch.nn.functional.conv1d is applied "
            "to this sentence, with the dimensions as channels."
        )
        cells = [
            [f"dimension {exact.number(at)}", *(f"{form[row, at]:.{_DIGITS}f}" for form in
                                  (found.linear, found.convolved))]
            for at in range(min(DIMENSIONS, found.linear.shape[1]))
        ]  # fmt: skip
        about = f"Output of the network at “{exact.token(tokens[row])}”, first dimensions"
        tables.show(about, ["", "two matrix products", "two convolutions"], cells)
        rows, wide = found.linear.shape
        st.caption(
            f"Over all {rows} × {wide} numbers the two forms differ by at most {found.apart:.0e}, "
            "which is rounding. With kernel size 1 no position affects another: each position "
            f"alone gives the same result, up to {found.alone:.0e}. This is what “position-wise” "
            "means."
        )


@cached()
def _batched(model: Model, sources: tuple[str, ...], attention: str) -> Batched:
    translator = model.translator
    said = [done.text for done in translator.translate_batch(sources)]
    return batched(translator, sources, said, attention)


def _batch(found: Batched) -> None:
    with st.container(border=True, key="inside-aside"):
        st.markdown(
            "Sentences are usually computed in batches. Then every tensor has additional axes: "
            "**B** sentences, **h** heads, **L** queries and **S** keys (in self-attention L = S). "
            f"Here B = {len(found.tokens)}: your sentence and {len(found.tokens) - 1} examples."
        )
        rows = [
            [step.what, f"({', '.join(step.axes)})", f"({', '.join(map(str, step.shape))})"]
            for step in found.steps
        ]
        tables.show("Tensors of this attention", ["", "axes", "here"], rows)
        tables.show(
            "The tokens of each query sequence",
            ["sentence", "tokens, padded"],
            [
                [exact.number(at), " ".join(exact.tokens(line))]
                for at, line in enumerate(found.tokens)
            ],
        )
        st.caption(
            f"{100 * found.padding:.0f} % of the positions are padding, which makes all sequences "
            "equally long. The mask hides padding: the largest weight on it is "
            f"{found.on_padding:g}. Sentences of a batch do not affect each other: alone, the "
            f"first one gives the same result, up to {found.apart:.0e}. Elsewhere on this page B "
            "is 1 and is left out."
        )
