"""A target distribution with the prediction, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import plotly.graph_objects as go

from transformer.figures.curves import DARK, LIGHT
from transformer.figures.positions import lay_out, ticks

MIN_PROBABILITY = 1e-6
"""Smaller probabilities are drawn at this value: a bar for 0 has no end on a logarithmic axis."""


def two_distributions(
    tokens: Sequence[str],
    target: Sequence[float],
    predicted: Sequence[float],
    *,
    names: tuple[str, str],
    dark: bool = False,
) -> go.Figure:
    """Draw two distributions over the same tokens as grouped bars on a logarithmic axis."""
    palette = DARK if dark else LIGHT
    figure = go.Figure()
    for index, (name, shares) in enumerate(zip(names, (target, predicted), strict=True)):
        figure.add_bar(
            x=list(range(len(tokens))),
            y=[max(share, MIN_PROBABILITY) for share in shares],
            customdata=list(shares),
            name=escape(name, quote=False),
            marker={"color": palette[index], "pattern": {"shape": ("", "/")[index]}},
            hovertemplate="%{customdata:.3~g}<extra>%{fullData.name}</extra>",
        )
    lay_out(figure, "token", "probability", dark)
    figure.update_layout(barmode="group", showlegend=True)
    figure.update_xaxes(**ticks(tokens))
    figure.update_yaxes(type="log", exponentformat="power", dtick=1, range=[-6, 0.1])
    return figure
