"""The sinusoids of section 3.5: matrix, waves, dot products and shifts."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import streamlit as st

from transformer.analysis import positions
from transformer.figures.clocks import clock_hands
from transformer.figures.positions import Curve, lines, table
from transformer.ui import state
from transformer.ui.pages.positions import Positions
from transformer.ui.pages.positions.sides import side, tokens
from transformer.ui.services import trace_cache
from transformer.ui.services.models import Model
from transformer.ui.widgets import display_names, tables
from transformer.ui.widgets.callbacks import controlled
from transformer.ui.widgets.charts import chart, dark

MIN_ROWS, MAX_ROWS = 48, 72
MAX_DISTANCE = 128
"""Greatest distance in the figure of dot products, and number of positions in that of waves."""
MAX_WAVES = 6
START_POSITIONS = (0, 7, 40, 200)
"""Positions from which dot products are measured."""
CHECKED_POSITIONS = 512
"""Number of positions on which a shift is checked."""
SHOWN_DIMENSIONS = 16
"""Number of rows and columns of M_k in the figure."""
SHOWN_PAIRS = 4
CAPTIONS = {
    "sinusoidal": "This model uses sinusoids, which are not learned.",
    "learned": "This model learned these vectors, one for each position.",
    "none": "This model was trained without positions, so every number is 0.",
}


def matrix(model: Model) -> None:
    """Draw PE(pos, dim) with the tokens of the sentence."""
    st.markdown(
        "Each row is the vector that is added to the embedding at that position. Dimensions on the "
        "left change quickly from position to position, those on the right slowly."
    )
    stack_side = side()
    cached_trace = trace_cache.read(model, state.view(Positions))
    words = display_names.tokens(tokens(cached_trace.trace, stack_side))
    config = model.translator.model.config
    rows = min(MAX_ROWS, max(MIN_ROWS, len(words)))
    if config.positions == "learned":
        rows = min(rows, config.max_len)
    labels = [
        f"{display_names.number(position)} {words[position]}"
        if position < len(words)
        else display_names.number(position)
        if position % 8 == 0
        else ""
        for position in range(rows)
    ]
    values = positions.table(model.translator.model, stack_side, rows)
    chart(
        table(
            values, labels, y_title="position", x_title="dimension", quantity="added", dark=dark(),
            limit=1.0 if config.positions == "sinusoidal" else None,
        ),
        "positions-matrix",
    )  # fmt: skip
    st.caption(
        f"{CAPTIONS[config.positions]} (Section 3.5.) Each row has {config.d_model} numbers, for "
        f"any token. The sentence has {len(words)} tokens on this side"
        + (f"; the first {rows} are drawn." if len(words) > rows else ".")
    )
    sine, cosine = st.columns(2)
    sine.latex(r"PE_{(pos,\,2i)}=\sin\frac{pos}{10000^{2i/d_{model}}}")
    cosine.latex(r"PE_{(pos,\,2i+1)}=\cos\frac{pos}{10000^{2i/d_{model}}}")


def waves(model: Model) -> None:
    """Draw single dimensions over the positions."""
    width = model.translator.model.config.d_model
    lengths = positions.wavelengths(width)
    dimensions = _dimensions(width)
    st.markdown(
        "Each **column** of the matrix is a wave. Short waves distinguish neighbouring positions, "
        f"long ones distant positions. The wavelengths go from 2π = {lengths[0]:.2f} positions to "
        f"**{lengths[-1]:,.0f}**, just below 10000·2π."
    )
    st.multiselect(
        "Dimensions",
        range(width),
        max_selections=MAX_WAVES,
        format_func=lambda dim: f"{dim} ({'cosine' if dim % 2 else 'sine'})",
        **controlled(
            "positions-waves", dimensions, lambda dims: state.change(waves=",".join(map(str, dims)))
        ),
    )
    curve_positions = np.arange(0, MAX_DISTANCE, 0.125)
    rows = positions.sinusoidal(MAX_DISTANCE, width)
    curves = []
    for dim in dimensions:
        angle = curve_positions * 2 * np.pi / lengths[dim // 2]
        wave = np.cos(angle) if dim % 2 else np.sin(angle)
        curves.append(Curve(f"dimension {dim}", curve_positions, wave))
    chart(lines(curves, x_title="position", y_title="PE", dark=dark()), "positions-waves-drawn")
    tables.show(
        f"d_model = {width}",
        ["Dimension", "Function", "Wavelength in positions", "At 0, 1, 2, 3"],
        [
            [
                str(dim),
                f"{'cos' if dim % 2 else 'sin'}(pos / 10000^({dim - dim % 2}/{width}))",
                f"{lengths[dim // 2]:,.2f}",
                ", ".join(f"{value:.3f}" for value in rows[:4, dim]),
            ]
            for dim in dimensions
        ],
    )


def _dimensions(width: int) -> list[int]:
    """Return the selected dimensions, which the address stores.

    Raises:
        ValueError: for a dimension that does not exist.
    """
    code = state.view(Positions).waves
    try:
        dimensions = (
            [int(part) for part in code.split(",")] if code else [0, width // 4, width // 2]
        )
    except ValueError:
        dimensions = [-1]
    if not all(0 <= dim < width for dim in dimensions) or len(dimensions) > MAX_WAVES:
        raise ValueError(
            f"The address has waves={code!r}; it must be up to {MAX_WAVES} dimensions from 0 "
            f'to {width - 1}, like "0,{width // 4}".'
        )
    return list(dict.fromkeys(dimensions))


def distance(model: Model) -> None:
    """Draw PE(p) · PE(p + k) against k."""
    width = model.translator.model.config.d_model
    st.markdown(
        "How similar are the vectors of two positions? Their **dot product** depends only on the "
        "distance between the positions."
    )
    st.latex(r"PE_{p}\cdot PE_{p+k}=\sum_{i}\cos(\omega_i\,k),\quad \omega_i=10000^{-2i/d_{model}}")
    k = np.arange(MAX_DISTANCE + 1)
    closed_form = positions.dot_product_at_distance(width, k)
    rows = positions.sinusoidal(max(START_POSITIONS) + MAX_DISTANCE + 1, width)
    curves, max_error = [Curve("Σ cos(ω k)", k, closed_form)], 0.0
    for number, start in enumerate(START_POSITIONS):
        products = rows[start : start + MAX_DISTANCE + 1] @ rows[start]
        max_error = max(max_error, float(np.abs(products - closed_form).max()))
        # Interleaved, so that no marker hides another.
        interleaved = slice(number * 2, None, 2 * len(START_POSITIONS))
        curves.append(
            Curve(f"measured from p = {start}", k[interleaved], products[interleaved], points=True)
        )
    chart(
        lines(curves, x_title="distance k (positions)", y_title="dot product", dark=dark()),
        "positions-distance",
    )
    st.caption(
        f"At distance 0 it is d_model/2 = {width // 2}. The closed form and "
        f"{len(START_POSITIONS)}·{MAX_DISTANCE + 1} measured products differ by {max_error:.1e} "
        "at most. The curve falls with the distance, though not monotonically, and is symmetric: "
        "only W^Q and W^K can distinguish earlier from later positions."
    )


def shift(model: Model) -> None:
    """Draw M_k and check it on every position."""
    width = model.translator.model.config.d_model
    st.markdown(
        "The paper chose sinusoids for this property: a **shift by k positions** is a linear map, "
        "the same for every position. M_k rotates each pair of sine and cosine by a fixed angle."
    )
    map_column, block_column = st.columns(2)
    map_column.latex(r"PE_{pos+k}=M_k\,PE_{pos}")
    block_column.latex(
        r"\begin{pmatrix}\cos\omega_i k&\sin\omega_i k\\"
        r"-\sin\omega_i k&\cos\omega_i k\end{pmatrix}\text{ for each pair}"
    )
    k = shift_slider()
    count, single, double = _cached_errors(width, k)
    with st.container(horizontal=True, key="figures"):
        st.metric("Positions checked", f"{count}")
        st.metric("Largest error, float32", f"{single:.1e}")
        st.metric("Largest error, float64", f"{double:.1e}")
    _rotation_charts(width, k)
    n_shown = min(SHOWN_DIMENSIONS, width)
    st.markdown(f"**M_k**, the first {n_shown} of {width} rows and columns")
    names = [str(dim) for dim in range(n_shown)]
    chart(
        table(
            positions.shift_matrix(k, width)[:n_shown, :n_shown], names, names, limit=1.0,
            y_title="to dimension", x_title="from dimension", quantity="M_k", dark=dark(),
        ),
        "positions-shift",
    )  # fmt: skip
    st.caption(
        "All entries outside the 2 × 2 blocks are 0; for k = 0 the matrix is the identity. The "
        "first pair rotates by k radians, later pairs by smaller angles."
    )


@lru_cache(maxsize=256)
def _cached_errors(width: int, k: int) -> tuple[int, float, float]:
    """Return the number of checked positions, and the largest errors in float32 and float64."""
    rows = positions.sinusoidal(CHECKED_POSITIONS, width)
    single, double = (
        positions.shift_errors(encodings, k) for encodings in (rows.astype(np.float32), rows)
    )
    return len(double), float(single.max()), float(double.max())


def shift_slider() -> int:
    """Draw the slider for k and return its value."""
    st.slider(**state.bound_number("shift"))
    return state.view(Positions).shift


def _rotation_charts(width: int, k: int) -> None:
    """Draw some pairs at two positions, before and after the shift: the rotation is the same."""
    pairs = [number * width // (4 * SHOWN_PAIRS) for number in range(SHOWN_PAIRS)]
    for start in (abs(k), abs(k) + 20):
        before, after = (
            positions.sinusoidal(1, width, position)[0] for position in (start, start + k)
        )
        hands_before, hands_after = (row.reshape(-1, 2)[pairs] for row in (before, after))
        st.markdown(f"From position **{start}** to position **{start + k}**")
        chart(
            clock_hands(
                hands_before,
                hands_after,
                [f"pair {pair}" for pair in pairs],
                names=(f"position {start}", f"position {start + k}"),
                dark=dark(),
            ),
            f"positions-hands-{start - abs(k)}",
        )
