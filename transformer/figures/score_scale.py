"""Plotly figures of the effect of d_k on scores, weights and gradients."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from transformer.figures.curves import DARK, DASHES, LIGHT, MARKERS, add_band
from transformer.figures.theme import LEGEND_ABOVE, theme

Numbers = npt.NDArray[np.floating]
STAGES = ("score", "weight", "‖∂weight/∂q‖")
FAINT = "rgba(128,128,128,0.25)"


def against_width(
    table: pd.DataFrame,
    column: str,
    names: Mapping[str, str],
    title: str,
    *,
    log: bool = True,
    expected: str = "",
    band: tuple[str, str] | None = None,
    marked_d_k: int = 0,
    dark: bool = False,
) -> go.Figure:
    """Draw one measure of every score function over d_k on a logarithmic axis.

    Args:
        table: rows with "d_k", "score" and the columns to draw (`score_scale.measure`).
        names: label of each score function, in the order of colours.
        title: title of the y axis, with its unit.
        log: whether the y axis is logarithmic too; else it goes from 0 to 1.
        expected: column with the values of a closed form, drawn as crosses.
        band: the two columns that bound a tinted band.
        marked_d_k: a d_k to mark; 0 marks none.
    """
    palette = DARK if dark else LIGHT
    figure = go.Figure()
    for index, (score, name) in enumerate(names.items()):
        lines = table[table["score"] == score]
        colour, width = palette[index], lines["d_k"]
        if band:
            low, high = (lines[bound].to_numpy() for bound in band)
            add_band(figure, width.to_numpy(), low, high, colour)
        figure.add_scatter(
            x=width, y=lines[column], name=escape(name, quote=False), mode="lines+markers",
            line={"color": colour, "width": 2.2, "dash": DASHES[index]},
            marker={"symbol": MARKERS[index], "size": 7},
            hovertemplate=f"d_k %{{x}}<br>{escape(title, quote=False)} %{{y:.4~g}}"
            "<extra>%{fullData.name}</extra>",
        )  # fmt: skip
        if expected:
            figure.add_scatter(
                x=width, y=lines[expected], mode="markers", showlegend=False,
                marker={"symbol": "x-thin", "size": 12, "line": {"width": 1.5, "color": colour}},
                hovertemplate="d_k %{x}<br>closed form %{y:.4~g}<extra></extra>",
            )  # fmt: skip
    if marked_d_k:
        figure.add_vline(
            x=marked_d_k, line={"color": "rgba(128,128,128,0.7)", "width": 1.5, "dash": "dot"}
        )
    _set_base_layout(figure, dark)
    figure.update_layout(legend=LEGEND_ABOVE)
    ticks = sorted(set(table["d_k"]))[::2]
    figure.update_xaxes(title="d_k", type="log", tickvals=ticks, ticktext=[str(t) for t in ticks])
    figure.update_yaxes(title=title, type="log" if log else "linear")
    if log:
        figure.update_yaxes(exponentformat="power", dtick=1)
    else:
        figure.update_yaxes(range=[0, 1.02])
    return figure


def one_row(
    scores: Numbers,
    weights: Numbers,
    query_gradients: Numbers,
    *,
    colour: int = 0,
    y_limits: tuple[float, float, float],
    first: int = 0,
    dark: bool = False,
) -> go.Figure:
    """Draw one row of attention in three panels, a bar per key: score, weight, ‖∂weight/∂q‖.

    Args:
        scores, weights, query_gradients: one number per key; the last are norms, ‖∂weight/∂q‖.
        colour: index of the colour, to match the other figure.
        y_limits: upper end of each y axis, so that figures next to each other can be compared; the
            axis of the scores also extends to its negative.
        first: number of the first key.
    """
    figure = make_subplots(rows=3, cols=1, shared_xaxes=True, vertical_spacing=0.06)
    keys = first + np.arange(len(scores))
    for row, (stage, values) in enumerate(
        zip(STAGES, (scores, weights, query_gradients), strict=True), start=1
    ):
        figure.add_bar(
            x=keys, y=values, row=row, col=1,
            marker_color=(DARK if dark else LIGHT)[colour],
            hovertemplate=f"key %{{x}}<br>{stage} %{{y:.4~g}}<extra></extra>",
        )  # fmt: skip
        top = y_limits[row - 1]
        low = -top if row == 1 else 0.0
        figure.update_yaxes(title=STAGES[row - 1], range=[1.05 * low, 1.05 * top], row=row, col=1)
    _set_base_layout(figure, dark)
    figure.update_layout(showlegend=False, bargap=0.15)
    figure.update_xaxes(title="key", row=3, col=1)
    figure.update_yaxes(title_font={"size": 12})
    return figure


def _set_base_layout(figure: go.Figure, dark: bool) -> None:
    axis: dict[str, Any] = {"zeroline": True, "zerolinecolor": FAINT}
    figure.update_layout(
        template=theme(dark),
        margin={"l": 66, "r": 10, "t": 10, "b": 50},
    )
    figure.update_xaxes(**axis)
    figure.update_yaxes(**axis)
