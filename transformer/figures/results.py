"""Small figures of training: scores over cost, and a target distribution with the prediction."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

import plotly.graph_objects as go

from transformer.figures.curves import DARK, LIGHT, MARKERS
from transformer.figures.positions import lay_out, ticks

LABEL_DISTANCE = (0.6, 0.16)
"""Points closer than this have overlapping labels: powers of ten in x, share of the height in y."""
MIN_PROBABILITY = 1e-6
"""Smaller probabilities are drawn at this value: a bar for 0 has no end on a logarithmic axis."""


def score_and_cost(
    points: Mapping[str, Sequence[tuple[str, float, float]]],
    *,
    x_title: str,
    y_title: str,
    dark: bool = False,
) -> go.Figure:
    """Draw labelled points: the cost on a logarithmic x axis, the score on the y axis.

    Args:
        points: name, cost and score of each point, by group.
    """
    palette = DARK if dark else LIGHT
    figure = go.Figure()
    all_points = [(cost, score) for members in points.values() for _, cost, score in members]
    for index, (group, members) in enumerate(points.items()):
        figure.add_scatter(
            x=[cost for _, cost, _ in members],
            y=[score for *_, score in members],
            text=[escape(name) for name, *_ in members],
            name=escape(group, quote=False),
            mode="markers+text",
            textposition=[_label_position(cost, score, all_points) for _, cost, score in members],
            textfont={"size": 11},
            marker={"symbol": MARKERS[index], "size": 11, "color": palette[index]},
            hovertemplate=f"%{{text}}<br>{escape(y_title)} %{{y}}<br>{escape(x_title)} %{{x:.2~e}}"
            "<extra>%{fullData.name}</extra>",
            cliponaxis=False,
        )
    lay_out(figure, x_title, y_title, dark, height=420)
    costs, scores = zip(*all_points, strict=True)
    ends = [math.log10(min(costs)) - 0.5, math.log10(max(costs)) + 0.5]  # room for the names
    figure.update_xaxes(type="log", exponentformat="power", dtick=1, range=ends)
    margin = 0.15 * (max(scores) - min(scores)) + 0.1
    figure.update_yaxes(range=[min(scores) - margin, max(scores) + margin])
    return figure


def _label_position(cost: float, score: float, all_points: Sequence[tuple[float, float]]) -> str:
    """Return the position of a label: above its point, unless another point is just above."""
    score_range = max(score for _, score in all_points) - min(score for _, score in all_points)
    for other_cost, other_score in all_points:
        is_close = abs(math.log10(other_cost / cost)) < LABEL_DISTANCE[0]
        if is_close and 0 < other_score - score < LABEL_DISTANCE[1] * score_range:
            return "bottom center"
    return "top center"


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
