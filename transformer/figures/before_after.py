"""Plotly figures that compare before with after: bars in pairs, and cells as points."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from transformer.figures.contributions import piece_html
from transformer.figures.curves import BELOW_ZERO, DARK, LIGHT
from transformer.figures.positions import Numbers, lay_out, layout_of
from transformer.figures.theme import TEXT_COLOURS, theme

ROW_HEIGHT, LOW_ROW_HEIGHT = 28, 17  # pixels of a token's two bars; low above `MAX_TALL_ROWS`
MAX_TALL_ROWS = 40
BEFORE_COLOUR, AFTER_COLOUR = 6, 4  # colours in the palette
MIN_SIZE = 1e-6
"""Smaller numbers are drawn at this value: a logarithmic axis has no 0."""


def before_after_bars(
    tokens: Sequence[str],
    before: Numbers,
    after: Numbers,
    *,
    x_title: str,
    marked: Sequence[int] = (),
    dark: bool = False,
) -> go.Figure:
    """Draw two bars from 0 to 1 for every token.

    Args:
        tokens: labels of the rows; they may repeat.
        x_title: title of the x axis.
        marked: positions of the tokens to write in bold.
    """
    palette = DARK if dark else LIGHT
    positions = np.arange(len(tokens))
    bars = [
        {
            "type": "bar", "orientation": "h", "name": name,
            "x": np.asarray(values, dtype=np.float64), "y": positions,
            "marker": {"color": palette[colour]},
            "hovertemplate": f"%{{y}}<br>{name} %{{x:.1%}}<extra></extra>",
        }
        for name, values, colour in (
            ("before", before, BEFORE_COLOUR), ("after", after, AFTER_COLOUR)
        )
    ]  # fmt: skip
    row = ROW_HEIGHT if len(tokens) <= MAX_TALL_ROWS else LOW_ROW_HEIGHT
    layout = layout_of(x_title, "", dark, height=100 + row * len(tokens))
    layout |= {
        "barmode": "group", "bargap": 0.25, "bargroupgap": 0.05,
        "margin": {"l": 110, "r": 12, "t": 34, "b": 48},
    }  # fmt: skip
    layout["xaxis"] |= {"range": [0, 1.02], "tickformat": ".0%"}
    layout["yaxis"] |= {
        "showgrid": False, "range": [len(tokens) - 0.4, -0.6], "tickvals": positions,
        "ticktext": [
            f"<b>{piece_html(token)}</b>" if at in marked else piece_html(token)
            for at, token in enumerate(tokens)
        ],
        "tickfont": {"size": 12 if row == ROW_HEIGHT else 10},
    }  # fmt: skip
    return go.Figure(bars, layout)


def size_against_effect(
    sizes: Float[np.ndarray, "cell"],
    changes: Float[np.ndarray, "cell"],
    cell_names: Sequence[tuple[str, str]],
    *,
    x_title: str,
    chosen: int | None = None,
    dark: bool = False,
) -> go.Figure:
    """Draw every cell of a head as a point: its size against the effect of blanking it.

    Both axes are logarithmic, since the two are compared by rank; colour and shape show the sign of
    a change.

    Args:
        sizes: size of each cell, 0 or more.
        changes: change of the output's log-probability when the cell is blanked, in nats.
        cell_names: query and key of each cell.
        x_title: title of the x axis: what the sizes measure.
        chosen: the cell to draw a ring around.
    """
    palette = DARK if dark else LIGHT
    figure = go.Figure()
    cell_data = [
        (cell, *(escape(name, quote=False) for name in names), changes[cell])
        for cell, names in enumerate(cell_names)
    ]
    for name, selected, colour, symbol in (
        ("less probable without it", changes < 0, BELOW_ZERO[dark], "circle"),
        ("more probable without it", changes >= 0, palette[0], "diamond"),
    ):
        cells = np.flatnonzero(selected).tolist()
        figure.add_scatter(
            x=np.maximum(sizes[cells], MIN_SIZE),
            y=np.maximum(np.abs(changes[cells]), MIN_SIZE),
            customdata=[cell_data[cell] for cell in cells],
            name=name,
            mode="markers",
            marker={"color": colour, "symbol": symbol, "size": 7, "opacity": 0.65},
            hovertemplate="%{customdata[1]} → %{customdata[2]}<br>"
            f"{escape(x_title)} %{{x:.3~g}}<br>change %{{customdata[3]:.3~g}} nats<extra></extra>",
        )
    if chosen is not None:
        figure.add_scatter(
            x=[max(float(sizes[chosen]), MIN_SIZE)], y=[max(abs(float(changes[chosen])), MIN_SIZE)],
            customdata=[cell_data[chosen]], mode="markers", hoverinfo="skip", showlegend=False,
            marker={
                "symbol": "circle-open", "size": 17, "color": TEXT_COLOURS[theme(dark)],
                "line": {"width": 2.5},
            },
        )  # fmt: skip
    lay_out(figure, x_title, "size of the change, nats", dark, height=360)
    figure.update_layout(legend={"font": {"size": 12}}, margin={"l": 70, "r": 10, "b": 52})
    figure.update_xaxes(type="log", exponentformat="power", nticks=6)
    figure.update_yaxes(type="log", exponentformat="power", nticks=6)
    return figure
