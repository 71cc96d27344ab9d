"""Laws beside what was measured, on logarithmic axes; and who has heard of whom, layer by layer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from transformer.figures.curves import DARK, DASHES, LIGHT, MARKS
from transformer.figures.positions import lay_out

Numbers = npt.NDArray[np.floating] | Sequence[float]


@dataclass(frozen=True)
class Law:
    """One colour of `laws`.

    Attributes:
        x, y: what a formula or a fit says, drawn as a line.
        seen_x, seen_y: what was measured, drawn as marks.
        place: of the colour, the dashes and the mark, the same in every picture.
    """

    name: str
    place: int
    x: Numbers = ()
    y: Numbers = ()
    seen_x: Numbers = ()
    seen_y: Numbers = ()


def laws(
    drawn: Sequence[Law],
    *,
    across: str,
    down: str,
    unit: str = "",
    at: tuple[float, str] | None = None,
    crossings: Sequence[tuple[float, float, str]] = (),
    dark: bool = False,
) -> go.Figure:
    """Power laws are straight here; their slope is the power.

    Args:
        unit: written behind a value in hover.
        at: a place on the horizontal axis to mark, and what is there.
        crossings: x, y and a sentence for each point where two laws meet.
    """
    palette = DARK if dark else LIGHT
    figure = go.Figure()
    shown = f"{escape(across)} %{{x:,.5~g}}<br>%{{y:,.4~s}}{escape(unit)}"
    for law in drawn:
        colour = palette[law.place % len(palette)]
        named = {"name": escape(law.name, quote=False), "legendgroup": law.name}
        if len(law.x):
            figure.add_scatter(
                x=list(law.x), y=list(law.y), mode="lines",
                line={"color": colour, "dash": DASHES[law.place % len(DASHES)], "width": 2.2},
                hovertemplate=f"{shown}<extra>%{{fullData.name}}</extra>",
                showlegend=not len(law.seen_x), **named,
            )  # fmt: skip
        if len(law.seen_x):
            figure.add_scatter(
                x=list(law.seen_x), y=list(law.seen_y), mode="markers",
                marker={"color": colour, "symbol": MARKS[law.place % len(MARKS)], "size": 9},
                hovertemplate=f"{shown}, measured<extra>%{{fullData.name}}</extra>", **named,
            )  # fmt: skip
    for x, y, sentence in crossings:
        figure.add_scatter(
            x=[x], y=[y], mode="markers", showlegend=False,
            marker={"symbol": "circle-open", "size": 16, "color": "#808080", "line": {"width": 2}},
            hovertemplate=f"{escape(sentence)}<extra></extra>",
        )  # fmt: skip
    lay_out(figure, across, down, dark, height=420)
    figure.update_layout(showlegend=True)
    figure.update_xaxes(type="log", **_doublings(drawn))
    figure.update_yaxes(type="log", exponentformat="SI", dtick=1 if _decades(drawn) > 2 else "D2")
    if at:
        figure.add_vline(at[0], line={"dash": "dot", "color": "#808080"})
        # Of a logarithmic axis an annotation, unlike a line, wants the exponent.
        figure.add_annotation(
            x=math.log10(at[0]), y=1, yref="paper", text=escape(at[1]), showarrow=False,
            xanchor="left", yanchor="top", xshift=4, font={"size": 12},
        )  # fmt: skip
    return figure


def reached(grid: npt.NDArray[np.bool_], *, dark: bool = False) -> go.Figure:
    """Positions across, depth down: filled where the last position hears of that one.

    Args:
        grid: (depth, n), row i is about i layers.
    """
    ground, colour = ("#1c2733", DARK[0]) if dark else ("#eef2f6", LIGHT[0])
    depth, n = grid.shape
    gap = 1 if n <= 100 and depth <= 60 else 0
    figure = go.Figure(
        go.Heatmap(
            z=grid.astype(np.uint8).tolist(),
            x=list(range(1, n + 1)),
            y=list(range(depth)),
            zmin=0,
            zmax=1,
            colorscale=[[0, ground], [1, colour]],
            showscale=False,
            customdata=np.where(grid, "heard of", "not heard of").tolist(),
            hovertemplate="position %{x}, layers %{y}: "
            f"%{{customdata}} at position {n}<extra></extra>",
            xgap=gap,
            ygap=gap,
        )
    )
    lay_out(figure, "position in the input", "layers", dark, height=min(640, 150 + 22 * depth))
    figure.update_layout(showlegend=False)
    figure.update_xaxes(showgrid=False)
    figure.update_yaxes(
        autorange="reversed", showgrid=False, tickformat="d", dtick=max(1, depth // 8)
    )
    return figure


def _doublings(drawn: Sequence[Law]) -> dict[str, object]:
    """Ticks of the horizontal axis: powers of 2, and eight of them at most."""
    xs = [float(x) for law in drawn for x in [*law.x, *law.seen_x]]
    if not xs:
        return {}
    low, high = math.ceil(math.log2(min(xs))), math.floor(math.log2(max(xs)))
    places = [2**power for power in range(low, high + 1, 1 + (high - low) // 8)]
    return {"tickvals": places, "ticktext": [f"{place:,}" for place in places]}


def _decades(drawn: Sequence[Law]) -> float:
    """How many powers of ten the vertical axis spans."""
    ys = [float(y) for law in drawn for y in [*law.y, *law.seen_y]]
    return math.log10(max(ys) / min(ys)) if ys else 0.0
