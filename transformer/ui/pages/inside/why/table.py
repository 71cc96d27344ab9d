"""Table 1: its formulas at the sizes of the sliders, and multiplications of the real layers."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import streamlit as st

from transformer.analysis.table1.complexity import (
    TABLE_1,
    MultiplicationCount,
    count_multiplications,
    equal_cost_length,
    evaluate_formulas,
    separable_cost,
)
from transformer.figures.complexity import Law, law_lines
from transformer.ui.pages.inside import Inside
from transformer.ui.pages.inside.why.sizes import (
    COLOUR_INDEX,
    NAMES,
    format_count,
    look_for,
    sliders,
)
from transformer.ui.widgets import frame, tables
from transformer.ui.widgets.charts import chart, dark

MAX_COUNTED = {"n": 256, "d": 512}
"""Largest sizes for counting, which runs the layer and takes long for larger ones."""
EXPLANATIONS = {
    "self-attention": "q·k and the weighted sum of v: twice n²·d. W^Q, W^K, W^V and W^O: 4·n·d².",
    "recurrent": "U reads the state, n·d²; W reads the input, n·d² again.",
    "convolutional": "The kernel is the whole layer; there are no projections.",
    "restricted": "As in self-attention, over r keys: twice r·n·d, and 4·n·d².",
}


def show() -> None:
    picture = st.container()
    view = sliders("n", "d", "k", "r")
    with picture:
        _comparison(view)
        chart(_costs(view), "costs")
        look_for(
            "Both axes are logarithmic, so a power of n is a straight line whose slope is the "
            "exponent; self-attention has the steepest line. Rings mark where two layers cost the "
            "same, the dotted line marks your n."
        )
    st.markdown(
        "Four kinds of layers map n vectors of dimension d to n vectors. "
        "Table 1 of the paper (section 4) compares the **complexity** of the layers, their "
        "**sequential operations** and the **maximum path length** between two positions."
    )
    _formula_table(view)
    frame.page_link(
        "pages/inside.py", "What can each layer learn? The race of the layers →", part="race"
    )
    with st.expander("Operations counted in real layers"):
        _counted_table(view)
        st.caption(
            f"A separable convolution (one kernel per dimension, then one matrix for all "
            f"dimensions) takes k·n·d + n·d² = "
            f"{format_count(separable_cost(view.n, view.d, view.k))}. Even with k = n, according "
            "to the paper, this equals self-attention and a position-wise feed-forward layer "
            "together."
        )


def _formula_table(view: Inside) -> None:
    values = evaluate_formulas(view.n, view.d, view.k, view.r)
    rows = []
    for name, order in TABLE_1.items():
        texts = (order.complexity, order.sequential, order.path)
        cells = []
        for text, column in zip(texts, values, strict=True):
            value, lowest = values[column][name], values[column].min()
            cells += [f"O({text})", format_count(value) + (" · lowest" if value == lowest else "")]
        rows.append([NAMES[name], *cells])
    rows[2][-1] += f" (contiguous, O(n / k): {format_count(view.n / view.k)})"
    columns = ["Layer", "Complexity per layer", "Value", "Sequential operations", "Value",
             "Maximum path length", "Value"]  # fmt: skip
    sizes = f"n = {view.n:,}, d = {view.d:,}, k = {view.k}, r = {view.r}"
    caption = f"Table 1 at {sizes}; with the constant in O(·) taken as 1"
    tables.show(caption, columns, rows)


def _comparison(view: Inside) -> None:
    costs = evaluate_formulas(view.n, view.d, view.k, view.r)["cost"]
    ratio = costs["recurrent"] / costs["self-attention"]
    relation = "<" if view.n < view.d else ">" if view.n > view.d else "="
    lowest = [NAMES[str(name)].lower() for name, cost in costs.items() if cost == costs.min()]
    if f"{ratio:.3g}" == "1" or f"{1 / ratio:.3g}" == "1":
        equality = "the same" if ratio == 1 else "nearly the same"
        text = f"self-attention and recurrence cost {equality}"
    elif ratio > 1:
        text = f"self-attention costs {ratio:,.3g} times less than recurrence"
    else:
        text = f"self-attention costs {1 / ratio:,.3g} times more than recurrence"
    crossing_length = equal_cost_length("self-attention", "convolutional", view.d, view.k, view.r)
    st.markdown(
        f"**n = {view.n:,} {relation} d = {view.d:,}: {text}.** They meet at n = d, and "
        f"self-attention meets the convolution at n = k·d = {crossing_length:,.0f}. Lowest cost "
        f"here: **{', '.join(lowest)}**. Sentences are mostly shorter than d, "
        "which is the paper's first argument. Another is path length: attention connects all "
        "positions with a constant number of operations (see *Paths*)."
    )


def _costs(view: Inside) -> object:
    d, k, r = view.d, view.k, view.r
    lengths = np.unique(np.geomspace(2, max(8 * view.n, 8 * d, 8 * k * d), 160).round())
    curves = [
        Law(
            NAMES[name],
            COLOUR_INDEX[name],
            x=lengths,
            y=[order.cost(int(n), d, k, r) for n in lengths],
        )
        for name, order in TABLE_1.items()
    ]
    crossings = []
    for layer in ("recurrent", "convolutional", "restricted"):
        n = equal_cost_length("self-attention", layer, d, k, r)
        if n >= 2:
            sentence = f"self-attention and {NAMES[layer].lower()} cost the same at n = {n:,.0f}"
            crossings.append((n, float(n**2 * d), sentence))
    return law_lines(
        curves,
        x_title="n, sequence length",
        y_title="multiplications, by formula",
        marked_x=(view.n, f"n = {view.n:,}"),
        crossings=crossings,
        dark=dark(),
    )


def _counted_table(view: Inside) -> None:
    sizes = (min(view.n, MAX_COUNTED["n"]), min(view.d, MAX_COUNTED["d"]), view.k, view.r)
    costs = evaluate_formulas(*sizes)["cost"]
    rows = []
    for name in TABLE_1:
        counts, cost = cached_count(name, *sizes), costs[name]
        rows.append(
            [NAMES[name], format_count(cost),
             format_count(counts.mixing), f"{counts.mixing / cost:.3g}",
             format_count(counts.total), f"{counts.total / cost:.3g}", EXPLANATIONS[name]]
        )  # fmt: skip
    columns = ["Layer", "Formula", "Mixing alone", "÷ formula", "Whole layer", "÷ formula",
             "Where it comes from"]  # fmt: skip
    n, d, k, r = sizes
    tables.show(f"Multiplications at n = {n:,}, d = {d:,}, k = {k}, r = {r}", columns, rows)
    st.caption(
        "Each layer of `transformer/model/table1_layers.py` runs once, and every matrix product in "
        "it is counted, one multiplication with its addition (PyTorch counts two FLOPs). "
        "Mixing is the part that combines positions. Table 1 counts only that part, not the "
        "projections at each position. Softmax and tanh are not counted."
        + (" Larger layers are counted at these sizes; the constant is the same."
           if (n, d) != (view.n, view.d) else "")
    )  # fmt: skip


@lru_cache(maxsize=512)
def cached_count(name: str, n: int, d: int, k: int, r: int) -> MultiplicationCount:
    return count_multiplications(name, n, d, k, r)
