"""A Plotly figure that compares before with after: bars in pairs."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
import plotly.graph_objects as go

from transformer.figures.curves import DARK, LIGHT
from transformer.figures.positions import Numbers, layout_of

ROW_HEIGHT, LOW_ROW_HEIGHT = 28, 17  # pixels of a token's two bars; low above `MAX_TALL_ROWS`
MAX_TALL_ROWS = 40
BEFORE_COLOUR, AFTER_COLOUR = 6, 4  # colours in the palette


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
            f"<b>{_piece_html(token)}</b>" if at in marked else _piece_html(token)
            for at, token in enumerate(tokens)
        ],
        "tickfont": {"size": 12 if row == ROW_HEIGHT else 10},
    }  # fmt: skip
    return go.Figure(bars, layout)


def _piece_html(token: str) -> str:
    """Return a token as HTML with a faint "▁", as in the explorer."""
    if token.startswith("▁") and len(token) > 1:
        return f'<span style="color:#888;font-size:8px">▁</span>{escape(token[1:], quote=False)}'
    return escape(token, quote=False)
