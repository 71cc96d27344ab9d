"""Table 1: its formulas at the sizes of the sliders, and multiplications of the real layers."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import streamlit as st

from transformer.analysis.table1.complexity import (
    TABLE_1,
    Count,
    count,
    crossing,
    formulas,
    separable,
)
from transformer.figures.complexity import Law, laws
from transformer.ui.pages.why import Why
from transformer.ui.pages.why.sizes import NAMES, PLACES, see, short, sliders
from transformer.ui.widgets import frame, tables
from transformer.ui.widgets.charts import chart, dark

COUNTED = {"n": 256, "d": 512}
"""Largest sizes that are counted; what is counted is also computed, and must not take long."""
BASE = {"n": 64, "d": 32, "k": 3, "r": 9}
"""Sizes that are doubled one by one."""
WHY = {
    "self-attention": "q·k and the weighted sum of v: twice n²·d. W^Q, W^K, W^V and W^O: 4·n·d².",
    "recurrent": "U reads the state, n·d²; W reads the input, n·d² again.",
    "convolutional": "Nothing else: the kernel is the layer.",
    "restricted": "As in self-attention, over r keys: twice r·n·d, and 4·n·d².",
}


def show() -> None:
    frame.lead_text(
        "Four kinds of layers map n vectors of dimension d to n vectors. Table 1 of the paper "
        "(section 4) compares their **complexity**, their **sequential operations** and the "
        "**maximum path length** between two positions."
    )
    view = sliders("n", "d", "k", "r")
    _evaluated(view)
    _told(view)
    see(
        "Both axes are logarithmic, so a power of n is a straight line whose slope is the "
        "exponent; self-attention has the steepest line. Rings mark where two layers cost the "
        "same, the dotted line marks your n."
    )
    chart(_costs(view), "costs")
    st.header("Operations counted in real layers")
    _counted(view)
    with st.expander("Does the constant stay the same when a size doubles?"):
        _doubled()
    st.caption(
        f"A separable convolution (one kernel per dimension, then one matrix for all dimensions) "
        f"takes k·n·d + n·d² = {short(separable(view.n, view.d, view.k))}. Even "
        "with k = n, according to the paper, this equals self-attention and a position-wise "
        "feed-forward layer together."
    )


def _evaluated(view: Why) -> None:
    found = formulas(view.n, view.d, view.k, view.r)
    rows = []
    for name, order in TABLE_1.items():
        texts = (order.complexity, order.sequential, order.path)
        cells = []
        for text, column in zip(texts, found, strict=True):
            value, least = found[column][name], found[column].min()
            cells += [f"O({text})", short(value) + (" · lowest" if value == least else "")]
        rows.append([NAMES[name], *cells])
    rows[2][-1] += f" (contiguous, O(n / k): {short(view.n / view.k)})"
    heads = ["Layer", "Complexity per layer", "now", "Sequential operations", "now",
             "Maximum path length", "now"]  # fmt: skip
    sizes = f"n = {view.n:,}, d = {view.d:,}, k = {view.k}, r = {view.r}"
    about = f"Table 1 at {sizes}; with the constant in O(·) taken as 1"
    tables.show(about, heads, rows)


def _told(view: Why) -> None:
    costs = formulas(view.n, view.d, view.k, view.r)["cost"]
    ratio = costs["recurrent"] / costs["self-attention"]
    sign = "<" if view.n < view.d else ">" if view.n > view.d else "="
    if ratio == 1:
        said = "self-attention and recurrence cost the same"
    elif ratio > 1:
        said = f"self-attention costs {ratio:,.3g} times less than recurrence"
    else:
        said = f"self-attention costs {1 / ratio:,.3g} times more than recurrence"
    met = crossing("self-attention", "convolutional", view.d, view.k, view.r)
    st.markdown(
        f"**n = {view.n:,} {sign} d = {view.d:,}: {said}.** They meet at n = d, and self-attention "
        f"meets the convolution at n = k·d = {met:,.0f}. Cheapest now: "
        f"**{NAMES[str(costs.idxmin())].lower()}**. Sentences are mostly shorter than d, which is "
        "the paper's first argument. Another is distance: attention connects all positions by a "
        "constant number of operations (see *Paths*)."
    )


def _costs(view: Why) -> object:
    d, k, r = view.d, view.k, view.r
    lengths = np.unique(np.geomspace(2, max(8 * view.n, 8 * d, 8 * k * d), 160).round())
    drawn = [
        Law(NAMES[name], PLACES[name], x=lengths, y=[order.cost(int(n), d, k, r) for n in lengths])
        for name, order in TABLE_1.items()
    ]
    met = []
    for other in ("recurrent", "convolutional", "restricted"):
        n = crossing("self-attention", other, d, k, r)
        if n >= 2:
            sentence = f"self-attention and {NAMES[other].lower()} cost the same at n = {n:,.0f}"
            met.append((n, float(n**2 * d), sentence))
    return laws(
        drawn,
        across="n, length of the sequence",
        down="multiplications, by formula",
        at=(view.n, f"n = {view.n:,}"),
        crossings=met,
        dark=dark(),
    )


def _counted(view: Why) -> None:
    sizes = (min(view.n, COUNTED["n"]), min(view.d, COUNTED["d"]), view.k, view.r)
    costs = formulas(*sizes)["cost"]
    rows = []
    for name in TABLE_1:
        found, cost = counted(name, *sizes), costs[name]
        rows.append(
            [NAMES[name], short(cost), short(found.mixing), f"{found.mixing / cost:.3g}",
             short(found.whole), f"{found.whole / cost:.3g}", WHY[name]]
        )  # fmt: skip
    heads = ["Layer", "Formula", "Mixing alone", "÷ formula", "Whole layer", "÷ formula",
             "Where it comes from"]  # fmt: skip
    n, d, k, r = sizes
    tables.show(f"Multiplications at n = {n:,}, d = {d:,}, k = {k}, r = {r}", heads, rows)
    st.caption(
        "Each layer of `transformer/model/rivals.py` runs once, and every product of matrices on "
        "its way is counted, one multiplication with its addition (PyTorch counts two FLOPs). "
        "Mixing is the part that combines positions. Table 1 counts only that part, not the "
        "projections at each position. Softmax and tanh are not counted."
        + (" Larger layers are counted at these sizes; the constant is the same."
           if (n, d) != (view.n, view.d) else "")
    )  # fmt: skip


def _doubled() -> None:
    rows = []
    for name in TABLE_1:
        for part in ("mixing", "whole"):
            cells = []
            for letter in ("", *BASE):
                # An odd size has an odd one for its double.
                sizes = {
                    key: value * 2 + value % 2 if key == letter else value
                    for key, value in BASE.items()
                }
                cost = TABLE_1[name].cost(sizes["n"], sizes["d"], sizes["k"], sizes["r"])
                cells.append(f"{getattr(counted(name, **sizes), part) / cost:.3g}")
            rows.append([f"{NAMES[name]}, {part}", *cells])
    first = ", ".join(f"{key} = {value}" for key, value in BASE.items())
    heads = ["Counted ÷ formula", first, "2n", "2d", "k = 7", "r = 19"]
    tables.show("The mixing keeps its constant; the whole layer does not", heads, rows)
    st.caption(
        "The projections of attention grow as n·d², Table 1's row as n²·d: against it they weigh "
        "2d/n times as much as the mixing. For short sentences they are most of the layer."
    )


@lru_cache(maxsize=512)
def counted(name: str, n: int, d: int, k: int, r: int) -> Count:
    return count(name, n, d, k, r)
