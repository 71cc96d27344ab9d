"""Queries and keys as points in a plane, with lines from a selected query to its keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from transformer.figures.curves import DARK, LIGHT
from transformer.figures.theme import TEXT_COLOURS, theme

SYMBOLS = {"query": "circle", "key": "diamond-open"}
HEIGHT, MAX_LINE_WIDTH = 620, 7.0  # pixels; MAX_LINE_WIDTH is the width of a line of weight 1
MIN_LINE_WEIGHT = 0.02
"""Smaller weights get no line."""


@dataclass(frozen=True)
class AttentionLink:
    """A line between two points, by their indices, with its weight and the label of its end."""

    start: int
    end: int
    weight: float
    label: str


def query_key_figure(
    points: Float[np.ndarray, "point 2"],
    sides: Sequence[str],
    groups: Sequence[str],
    hover_texts: Sequence[str],
    explained: Sequence[float],
    *,
    links: Sequence[AttentionLink] = (),
    chosen: tuple[int, str] | None = None,
    dark: bool = False,
) -> tuple[go.Figure, list[list[int]]]:
    """Return the figure, and the indices of the points in each of its traces, to resolve clicks.

    Args:
        sides: "query", drawn as a disc, or "key", drawn as a diamond, for each point.
        groups: the group of each point, which sets its colour.
        hover_texts: hover text of each point, such as its sentence.
        explained: the share of the variance along each axis.
        links: lines to draw, their width by weight.
        chosen: the point where the lines start, and its name.

    Raises:
        ValueError: if sides, groups or hover texts are not as many as the points.
    """
    if not len(points) == len(sides) == len(groups) == len(hover_texts):
        raise ValueError(
            f"{len(points)} points need as many sides, groups and hover texts, not {len(sides)}, "
            f"{len(groups)} and {len(hover_texts)}"
        )
    figure, colours = go.Figure(), DARK if dark else LIGHT
    distinct_groups = list(dict.fromkeys(groups))
    curves: list[list[int]] = []
    for group_index, group in enumerate(distinct_groups):
        for side, symbol in SYMBOLS.items():
            indices = [
                n
                for n, point_group in enumerate(groups)
                if point_group == group and sides[n] == side
            ]
            if not indices:
                continue
            curves.append(indices)
            name = group if group == side else f"{group}, {side}"
            figure.add_scatter(
                x=points[indices, 0],
                y=points[indices, 1],
                mode="markers",
                name=escape(name, quote=False),
                marker={"color": colours[group_index % len(colours)], "symbol": symbol, "size": 6},
                opacity=0.25 if links else 0.65,
                text=[escape(hover_texts[n], quote=False) for n in indices],
                hovertemplate="%{text}<extra></extra>",
            )
    if chosen is not None:
        _draw_links(figure, points, links, chosen, dark)
    axes = [f"axis {n}, {share:.0%} of the variance" for n, share in enumerate(explained, start=1)]
    figure.update_layout(
        template=theme(dark),
        height=HEIGHT,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "itemsizing": "constant"},
        hoverlabel={"align": "left"},
        dragmode=False,  # a finger scrolls the page
    )
    figure.update_xaxes(title=axes[0], automargin=True)
    # Distances matter here, so both axes have the same scale.
    figure.update_yaxes(title=axes[1], automargin=True, scaleanchor="x")
    return figure, curves


def _draw_links(
    figure: go.Figure,
    points: Float[np.ndarray, "point 2"],
    links: Sequence[AttentionLink],
    chosen: tuple[int, str],
    dark: bool,
) -> None:
    """Draw lines over the points, the labels of their ends, and the selected point."""
    ink, colour = TEXT_COLOURS[theme(dark)], (DARK if dark else LIGHT)[2]  # the selection is green
    strong_links = [link for link in links if link.weight >= MIN_LINE_WEIGHT]
    for link in strong_links:
        ends_of_line = points[[link.start, link.end]]
        figure.add_scatter(
            x=ends_of_line[:, 0],
            y=ends_of_line[:, 1],
            mode="lines",
            line={"color": ink, "width": max(0.7, MAX_LINE_WIDTH * link.weight)},
            opacity=0.3 + 0.6 * link.weight,
            hoverinfo="skip",
            showlegend=False,
        )
    ends = [link.end for link in strong_links]
    figure.add_scatter(
        x=points[ends, 0],
        y=points[ends, 1],
        mode="markers+text",
        marker={"color": ink, "size": 8},
        text=[f"{escape(link.label, quote=False)} {link.weight:.0%}" for link in strong_links],
        textposition="top center",
        textfont={"color": ink, "size": 13},
        hoverinfo="skip",
        showlegend=False,
    )
    index, name = chosen
    figure.add_scatter(
        x=points[[index], 0],
        y=points[[index], 1],
        mode="markers+text",
        marker={"color": colour, "size": 14, "line": {"color": ink, "width": 2}},
        text=[f"<b>{escape(name, quote=False)}</b>"],
        textposition="bottom center",
        textfont={"color": ink, "size": 15},
        hoverinfo="skip",
        showlegend=False,
    )
