"""Sequential operations and path lengths of the layers, measured."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pandas as pd
import streamlit as st

from transformer.analysis.table1.paths import STACKS, lengths, path_length, receptive_field, steps
from transformer.figures.complexity import Law, laws, reached
from transformer.ui.pages.why import Why
from transformer.ui.pages.why.sizes import NAMES, PLACES, see, short, sliders
from transformer.ui.widgets import frame, tables
from transformer.ui.widgets.charts import chart, dark

LONGEST = 128
"""Positions of a stack that is measured; with k = 3 it needs a layer for each."""
SHOWN = (4, 8, 16, 32, 64, LONGEST)


def show() -> None:
    frame.lead_text(
        "The shorter the path between two positions, the easier it is to learn a dependency "
        "between them. This page measures the paths of signals and gradients in real layers."
    )
    view = sliders("n", "k", "r")
    n = min(view.n, LONGEST)
    found = pd.concat([_lengths(size, view.k, view.r) for size in sorted({*SHOWN, n})])
    _waiting(found, n)
    _layers(found, n, view)
    st.header(f"Receptive field of position {n}")
    _picture(n, view)
    _rivals(view)


def _waiting(found: pd.DataFrame, n: int) -> None:
    st.header("Sequential operations")
    see("Only the recurrent layer's line rises: each of its steps needs the step before.")
    layers = found[found["chain"].notna()]
    drawn = [
        Law(NAMES[str(name)], PLACES[str(name)], seen_x=list(rows["n"]), seen_y=list(rows["chain"]))
        for name, rows in layers.groupby("layer", sort=False)
    ]
    left, right = st.columns([3, 2], gap="large")
    with left:
        figure = laws(drawn, across="n, length of the sequence", down="longest chain of operations",
                      at=(n, f"n = {n}"), dark=dark())  # fmt: skip
        chart(figure, "chains")
    with right:
        shown = layers[layers["n"].isin([SHOWN[0], n])]
        wide = shown.pivot(index="layer", columns="n", values="chain").loc[list(PLACES)[:4]]
        heads = ["Layer", *(f"n = {size}" for size in wide)]
        rows = [[NAMES[str(name)], *(f"{value:.0f}" for value in row)]
                for name, row in zip(wide.index, wide.to_numpy(), strict=True)]  # fmt: skip
        tables.show("Longest chain in one layer", heads, rows)
        st.caption(
            "Read from PyTorch's autograd graph of one layer: the longest chain in which each "
            "operation needs the result of the one before, including views. Only the chain of the "
            "recurrent layer grows with n: two operations per step, a product and a tanh. The "
            "other layers can compute all positions in parallel."
        )


def _layers(found: pd.DataFrame, n: int, view: Why) -> None:
    st.header("Layers that connect the first and the last position")
    see(
        "Lower is better: a signal passes through fewer layers. Self-attention needs 1 layer for "
        "any length, contiguous kernels a number proportional to n, dilated ones to its logarithm."
    )
    finite = found[np.isfinite(found["measured"]) & (found["measured"] > 0)]
    law = np.unique(np.geomspace(2, max(view.n, 4 * LONGEST), 80).round()).astype(int).tolist()
    drawn = []
    for name in STACKS:
        seen = finite[finite["layer"] == name]
        says = [(size, path_length(name, size, view.k, view.r)) for size in law]
        says = [(x, y) for x, y in says if np.isfinite(y)]
        drawn.append(
            Law(NAMES[name], PLACES[name], [x for x, _ in says], [y for _, y in says],
                list(seen["n"]), list(seen["measured"]))
        )  # fmt: skip
    figure = laws(drawn, across="n, length of the sequence", down="layers",
                  at=(view.n, f"n = {view.n:,}"), dark=dark())  # fmt: skip
    chart(figure, "path-lengths")
    texts = {
        "self-attention": ("1", "O(1)"),
        "recurrent": ("1, of n − 1 steps one after the other", "O(n)"),
        "convolutional": ("⌈(n − 1) / ((k − 1)/2)⌉", "O(n / k)"),
        "restricted": ("⌈(n − 1) / ((r − 1)/2)⌉", "O(n / r)"),
        "dilated": ("⌈log n to the base (k + 1)/2⌉", "O(log_k n)"),
    }
    here = found[found["n"] == n].set_index("layer")
    rows = [
        [NAMES[name], texts[name][1], texts[name][0], short(here["formula"][name]),
         short(here["measured"][name]) + (f", {steps(n)} steps" if name == "recurrent" else "")]
        for name in STACKS
    ]  # fmt: skip
    heads = ["Layer", "Table 1", "Exact formula", "Value", "Measured"]
    tables.show(f"n = {n}, k = {view.k}, r = {view.r}", heads, rows)
    st.caption(
        "Lines are the exact formulas; marks are measured: the smallest number of layers for which "
        "the gradient of the last output with respect to the first input is not zero. A centred "
        "kernel moves information by (k − 1)/2 positions per layer, so the paper's n/k becomes "
        "about 2n/k. A causal kernel moves it by k − 1, and dilations that grow by a factor of k "
        "give exactly log_k n. " + (f"Measured up to n = {LONGEST}." if view.n > LONGEST else "")
    )


def _picture(n: int, view: Why) -> None:
    see(
        "Each row adds one layer. Filled inputs have a non-zero gradient at the output of the last "
        "position; the others cannot affect it, whatever is learned."
    )
    left, right = st.columns(2, gap="large")
    for at, name in enumerate(("self-attention", "recurrent", "convolutional", "dilated",
                               "restricted")):  # fmt: skip
        grid = _reach(name, n, view.k, view.r)
        with (left, right)[at % 2]:
            full = path_length(name, n, view.k, view.r)
            st.markdown(f"**{NAMES[name]}**: {short(full)} layer{'' if full == 1 else 's'}")
            figure = reached(grid, dark=dark())
            figure.update_layout(height=260, margin={"t": 8})
            chart(figure, f"reach-{name}")
    with right:
        st.info(
            "One recurrent layer reaches all earlier positions, but inside it the signal passes "
            f"through {n - 1} steps, each a product and a tanh. This is the path length in Table 1."
        )


def _rivals(view: Why) -> None:
    st.header("ByteNet and ConvS2S")
    linear, logarithmic = (path_length(name, view.n, view.k, view.r)
                           for name in ("convolutional", "dilated"))  # fmt: skip
    st.markdown(
        "Two earlier models (section 2 of the paper). In **ConvS2S** (Gehring et al. "
        "2017) kernels are contiguous, and the operations between two positions grow **linearly** "
        f"with their distance: here {short(linear)} layers for n = {view.n:,}. **ByteNet** "
        "(Kalchbrenner et al. 2016) doubles the dilation from layer to layer, and they grow "
        f"**logarithmically**: {short(logarithmic)} layers. In a Transformer one layer "
        "connects any two positions. The drawback is that attention averages over positions, which "
        "the paper counters with several heads (section 2)."
    )


@lru_cache(maxsize=512)
def _lengths(n: int, k: int, r: int) -> pd.DataFrame:
    """One length at a time: another n leaves the others measured."""
    return lengths([n], k, r)


@lru_cache(maxsize=256)
def _reach(name: str, n: int, k: int, r: int) -> np.ndarray:
    """As deep as it needs, and no deeper than 1 where it never arrives."""
    deep = path_length(name, n, k, r)
    return np.asarray(receptive_field(name, n, int(deep) if np.isfinite(deep) else 2, k, r).numpy())
