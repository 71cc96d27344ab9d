"""The sinusoids of section 3.5: matrix and waves."""

from __future__ import annotations

import numpy as np
import streamlit as st

from transformer.analysis import positions
from transformer.figures.positions import Curve, lines, table
from transformer.ui.base import state
from transformer.ui.pages.inside import Inside
from transformer.ui.pages.inside.positions.sides import side, tokens
from transformer.ui.services import trace_cache
from transformer.ui.services.models import Model
from transformer.ui.widgets import display_names, frame, tables
from transformer.ui.widgets.callbacks import controlled
from transformer.ui.widgets.charts import chart, dark

MIN_ROWS, MAX_ROWS = 48, 72
MAX_POSITIONS = 128
"""Number of positions in the figure of waves."""
MAX_WAVES = 6
CAPTIONS = {
    "sinusoidal": "This model uses sinusoids, which are not learned.",
    "learned": "This model learned these vectors, one for each position.",
    "none": "This model was trained without positions, so every number is 0.",
}


def matrix(model: Model) -> None:
    """Draw PE(pos, dim) with the tokens of the sentence."""
    frame.lead_text("Each row is added to the embedding at its position.")
    stack_side = state.view(Inside).side
    cached_trace = trace_cache.read(model, state.view(Inside))
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
    side()
    if config.positions == "sinusoidal":
        st.markdown(
            "Dimensions on the left change quickly from position to position, those on the right "
            "slowly."
        )
    st.caption(
        f"{CAPTIONS[config.positions]} (Section 3.5.) Each row has {config.d_model} numbers, for "
        f"any token. The sentence has {len(words)} tokens on this side"
        + (f"; the first {rows} are drawn." if len(words) > rows else ".")
    )
    if config.positions != "sinusoidal":
        return
    sine, cosine = st.columns(2)
    sine.latex(r"PE_{(pos,\,2i)}=\sin\frac{pos}{10000^{2i/d_{model}}}")
    cosine.latex(r"PE_{(pos,\,2i+1)}=\cos\frac{pos}{10000^{2i/d_{model}}}")


def waves(model: Model) -> None:
    """Draw single dimensions over the positions."""
    width = model.translator.model.config.d_model
    lengths = positions.wavelengths(width)
    dimensions = _dimensions(width)
    frame.lead_text(
        "Each **column** of the matrix is a wave: short ones distinguish neighbouring positions, "
        "long ones distant positions."
    )
    picture = st.container()
    st.multiselect(
        "Dimensions",
        range(width),
        max_selections=MAX_WAVES,
        format_func=lambda dim: f"{dim} ({'cosine' if dim % 2 else 'sine'})",
        **controlled(
            "positions-waves", dimensions, lambda dims: state.change(waves=",".join(map(str, dims)))
        ),
    )
    curve_positions = np.arange(0, MAX_POSITIONS, 0.125)
    rows = positions.sinusoidal(MAX_POSITIONS, width)
    curves = []
    for dim in dimensions:
        angle = curve_positions * 2 * np.pi / lengths[dim // 2]
        wave = np.cos(angle) if dim % 2 else np.sin(angle)
        curves.append(Curve(f"dimension {dim}", curve_positions, wave))
    with picture:
        chart(lines(curves, x_title="position", y_title="PE", dark=dark()), "positions-waves-drawn")
    st.markdown(
        f"The wavelengths go from 2π = {lengths[0]:.2f} positions to **{lengths[-1]:,.0f}**, "
        f"below 10000·2π = {20000 * np.pi:,.0f}."
    )
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
    code = state.view(Inside).waves
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
