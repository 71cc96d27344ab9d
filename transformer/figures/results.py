"""Scores over cost, and a target beside a prediction: small figures of training."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

import plotly.graph_objects as go

from transformer.figures.curves import DARK, LIGHT, MARKS
from transformer.figures.positions import lay_out, ticks

NEAR = (0.6, 0.16)
"""Between two points whose names would meet: powers of ten, and share of the height."""
LEAST = 1e-6
"""Probabilities below are drawn as this, where bars would have no end on a logarithmic axis."""


def score_and_cost(
    points: Mapping[str, Sequence[tuple[str, float, float]]],
    *,
    across: str,
    down: str,
    dark: bool = False,
) -> go.Figure:
    """Named points: cost to the right, by powers of ten, and the score upwards.

    Args:
        points: by what they have in common, name, cost and score of each.
    """
    palette = DARK if dark else LIGHT
    figure = go.Figure()
    everyone = [(cost, score) for found in points.values() for _, cost, score in found]
    for place, (group, found) in enumerate(points.items()):
        figure.add_scatter(
            x=[cost for _, cost, _ in found],
            y=[score for *_, score in found],
            text=[escape(name) for name, *_ in found],
            name=escape(group, quote=False),
            mode="markers+text",
            textposition=[_side(cost, score, everyone) for _, cost, score in found],
            textfont={"size": 11},
            marker={"symbol": MARKS[place], "size": 11, "color": palette[place]},
            hovertemplate=f"%{{text}}<br>{escape(down)} %{{y}}<br>{escape(across)} %{{x:.2~e}}"
            "<extra>%{fullData.name}</extra>",
            cliponaxis=False,
        )
    lay_out(figure, across, down, dark, height=420)
    costs, scores = zip(*everyone, strict=True)
    ends = [math.log10(min(costs)) - 0.5, math.log10(max(costs)) + 0.5]  # room for the names
    figure.update_xaxes(type="log", exponentformat="power", dtick=1, range=ends)
    room = 0.15 * (max(scores) - min(scores)) + 0.1
    figure.update_yaxes(range=[min(scores) - room, max(scores) + room])
    return figure


def _side(cost: float, score: float, everyone: Sequence[tuple[float, float]]) -> str:
    """Where a point's name stands: above it, unless another point is close above."""
    high = max(score for _, score in everyone) - min(score for _, score in everyone)
    for other_cost, other in everyone:
        near = abs(math.log10(other_cost / cost)) < NEAR[0]
        if near and 0 < other - score < NEAR[1] * high:
            return "bottom center"
    return "top center"


def two_distributions(
    tokens: Sequence[str],
    target: Sequence[float],
    said: Sequence[float],
    *,
    names: tuple[str, str],
    dark: bool = False,
) -> go.Figure:
    """Probabilities of the same tokens in two distributions, side by side on a logarithmic axis."""
    palette = DARK if dark else LIGHT
    figure = go.Figure()
    for place, (name, shares) in enumerate(zip(names, (target, said), strict=True)):
        figure.add_bar(
            x=list(range(len(tokens))),
            y=[max(share, LEAST) for share in shares],
            customdata=list(shares),
            name=escape(name, quote=False),
            marker={"color": palette[place], "pattern": {"shape": ("", "/")[place]}},
            hovertemplate="%{customdata:.3~g}<extra>%{fullData.name}</extra>",
        )
    lay_out(figure, "token", "probability", dark)
    figure.update_layout(barmode="group", showlegend=True)
    figure.update_xaxes(**ticks(tokens))
    figure.update_yaxes(type="log", exponentformat="power", dtick=1, range=[-6, 0.1])
    return figure
