"""How many operations must wait, and how many layers a signal needs: both measured."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pandas as pd
import streamlit as st

from transformer.analysis.table1.paths import STACKS, lengths, path_length, receptive_field, steps
from transformer.figures.complexity import Law, laws, reached
from transformer.ui import frame
from transformer.ui.kit import tables
from transformer.ui.kit.charts import chart, dark
from transformer.ui.why import Why
from transformer.ui.why.sizes import NAMES, PLACES, see, short, sliders

LONGEST = 128
"""Positions of a stack that is measured; with k = 3 it needs a layer for each."""
SHOWN = (4, 8, 16, 32, 64, LONGEST)


def show() -> None:
    frame.lead(
        "The shorter the way between two words, the easier it is to learn that they belong "
        "together: for a signal forward, and for the gradient back. Both ways are measured here in "
        "the layers themselves."
    )
    view = sliders("n", "k", "r")
    n = min(view.n, LONGEST)
    found = pd.concat([_lengths(size, view.k, view.r) for size in sorted({*SHOWN, n})])
    _waiting(found, n)
    _layers(found, n, view)
    st.header(f"What position {n} has heard of")
    _picture(n, view)
    _rivals(view)


def _waiting(found: pd.DataFrame, n: int) -> None:
    st.header("Operations that wait for each other")
    see("One line climbs: the recurrent layer's steps wait for each other. The others lie flat.")
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
            "operation needs the result of the one before, views included. Only the recurrent "
            "layer's grows with n: two a step, a product and a tanh. In the others a machine with "
            "enough hands does all positions at once."
        )


def _layers(found: pd.DataFrame, n: int, view: Why) -> None:
    st.header("Layers until the last position hears of the first")
    see(
        "The lower, the fewer layers a signal must pass. Self-attention stays at 1 for any length, "
        "contiguous kernels climb with n, dilated ones only with its logarithm."
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
    heads = ["Layer", "Table 1", "Without a hidden constant", "gives", "Measured"]
    tables.show(f"n = {n}, k = {view.k}, r = {view.r}", heads, rows)
    st.caption(
        "Lines are the exact formulas, marks are measured: the fewest layers after which the "
        "gradient of the last position's output with respect to the first input is not zero. A "
        "centred kernel carries (k − 1)/2 positions a layer, so that the paper's n/k becomes about "
        "2n/k. A kernel that looks only back carries k − 1, and its dilations can grow by k "
        "itself, which gives log_k n as it stands. "
        + (f"Measured up to n = {LONGEST}." if view.n > LONGEST else "")
    )


def _picture(n: int, view: Why) -> None:
    see(
        "Each row is a stack one layer deeper; filled is every input whose gradient at the last "
        "position's output is not zero. A position further back than the colour cannot matter to "
        "it, whatever is learned."
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
            "The recurrent layer needs one layer, and hears of everything before it; but inside "
            f"that layer the signal goes through {n - 1} steps, each a product and a tanh. That is "
            "the path Table 1 counts."
        )


def _rivals(view: Why) -> None:
    st.header("ByteNet and ConvS2S")
    linear, logarithmic = (path_length(name, view.n, view.k, view.r)
                           for name in ("convolutional", "dilated"))  # fmt: skip
    st.markdown(
        "Two models that came before (section 2 of the paper). In **ConvS2S** (Gehring et al. "
        "2017) kernels are contiguous, and the operations between two positions grow **linearly** "
        f"with their distance: here {short(linear)} layers for n = {view.n:,}. **ByteNet** "
        "(Kalchbrenner et al. 2016) doubles the dilation from layer to layer, and they grow "
        f"**logarithmically**: {short(logarithmic)} layers. In a Transformer it is one, wherever "
        "the two words stand. The price, says the paper (section 2), is that attention averages "
        "over positions; many heads are its answer."
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
