"""Complexity laws with measurements on logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from transformer.figures.curves import DARK, DASHES, LIGHT, MARKERS
from transformer.figures.positions import lay_out

Numbers = npt.NDArray[np.floating] | Sequence[float]


@dataclass(frozen=True)
class Law:
    """One line of `law_lines`, with its measurements.

    Attributes:
        style_index: index of the colour, the dashes and the marker, the same in every figure.
        x, y: values of a formula or a fit, drawn as a line.
        seen_x, seen_y: measured values, drawn as markers.
    """

    name: str
    style_index: int
    x: Numbers = ()
    y: Numbers = ()
    seen_x: Numbers = ()
    seen_y: Numbers = ()


def law_lines(
    laws: Sequence[Law],
    *,
    x_title: str,
    y_title: str,
    marked_x: tuple[float, str] | None = None,
    crossings: Sequence[tuple[float, float, str]] = (),
    dark: bool = False,
) -> go.Figure:
    """Draw laws on two logarithmic axes: a power law is a straight line whose slope is the power.

    Args:
        marked_x: a value on the x axis to mark, and its label.
        crossings: x, y and a sentence for each point where two laws meet.
    """
    palette = DARK if dark else LIGHT
    figure = go.Figure()
    hover = f"{escape(x_title)} %{{x:,.5~g}}<br>%{{y:,.4~s}}"
    for law in laws:
        colour = palette[law.style_index % len(palette)]
        shared_options = {"name": escape(law.name, quote=False), "legendgroup": law.name}
        if len(law.x):
            figure.add_scatter(
                x=list(law.x), y=list(law.y), mode="lines",
                line={"color": colour, "dash": DASHES[law.style_index % len(DASHES)], "width": 2.2},
                hovertemplate=f"{hover}<extra>%{{fullData.name}}</extra>",
                showlegend=not len(law.seen_x), **shared_options,
            )  # fmt: skip
        if len(law.seen_x):
            figure.add_scatter(
                x=list(law.seen_x), y=list(law.seen_y), mode="markers",
                marker={
                    "color": colour, "symbol": MARKERS[law.style_index % len(MARKERS)], "size": 9
                },
                hovertemplate=f"{hover}, measured<extra>%{{fullData.name}}</extra>",
                **shared_options,
            )  # fmt: skip
    for x, y, sentence in crossings:
        figure.add_scatter(
            x=[x], y=[y], mode="markers", showlegend=False,
            marker={"symbol": "circle-open", "size": 16, "color": "#808080", "line": {"width": 2}},
            hovertemplate=f"{escape(sentence)}<extra></extra>",
        )  # fmt: skip
    lay_out(figure, x_title, y_title, dark, height=420)
    figure.update_layout(showlegend=True)
    figure.update_xaxes(type="log", **_doublings(laws))
    figure.update_yaxes(type="log", exponentformat="SI", dtick=1 if _decades(laws) > 2 else "D2")
    if marked_x:
        figure.add_vline(marked_x[0], line={"dash": "dot", "color": "#808080"})
        # On a logarithmic axis an annotation, unlike a line, takes the exponent.
        figure.add_annotation(
            x=math.log10(marked_x[0]), y=1, yref="paper", text=escape(marked_x[1]), showarrow=False,
            xanchor="left", yanchor="top", xshift=4, font={"size": 12},
        )  # fmt: skip
    return figure


def _doublings(laws: Sequence[Law]) -> dict[str, object]:
    """Return the ticks of the x axis: at most eight powers of 2."""
    xs = [float(x) for law in laws for x in [*law.x, *law.seen_x]]
    if not xs:
        return {}
    low, high = math.ceil(math.log2(min(xs))), math.floor(math.log2(max(xs)))
    powers = [2**exponent for exponent in range(low, high + 1, 1 + (high - low) // 8)]
    return {"tickvals": powers, "ticktext": [f"{power:,}" for power in powers]}


def _decades(laws: Sequence[Law]) -> float:
    """Return how many powers of ten the y axis spans."""
    ys = [float(y) for law in laws for y in [*law.y, *law.seen_y]]
    return math.log10(max(ys) / min(ys)) if ys else 0.0
