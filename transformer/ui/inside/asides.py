"""Below an open box, for those who ask: the network as convolutions, the attention as a batch."""

from __future__ import annotations

import streamlit as st

from transformer.analysis.inside import Batched, Convolved, batched, convolved
from transformer.inference import Trace
from transformer.ui import state
from transformer.ui.inside.stops import Stop
from transformer.ui.kit import tables
from transformer.ui.kit.remembered import remembered
from transformer.ui.models import Model

DIMENSIONS = 6
"""Shown of a row, in both forms."""
_DIGITS = 6


def show(model: Model, stop: Stop, trace: Trace) -> None:
    """What belongs to the open box, folded; it is worked out when somebody unfolds it."""
    if stop.box.block == "ffn":
        if st.toggle("The same as two convolutions", key="inside-convolutions"):
            _convolutions(convolved(model.translator.model, trace, _path(stop)), trace, stop)
    elif stop.attention and st.toggle("As a batch: B sentences, h heads", key="inside-batch"):
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
            "Section 3.3 says it in one more way: as two convolutions whose kernel sees one "
            "position. The weights are the same, with an axis of length 1 behind them: "
            f"{first} and {second} (out, in, kernel). Here `torch.nn.functional.conv1d` runs over "
            "this sentence, the dimensions its channels."
        )
        cells = [
            [f"dimension {at}", *(f"{form[row, at]:.{_DIGITS}f}" for form in
                                  (found.linear, found.convolved))]
            for at in range(min(DIMENSIONS, found.linear.shape[1]))
        ]  # fmt: skip
        about = f"What the network says at “{tokens[row]}”, its first numbers"
        tables.show(about, ["", "two products", "two convolutions"], cells)
        rows, wide = found.linear.shape
        st.caption(
            f"Over all {rows} × {wide} numbers the two forms differ by at most {found.apart:.0e}, "
            "which is rounding. A kernel of 1 has no neighbours: each position convolved by itself "
            f"gives the same, to {found.alone:.0e}. That is what “position-wise” means."
        )


@remembered()
def _batched(model: Model, sources: tuple[str, ...], attention: str) -> Batched:
    translator = model.translator
    said = [done.text for done in translator.translate_batch(sources)]
    return batched(translator, sources, said, attention)


def _batch(found: Batched) -> None:
    with st.container(border=True, key="inside-aside"):
        st.markdown(
            "A machine computes many sentences at once. Then every tensor has an axis more in "
            "front: **B** sentences, **h** heads, **L** places that ask and **S** that are asked "
            f"(in self-attention L = S). Here B = {len(found.tokens)}: your sentence, and "
            f"{len(found.tokens) - 1} more of the examples."
        )
        rows = [
            [step.what, f"({', '.join(step.axes)})", f"({', '.join(map(str, step.shape))})"]
            for step in found.steps
        ]
        tables.show("Tensors of this attention, as they were", ["", "axes", "here"], rows)
        tables.show(
            "What is asked, sentence by sentence",
            ["sentence", "its pieces, padded"],
            [[str(at), " ".join(line)] for at, line in enumerate(found.tokens)],
        )
        st.caption(
            f"{100 * found.padding:.0f} % of the places are padding, `<pad>`, so that all rows are "
            f"as long. The mask hides them: the greatest weight on one is {found.on_padding:g}. "
            "And nothing passes from sentence to sentence: alone, the first one comes out the "
            f"same, to {found.apart:.0e}. Elsewhere on this page B is 1, and left out."
        )
