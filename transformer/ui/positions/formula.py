"""The formula of section 3.5: its matrix, its waves, its dot products, its shifts."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import streamlit as st

from transformer.analysis import positions
from transformer.figures.clocks import clock_hands
from transformer.figures.positions import Curve, lines, table
from transformer.ui import state, trace_cache
from transformer.ui.kit import exact, tables
from transformer.ui.kit.callbacks import follows
from transformer.ui.kit.charts import chart, dark
from transformer.ui.models import Model
from transformer.ui.positions import Positions
from transformer.ui.positions.sides import side, tokens

ROWS, MOST_ROWS = 48, 72
REACH = 128
"""Positions that waves and distances are drawn over."""
MOST_WAVES = 6
STARTS = (0, 7, 40, 200)
"""Positions that dot products are taken from."""
PLACES = 512
"""Positions that a shift is checked on."""
CORNER = 16
"""Dimensions of M_k that are drawn."""
DIALS = 4
SAID = {
    "sinusoidal": "This model adds sines and cosines: a formula, nothing learned.",
    "learned": "This model learned these vectors, one for each place, as it learned its words.",
    "none": "This model adds nothing: it was trained without positions, so every number is 0.",
}


def matrix(model: Model) -> None:
    """PE(pos, dim) with the sentence on it."""
    st.markdown(
        "A row is what is added to the word at that place: the clocks, all of them, as numbers. "
        "Fast ones stand at the left, where neighbours differ; at the right hardly anything turns."
    )
    which = side()
    reading = trace_cache.read(model, state.view(Positions))
    words = exact.tokens(tokens(reading.trace, which))
    config = model.translator.model.config
    rows = min(MOST_ROWS, max(ROWS, len(words)))
    if config.positions == "learned":
        rows = min(rows, config.max_len)
    labels = [
        f"{at} {words[at]}" if at < len(words) else str(at) if at % 8 == 0 else ""
        for at in range(rows)
    ]
    values = positions.table(model.translator.model, which, rows)
    chart(
        table(
            values, labels, down="position", across="dimension", what="added", dark=dark(),
            limit=1.0 if config.positions == "sinusoidal" else None,
        ),
        "positions-matrix",
    )  # fmt: skip
    st.caption(
        f"{SAID[config.positions]} (Section 3.5.) A row is what the first layer is given for a "
        f"place: {config.d_model} numbers, the same whatever word stands there. Your sentence has "
        f"{len(words)} pieces here"
        + (
            f"; the first {rows} are drawn."
            if len(words) > rows
            else "; below it the places go on."
        )
    )
    sine, cosine = st.columns(2)
    sine.latex(r"PE_{(pos,\,2i)}=\sin\frac{pos}{10000^{2i/d_{model}}}")
    cosine.latex(r"PE_{(pos,\,2i+1)}=\cos\frac{pos}{10000^{2i/d_{model}}}")


def waves(model: Model) -> None:
    """Single dimensions over the positions."""
    width = model.translator.model.config.d_model
    lengths = positions.wavelengths(width)
    chosen = _dimensions(width)
    st.markdown(
        "Look down one **column** of the matrix: a wave. Fast waves tell neighbours apart, slow "
        f"ones tell early from late. The wavelengths grow from 2π = {lengths[0]:.2f} places to "
        f"**{lengths[-1]:,.0f}**, just below 10000·2π."
    )
    st.multiselect(
        "Dimensions",
        range(width),
        max_selections=MOST_WAVES,
        format_func=lambda dim: f"{dim} ({'cosine' if dim % 2 else 'sine'})",
        **follows(
            "positions-waves", chosen, lambda dims: state.change(waves=",".join(map(str, dims)))
        ),
    )
    fine = np.arange(0, REACH, 0.125)
    rows = positions.sinusoidal(REACH, width)
    curves = []
    for dim in chosen:
        angle = fine * 2 * np.pi / lengths[dim // 2]
        wave = np.cos(angle) if dim % 2 else np.sin(angle)
        curves.append(Curve(f"dimension {dim}", fine, wave))
    chart(lines(curves, across="position", down="PE", dark=dark()), "positions-waves-drawn")
    tables.show(
        f"d_model = {width}",
        ["Dimension", "Function", "Wavelength in places", "At 0, 1, 2, 3"],
        [
            [
                str(dim),
                f"{'cos' if dim % 2 else 'sin'}(pos / 10000^({dim - dim % 2}/{width}))",
                f"{lengths[dim // 2]:,.2f}",
                ", ".join(f"{value:.3f}" for value in rows[:4, dim]),
            ]
            for dim in chosen
        ],
    )


def _dimensions(width: int) -> list[int]:
    """The dimensions of the address, also what the widget shows.

    Raises:
        ValueError: for one that there is not.
    """
    written = state.view(Positions).waves
    try:
        found = (
            [int(part) for part in written.split(",")] if written else [0, width // 4, width // 2]
        )
    except ValueError:
        found = [-1]
    if not all(0 <= dim < width for dim in found) or len(found) > MOST_WAVES:
        raise ValueError(
            f"The address has waves={written!r}; it must be up to {MOST_WAVES} dimensions from 0 "
            f'to {width - 1}, like "0,{width // 4}".'
        )
    return list(dict.fromkeys(found))


def distance(model: Model) -> None:
    """PE(p) · PE(p + k) against k."""
    width = model.translator.model.config.d_model
    st.markdown(
        "How alike are two places? Multiply their vectors: the **dot product** depends on how far "
        "apart they are, and not on where they stand."
    )
    st.latex(r"PE_{p}\cdot PE_{p+k}=\sum_{i}\cos(\omega_i\,k),\quad \omega_i=10000^{-2i/d_{model}}")
    k = np.arange(REACH + 1)
    closed = positions.by_distance(width, k)
    rows = positions.sinusoidal(max(STARTS) + REACH + 1, width)
    curves, worst = [Curve("Σ cos(ω k)", k, closed)], 0.0
    for number, start in enumerate(STARTS):
        found = rows[start : start + REACH + 1] @ rows[start]
        worst = max(worst, float(np.abs(found - closed).max()))
        every = slice(number * 2, None, 2 * len(STARTS))  # so that no mark hides another
        curves.append(Curve(f"measured from p = {start}", k[every], found[every], points=True))
    chart(
        lines(curves, across="distance k (places)", down="dot product", dark=dark()),
        "positions-distance",
    )
    st.caption(
        f"At distance 0 it is d_model/2 = {width // 2}. The closed form and "
        f"{len(STARTS)}·{REACH + 1} measured products differ by {worst:.1e} at most. The curve "
        "falls with the distance, though not at every step, and it is the same to the left and to "
        "the right: what tells before from after are W^Q and W^K."
    )


def shift(model: Model) -> None:
    """M_k, drawn, and checked on every position."""
    width = model.translator.model.config.d_model
    st.markdown(
        "The paper chose sines because of this: to go **k places on** is one linear map, the same "
        "from every place. Each pair of sine and cosine is the hand of a clock, and M_k turns it."
    )
    law, block = st.columns(2)
    law.latex(r"PE_{pos+k}=M_k\,PE_{pos}")
    block.latex(
        r"\begin{pmatrix}\cos\omega_i k&\sin\omega_i k\\"
        r"-\sin\omega_i k&\cos\omega_i k\end{pmatrix}\text{ for each pair}"
    )
    k = steps_on()
    count, single, double = _checked(width, k)
    with st.container(horizontal=True, key="figures"):
        st.metric("Places checked", f"{count}")
        st.metric("Largest error, float32", f"{single:.1e}")
        st.metric("Largest error, float64", f"{double:.1e}")
    _hands(width, k)
    corner = min(CORNER, width)
    st.markdown(f"**M_k**, its first {corner} of {width} rows and columns")
    names = [str(dim) for dim in range(corner)]
    chart(
        table(
            positions.shift_matrix(k, width)[:corner, :corner], names, names, limit=1.0,
            down="to dimension", across="from dimension", what="M_k", dark=dark(),
        ),
        "positions-shift",
    )  # fmt: skip
    st.caption(
        "Everything off the blocks is 0. At k = 0 nothing turns. The fast pairs at the top left "
        "turn by k radians, the slow ones further down hardly at all."
    )


@lru_cache(maxsize=256)
def _checked(width: int, k: int) -> tuple[int, float, float]:
    """How many places M_k was tried on, and its largest error in float32 and in float64."""
    rows = positions.sinusoidal(PLACES, width)
    single, double = (positions.shift_errors(each, k) for each in (rows.astype(np.float32), rows))
    return len(double), float(single.max()), float(double.max())


def steps_on() -> int:
    """The k of a shift, to be chosen here."""
    st.slider(**state.bounded("shift"))
    return state.view(Positions).shift


def _hands(width: int, k: int) -> None:
    """The hands of some pairs at two places, before and after: the turn is the same."""
    pairs = [number * width // (4 * DIALS) for number in range(DIALS)]
    for start in (abs(k), abs(k) + 20):
        here, there = (positions.sinusoidal(1, width, at)[0] for at in (start, start + k))
        one, two = (row.reshape(-1, 2)[pairs] for row in (here, there))
        st.markdown(f"From place **{start}** to place **{start + k}**")
        chart(
            clock_hands(
                one,
                two,
                [f"pair {pair}" for pair in pairs],
                names=(f"place {start}", f"place {start + k}"),
                dark=dark(),
            ),
            f"positions-hands-{start - abs(k)}",
        )
