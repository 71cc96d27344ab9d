"""Two extras of an open box: the network as convolutions, and the attention as a batch."""

from __future__ import annotations

import streamlit as st

from transformer.analysis.inside import Batched, Convolved, batched, convolved
from transformer.inference import Trace
from transformer.ui import state
from transformer.ui.pages.inside.stops import Stop
from transformer.ui.services.models import Model
from transformer.ui.services.remembered import remembered
from transformer.ui.widgets import exact, tables

DIMENSIONS = 6
"""Shown of a row, in both forms."""
_DIGITS = 6


def show(model: Model, stop: Stop, trace: Trace) -> None:
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
            [f"dimension {at}", *(f"{form[row, at]:.{_DIGITS}f}" for form in
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


@remembered()
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
