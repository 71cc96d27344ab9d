"""Sequential operations and path lengths of the layers, measured."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import pandas as pd
import streamlit as st
from plotly.graph_objects import Figure

from transformer.analysis.table1.paths import (
    STACKS,
    path_length,
    path_length_table,
    receptive_field,
    recurrent_field,
    recurrent_steps,
)
from transformer.figures.complexity import Law, law_lines, reachable_positions
from transformer.ui.pages.inside import Inside
from transformer.ui.pages.inside.why.sizes import (
    COLOUR_INDEX,
    NAMES,
    format_count,
    look_for,
    sliders,
)
from transformer.ui.services.memory_cache import cached
from transformer.ui.widgets import frame, tables
from transformer.ui.widgets.charts import chart, dark

MAX_POSITIONS = 128
"""Maximum length in measured stacks; with k = 3 a stack needs one layer per position."""
MEASURED_LENGTHS = (4, 8, 16, 32, 64, MAX_POSITIONS)


def show() -> None:
    frame.lead_text(
        "How far is it from the first word to the last? With self-attention one step, at any "
        "distance. Move **n** below the pictures to change the length."
    )
    picture = st.container()
    view = sliders("n", "k", "r")
    n = min(view.n, MAX_POSITIONS)
    with picture:
        _receptive_fields(n, view)
    look_for(
        "Each row adds one layer, or one step inside the recurrent layer. Filled inputs have a "
        f"non-zero gradient at the output of position {n}, the last one; the others cannot affect "
        "it, whatever is learned."
    )
    st.markdown(
        "The shorter the path between two positions, the easier it is to learn a dependency "
        "between them. All paths of signals and gradients here are measured in real layers."
    )
    measurements = pd.concat(
        [_cached_lengths(size, view.k, view.r) for size in sorted({*MEASURED_LENGTHS, n})]
    )
    _layers(measurements, n, view)
    _sequential_operations(measurements, n)
    _earlier_models(view)


def _sequential_operations(measurements: pd.DataFrame, n: int) -> None:
    st.header("Sequential operations")
    look_for("Only the recurrent layer's line rises: each of its steps needs the step before.")
    layers = measurements[measurements["chain"].notna()]
    curves = [
        Law(
            NAMES[str(name)],
            COLOUR_INDEX[str(name)],
            seen_x=list(rows["n"]),
            seen_y=list(rows["chain"]),
        )
        for name, rows in layers.groupby("layer", sort=False)
    ]
    left_column, right_column = st.columns([3, 2], gap="large")
    with left_column:
        figure = law_lines(
            curves,
            x_title="n, sequence length",
            y_title="longest chain of operations",
            marked_x=(n, f"n = {n}"),
            dark=dark(),
        )
        chart(figure, "chains")
    with right_column:
        selected = layers[layers["n"].isin([MEASURED_LENGTHS[0], n])]
        pivoted = selected.pivot(index="layer", columns="n", values="chain").loc[
            list(COLOUR_INDEX)[:4]
        ]
        columns = ["Layer", *(f"n = {size}" for size in pivoted)]
        rows = [[NAMES[str(name)], *(f"{value:.0f}" for value in row)]
                for name, row in zip(pivoted.index, pivoted.to_numpy(), strict=True)]  # fmt: skip
        tables.show("Longest chain in one layer", columns, rows)
        st.caption(
            "Read from PyTorch's autograd graph of one layer: the longest chain in which each "
            "operation needs the result of the one before, including views. Only the chain of the "
            "recurrent layer grows with n: two operations per step, a product and a tanh. The "
            "other layers can compute all positions in parallel."
        )


def _layers(measurements: pd.DataFrame, n: int, view: Inside) -> None:
    st.header("Layers that connect the first and the last position")
    look_for(
        "Lower is better: a signal passes through fewer layers. Self-attention needs 1 layer for "
        "any length, contiguous kernels a number proportional to n, dilated ones to its logarithm."
    )
    finite = measurements[np.isfinite(measurements["measured"]) & (measurements["measured"] > 0)]
    formula_lengths = (
        np.unique(np.geomspace(2, max(view.n, 4 * MAX_POSITIONS), 80).round()).astype(int).tolist()
    )
    curves = []
    for name in STACKS:
        measured_points = finite[finite["layer"] == name]
        formula_points = [
            (size, path_length(name, size, view.k, view.r)) for size in formula_lengths
        ]
        formula_points = [(x, y) for x, y in formula_points if np.isfinite(y)]
        curves.append(
            Law(NAMES[name], COLOUR_INDEX[name],
                [x for x, _ in formula_points], [y for _, y in formula_points],
                list(measured_points["n"]), list(measured_points["measured"]))
        )  # fmt: skip
    figure = law_lines(curves, x_title="n, sequence length", y_title="layers",
                  marked_x=(view.n, f"n = {view.n:,}"), dark=dark())  # fmt: skip
    chart(figure, "path-lengths")
    texts = {
        "self-attention": ("1", "O(1)"),
        "recurrent": ("1 layer of n − 1 sequential steps", "O(n)"),
        "convolutional": ("⌈(n − 1) / ((k − 1)/2)⌉", "O(n / k)"),
        "restricted": ("⌈(n − 1) / ((r − 1)/2)⌉", "O(n / r)"),
        "dilated": ("⌈log n to the base (k + 1)/2⌉", "O(log_k n)"),
    }
    current = measurements[measurements["n"] == n].set_index("layer")
    rows = [
        [NAMES[name], texts[name][1], texts[name][0], format_count(current["formula"][name]),
         format_count(current["measured"][name])
         + (f", {recurrent_steps(n)} steps" if name == "recurrent" else "")]
        for name in STACKS
    ]  # fmt: skip
    columns = ["Layer", "Table 1", "Exact formula", "Value", "Measured"]
    tables.show(f"n = {n}, k = {view.k}, r = {view.r}", columns, rows)
    st.caption(
        "Lines are the exact formulas; marks are measured: the smallest number of layers for which "
        "the gradient of the last output with respect to the first input is not zero. A centred "
        "kernel moves information by (k − 1)/2 positions per layer, so the paper's n/k becomes "
        "about 2n/k. A causal kernel moves it by k − 1, and dilations that grow by a factor of k "
        "give exactly log_k n. "
        + (f"Measured up to n = {MAX_POSITIONS}." if view.n > MAX_POSITIONS else "")
    )


def _receptive_fields(n: int, view: Inside) -> None:
    """Draw the receptive field of the last position for each layer, self-attention first."""
    names = ("self-attention", "recurrent", "convolutional", "dilated", "restricted")
    columns = [column for _ in range(2) for column in st.columns(3, gap="medium")]
    for name, column in zip(names, columns, strict=False):
        with column:
            n_layers = path_length(name, n, view.k, view.r)
            title = "**{name}**: 1 layer" if n_layers == 1 else "**{name}**: {count} layers"
            if not math.isfinite(n_layers):
                title = "**{name}**: no number of layers"
            if name == "recurrent":
                title = "**{name}**: {steps} steps in 1 layer"
            st.markdown(
                title.format(
                    name=NAMES[name], count=format_count(n_layers), steps=recurrent_steps(n)
                )
            )
            figure = _receptive_field(name, n, view.k, view.r, dark())
            chart(figure, f"reach-{name}")
    with columns[-1]:
        st.info(
            "One recurrent layer reaches all earlier positions, but inside it the signal passes "
            f"through {n - 1} steps, each a product and a tanh. This is the path length in Table 1."
        )


def _earlier_models(view: Inside) -> None:
    st.header("ByteNet and ConvS2S")
    linear, logarithmic = (path_length(name, view.n, view.k, view.r)
                           for name in ("convolutional", "dilated"))  # fmt: skip
    here = (
        f"here {format_count(linear)} and {format_count(logarithmic)} layers for n = {view.n:,}"
        if view.k > 1
        else "a kernel of size 1 connects no positions in either"
    )
    st.markdown(
        "Two earlier models (section 2 of the paper). In **ConvS2S** (Gehring et al. "
        "2017) kernels are contiguous, and the operations between two positions grow **linearly** "
        "with their distance. **ByteNet** (Kalchbrenner et al. 2016) doubles the dilation from "
        f"layer to layer, and they grow **logarithmically**: {here}. In a Transformer one layer "
        "connects any two positions. The drawback is that attention averages over positions, which "
        "the paper counters with several heads (section 2)."
    )


@lru_cache(maxsize=512)
def _cached_lengths(n: int, k: int, r: int) -> pd.DataFrame:
    """Return the measurements of one length, cached by length."""
    return path_length_table([n], k, r)


@cached()
def _receptive_field(name: str, n: int, k: int, r: int, is_dark: bool) -> Figure:
    """Draw the receptive field of as many layers as connect all positions, or of two layers if no
    number does; of as many steps for the recurrent layer."""
    if name == "recurrent":
        grid, unit = recurrent_field(n), "steps"
    else:
        depth = path_length(name, n, k, r)
        n_layers = int(depth) if np.isfinite(depth) else 2
        grid, unit = receptive_field(name, n, n_layers, k, r), "layers"
    figure = reachable_positions(grid.numpy(), unit, dark=is_dark)
    figure.update_layout(height=165, margin={"t": 8})
    return figure
