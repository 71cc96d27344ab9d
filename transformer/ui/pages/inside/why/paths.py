"""Path lengths and sequential operations of the layers, measured."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pandas as pd
import streamlit as st
from plotly.graph_objects import Figure

from transformer.analysis.table1.paths import (
    STACKS,
    path_length,
    path_length_table,
    recurrent_steps,
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

MAX_POSITIONS = 128
"""Maximum length in measured stacks; with k = 3 a stack needs one layer per position."""
MEASURED_LENGTHS = (4, 8, 16, 32, 64, MAX_POSITIONS)
FORMULAS = {
    "self-attention": ("O(1)", "1"),
    "recurrent": ("O(n)", "1 layer of n − 1 sequential steps"),
    "convolutional": ("O(n / k)", "⌈(n − 1) / ((k − 1)/2)⌉"),
    "restricted": ("O(n / r)", "⌈(n − 1) / ((r − 1)/2)⌉"),
    "dilated": ("O(log_k n)", "⌈log n to the base (k + 1)/2⌉"),
}
"""Maximum path length in Table 1, and the exact number of layers."""


def show() -> None:
    """Draw how many layers connect the first position to the last, by formula and measured."""
    frame.lead_text(
        "How far is it from the first word to the last? With self-attention one layer, at any "
        "distance."
    )
    picture = st.container()
    view = sliders("n", "k", "r")
    n = min(view.n, MAX_POSITIONS)
    measurements = pd.concat(
        [_cached_lengths(size, view.k, view.r) for size in sorted({*MEASURED_LENGTHS, n})]
    )
    with picture:
        chart(_path_lengths(measurements, view), "path-lengths")
        look_for(
            "Lower is better: a signal passes through fewer layers. Self-attention needs 1 layer "
            "for any length, contiguous kernels a number proportional to n, dilated ones to its "
            "logarithm."
        )
    st.markdown(
        "The shorter the path between two positions, the easier it is to learn a dependency "
        "between them. All paths of signals and gradients here are measured in real layers."
    )
    with st.expander("Formulas and measured numbers"):
        _table(measurements[measurements["n"] == n].set_index("layer"), n, view)
        _notes(view)


def _notes(view: Inside) -> None:
    st.caption(
        "Lines are the exact formulas; marks are measured: the smallest number of layers for which "
        "the gradient of the last output with respect to the first input is not zero. A centred "
        "kernel moves information by (k − 1)/2 positions per layer, so the paper's n/k becomes "
        "about 2n/k. Contiguous kernels are those of ConvS2S (Gehring et al. 2017), dilated ones "
        "those of ByteNet (Kalchbrenner et al. 2016). "
        + (f"Measured up to n = {MAX_POSITIONS}." if view.n > MAX_POSITIONS else "")
    )
    st.caption(
        "Sequential operations are read from PyTorch's autograd graph of one layer: the longest "
        "chain in which each operation needs the result of the one before, including views. Only "
        "that of the recurrent layer grows with n: two operations per step, a product and a tanh."
    )


def _path_lengths(measurements: pd.DataFrame, view: Inside) -> Figure:
    finite = measurements[np.isfinite(measurements["measured"]) & (measurements["measured"] > 0)]
    lengths = np.unique(np.geomspace(2, max(view.n, 4 * MAX_POSITIONS), 80).round()).astype(int)
    laws = []
    for name in STACKS:
        measured = finite[finite["layer"] == name]
        formula = np.array([path_length(name, n, view.k, view.r) for n in lengths.tolist()])
        laws.append(
            Law(
                NAMES[name],
                COLOUR_INDEX[name],
                x=lengths[np.isfinite(formula)],
                y=formula[np.isfinite(formula)],
                seen_x=[*measured["n"]],
                seen_y=[*measured["measured"]],
            )
        )
    return law_lines(
        laws,
        x_title="n, sequence length",
        y_title="layers",
        marked_x=(view.n, f"n = {view.n:,}"),
        dark=dark(),
    )


def _table(current: pd.DataFrame, n: int, view: Inside) -> None:
    rows = []
    for name, (order, formula) in FORMULAS.items():
        measured = format_count(current["measured"][name])
        if name == "recurrent":
            measured = f"{measured}, {recurrent_steps(n)} steps"
        rows.append(
            [
                NAMES[name],
                order,
                formula,
                format_count(current["formula"][name]),
                measured,
                format_count(current["chain"][name]),
            ]
        )
    columns = ["Layer", "Maximum path length", "Exact number of layers", "Value", "Measured",
               "Sequential operations"]  # fmt: skip
    tables.show(f"n = {n}, k = {view.k}, r = {view.r}", columns, rows)


@lru_cache(maxsize=512)
def _cached_lengths(n: int, k: int, r: int) -> pd.DataFrame:
    """Return the measurements of one length, cached by length."""
    return path_length_table([n], k, r)
