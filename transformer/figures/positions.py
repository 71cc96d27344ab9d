"""Plotly figures shared by many pages, first by Positions: tables of signed values, and curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from transformer.figures.curves import DARK, DASHES, LIGHT, add_band
from transformer.figures.theme import RAMP, theme

Numbers = npt.NDArray[Any]

# Orange below 0 and blue above, as in the theme; 0 has the colour of the background.
SIGNED = {
    False: ("#8a3b00", "#db8128", "#f2b273", "#f6f6f4", "#a3cbe4", "#2171b5", "#08427f"),
    True: ("#fdb863", "#e08214", "#7f3b08", "#1c222b", "#134b77", "#2171b5", "#a3cbe4"),
}
"""By whether the page is dark."""
ROW_HEIGHT, MIN_HEIGHT, MAX_HEIGHT = 15, 320, 1080  # pixels


@dataclass(frozen=True)
class Curve:
    """One line of `lines`; `low` and `high` add a band."""

    name: str
    x: Sequence[float] | Numbers
    y: Sequence[float | None] | Numbers
    low: Numbers | None = None
    high: Numbers | None = None


def table(
    values: Numbers,
    rows: Sequence[str],
    columns: Sequence[str] | None = None,
    *,
    y_title: str,
    x_title: str,
    quantity: str,
    limit: float | None = None,
    weights: bool = False,
    title: str = "",
    dark: bool = False,
) -> go.Figure:
    """Draw values as colours with the numbers in hover; blue above 0, orange below.

    Args:
        values: (row, column); NaN is left empty.
        rows: a label for each row; labels may repeat, and "" leaves a row without one.
        columns: labels of the columns; by default they are numbered.
        y_title, x_title, quantity: titles of the row axis, of the column axis and of the values.
        limit: the colour scale ends at ±limit; by default at the largest absolute value.
        weights: values are from 0 to 1 and drawn in one hue.

    Raises:
        ValueError: if labels and values do not match.
    """
    n_columns = values.shape[1] if columns is None else len(columns)
    if values.shape != (len(rows), n_columns):
        raise ValueError(
            f"values of shape {values.shape} do not fit {len(rows)} rows, {n_columns} columns"
        )
    finite = values[np.isfinite(values)]
    end = limit or float(np.abs(finite).max(initial=0)) or 1.0
    figure = go.Figure(
        go.Heatmap(
            z=values.astype(np.float32),
            zmin=0 if weights else -end,
            zmax=1 if weights else end,
            colorscale=RAMP[dark] if weights else SIGNED[dark],
            colorbar={
                "title": {"text": quantity, "side": "right"},
                "thickness": 12,
                "outlinewidth": 0,
            },
            hovertemplate=f"{escape(y_title)} %{{y}}<br>{escape(x_title)} %{{x}}<br>"
            f"{escape(quantity)} %{{z:.4f}}<extra></extra>",
            xgap=1 if n_columns <= 40 else 0,
            ygap=1 if n_columns <= 40 else 0,
            hoverongaps=False,
        )
    )
    height = min(MAX_HEIGHT, max(MIN_HEIGHT, 130 + ROW_HEIGHT * len(rows)))
    lay_out(figure, x_title, y_title, dark, height=height, title=title)
    figure.update_layout(showlegend=False, margin={"l": 96, "r": 8, "t": 48 if title else 8})
    figure.update_yaxes(autorange="reversed", showgrid=False, **ticks(rows))
    figure.update_xaxes(showgrid=False)
    if columns is not None:
        figure.update_xaxes(**ticks(columns))
    return figure


def lines(
    curves: Sequence[Curve],
    *,
    x_title: str,
    y_title: str,
    marked_x: tuple[float, str] | None = None,
    log_x: bool = False,
    percent: bool = False,
    dark: bool = False,
) -> go.Figure:
    """Draw curves in one figure, distinguished by colour and dash; None leaves a gap.

    Args:
        marked_x: a value on the x axis to mark, and its label.
        log_x: make the x axis logarithmic.
        percent: values are shares, shown in percent.
    """
    palette = DARK if dark else LIGHT
    figure = go.Figure()
    for index, curve in enumerate(curves):
        colour = palette[index % len(palette)]
        if curve.low is not None and curve.high is not None:
            add_band(figure, curve.x, curve.low, curve.high, colour)
        figure.add_scatter(
            x=curve.x,
            y=curve.y,
            name=escape(curve.name, quote=False),
            mode="lines",
            line={"color": colour, "dash": DASHES[index % len(DASHES)], "width": 2},
            hovertemplate=f"{escape(x_title)} %{{x}}<br>%{{y:{'.1%' if percent else '.4~g'}}}"
            "<extra>%{fullData.name}</extra>",
        )
    lay_out(figure, x_title, y_title, dark)
    figure.update_layout(showlegend=len(curves) > 1)
    if log_x:
        ticks_at = [number * 10**power for power in range(4) for number in (1, 2, 5)]
        figure.update_xaxes(type="log", tickvals=ticks_at)
    if percent:
        figure.update_yaxes(tickformat=".0%", range=[-0.03, 1.12])
    if marked_x:
        figure.add_vline(
            marked_x[0],
            line={"dash": "dot", "color": "#808080"},
            annotation={"text": escape(marked_x[1]), "font": {"size": 12}, "yref": "paper"},
        )
    return figure


def lay_out(
    figure: go.Figure, x_title: str, y_title: str, dark: bool, *, height: int = 380, title: str = ""
) -> None:
    """Set the axis titles, the theme, the legend and the margins."""
    layout = layout_of(x_title, y_title, dark, height=height, title=title)
    across_axis, down_axis = layout.pop("xaxis"), layout.pop("yaxis")
    figure.update_layout(layout, overwrite=True)  # half the time of merging
    figure.update_xaxes(across_axis)
    figure.update_yaxes(down_axis)


def layout_of(
    x_title: str, y_title: str, dark: bool, *, height: int = 380, title: str = ""
) -> dict[str, Any]:
    """Return what `lay_out` sets, to pass to `go.Figure` directly, which is fastest."""
    title_options = {
        "text": escape(title, quote=False),
        "x": 0,
        "xref": "paper",
        "font": {"size": 15},
    }
    return {
        "template": theme(dark),
        "height": height,
        "title": title_options if title else None,
        "legend": {"orientation": "h", "y": 1.0, "x": 0, "yanchor": "bottom"},
        "margin": {"l": 64, "r": 24, "t": 48 if title else 40, "b": 56},
        "xaxis": {"title": {"text": escape(x_title)}},
        "yaxis": {"title": {"text": escape(y_title)}},
    }


def ticks(labels: Sequence[str]) -> dict[str, Any]:
    """Return ticks at positions, as labels may repeat, escaped, as Plotly interprets some HTML."""
    labelled = [(position, label) for position, label in enumerate(labels) if label]
    return {
        "tickvals": [position for position, _ in labelled],
        "ticktext": [escape(label, quote=False) for _, label in labelled],
        "tickfont": {"size": 12},
        # Long tokens push the axis title away instead of overlapping it.
        "automargin": True,
        "title_standoff": 10,
    }
