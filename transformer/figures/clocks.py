"""Bars, shares and the hands of clocks, as Plotly figures, for the Positions page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import plotly.graph_objects as go

from transformer.figures.curves import DARK, DASHES, LIGHT, MARKS
from transformer.figures.positions import Numbers, lay_out, ticks

# What a head looks at: blues for the key's word, reds for its place; dark for its own kind.
PART_COLOURS = ("#08427f", "#d795b4", "#5ba3d0", "#882255", "#a9bfe0", "#eed3e0")
PART_COLOURS_DARK = ("#2f86c9", "#93345f", "#a3cbe4", "#eda3c2", "#1c4a73", "#5c2440")


def bars(
    groups: Mapping[str, Sequence[float] | Numbers],
    labels: Sequence[str],
    *,
    across: str,
    down: str,
    dark: bool = False,
) -> go.Figure:
    """Bars side by side over each label; a label may come twice."""
    palette = DARK if dark else LIGHT
    figure = go.Figure()
    for place, (name, heights) in enumerate(groups.items()):
        figure.add_bar(
            x=list(range(len(labels))),
            y=heights,
            name=escape(name, quote=False),
            marker={"color": palette[place % len(palette)]},
            hovertemplate="%{x}<br>%{y:.2f}<extra>%{fullData.name}</extra>",
        )
    lay_out(figure, across, down, dark)
    figure.update_xaxes(showgrid=False, **ticks(labels))
    return figure


def shares(
    values: Numbers, parts: Sequence[str], labels: Sequence[str], *, dark: bool = False
) -> go.Figure:
    """One bar for each label, from 0 to 100 %, in as many pieces as there are parts (up to six).

    Args:
        values: (label, part), each row summing to 1; the first label stands at the top.
    """
    colours = PART_COLOURS_DARK if dark else PART_COLOURS
    figure = go.Figure()
    for place, part in enumerate(parts):
        figure.add_bar(
            y=list(range(len(labels))),
            x=values[:, place],
            orientation="h",
            name=escape(part),
            marker={"color": colours[place]},
            hovertemplate="%{y}<br>%{x:.1%}<extra>%{fullData.name}</extra>",
        )
    lay_out(figure, "share of the variance along the rows", "", dark, height=140 + 30 * len(labels))
    figure.update_layout(barmode="stack", legend={"traceorder": "normal"})
    figure.update_xaxes(tickformat=".0%", range=[0, 1.001])
    figure.update_yaxes(autorange="reversed", showgrid=False, **ticks(labels))
    return figure


def clock_hands(
    here: Numbers,
    there: Numbers,
    labels: Sequence[str],
    *,
    names: tuple[str, str],
    dark: bool = False,
) -> go.Figure:
    """A dial for each pair: its hand (cosine across, sine up) at one position and at another.

    Args:
        here, there: (dial, 2), sine and cosine.
        labels: below each dial; names: of the two hands.
    """
    palette = DARK if dark else LIGHT
    figure = go.Figure()
    for dial in range(len(labels)):
        figure.add_shape(
            type="circle", x0=3 * dial - 1, x1=3 * dial + 1, y0=-1, y1=1, line={"color": "#808080"}
        )
    for place, (ends, name) in enumerate(zip((here, there), names, strict=True)):
        tips = [(3 * dial + cos, sin) for dial, (sin, cos) in enumerate(ends)]
        figure.add_scatter(
            x=[x for dial, (tip, _) in enumerate(tips) for x in (3 * dial, tip, None)],
            y=[y for _, tip in tips for y in (0, tip, None)],
            name=escape(name, quote=False),
            mode="lines+markers",
            marker={"size": [0, 9, 0] * len(tips), "symbol": MARKS[place]},
            line={"color": palette[place], "width": 3, "dash": DASHES[place]},
            customdata=[v for sin, cos in ends for v in ((0, 0), (sin, cos), (0, 0))],
            hovertemplate="sine %{customdata[0]:.4f}, cosine %{customdata[1]:.4f}"
            "<extra>%{fullData.name}</extra>",
        )
    lay_out(figure, "", "", dark, height=260)
    figure.update_xaxes(
        showgrid=False,
        tickvals=[3 * dial for dial in range(len(labels))],
        ticktext=[escape(label) for label in labels],
        range=[-1.4, 3 * len(labels) - 1.6],
    )
    figure.update_yaxes(visible=False, scaleanchor="x", range=[-1.2, 1.2])
    return figure
