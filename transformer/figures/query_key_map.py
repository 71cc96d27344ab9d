"""Queries and keys as points of one plane, with lines from one of them to what it attends to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from transformer.figures.curves import DARK, LIGHT
from transformer.figures.theme import INK, theme

SYMBOLS = {"query": "circle", "key": "diamond-open"}
HEIGHT, WIDEST = 620, 7.0  # pixels; of a line that has all the weight
LEAST = 0.02
"""Weights below this get no line."""


@dataclass(frozen=True)
class AttentionLink:
    """A line between two points: which ones, the weight, and what the far end is called."""

    start: int
    end: int
    weight: float
    label: str


def query_key_figure(
    points: Float[np.ndarray, "point 2"],
    sides: Sequence[str],
    groups: Sequence[str],
    told: Sequence[str],
    explained: Sequence[float],
    *,
    links: Sequence[AttentionLink] = (),
    chosen: tuple[int, str] | None = None,
    dark: bool = False,
) -> tuple[go.Figure, list[list[int]]]:
    """The figure, and of each of its curves which points it has, to tell a click by.

    Args:
        sides: of each point "query", a disc, or "key", a diamond. groups: what its colour is for.
        told: what hovering a point says, a line of the sentence say.
        explained: the share of the variance along each axis.
        links: lines to draw, thick by weight. chosen: the point that they are of, and its name.

    Raises:
        ValueError: if there are not as many sides, groups or words as points.
    """
    if not len(points) == len(sides) == len(groups) == len(told):
        raise ValueError(
            f"{len(points)} points need as many sides, groups and words, not {len(sides)}, "
            f"{len(groups)} and {len(told)}"
        )
    figure, colours = go.Figure(), DARK if dark else LIGHT
    seen = list(dict.fromkeys(groups))
    curves: list[list[int]] = []
    for at, group in enumerate(seen):
        for side, symbol in SYMBOLS.items():
            own = [n for n, one in enumerate(groups) if one == group and sides[n] == side]
            if not own:
                continue
            curves.append(own)
            name = group if group == side else f"{group}, {side}"
            figure.add_scatter(
                x=points[own, 0],
                y=points[own, 1],
                mode="markers",
                name=escape(name, quote=False),
                marker={"color": colours[at % len(colours)], "symbol": symbol, "size": 6},
                opacity=0.25 if links else 0.65,
                text=[escape(told[n], quote=False) for n in own],
                hovertemplate="%{text}<extra></extra>",
            )
    if chosen is not None:
        _link(figure, points, links, chosen, dark)
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
    # Distances are what the figure is about: as long up as across.
    figure.update_yaxes(title=axes[1], automargin=True, scaleanchor="x")
    return figure, curves


def _link(
    figure: go.Figure,
    points: Float[np.ndarray, "point 2"],
    links: Sequence[AttentionLink],
    chosen: tuple[int, str],
    dark: bool,
) -> None:
    """Lines above the points, the names of both ends, and the chosen point."""
    ink, colour = INK[theme(dark)], (DARK if dark else LIGHT)[2]  # what is chosen is green
    drawn = [link for link in links if link.weight >= LEAST]
    for link in drawn:
        both = points[[link.start, link.end]]
        figure.add_scatter(
            x=both[:, 0],
            y=both[:, 1],
            mode="lines",
            line={"color": ink, "width": max(0.7, WIDEST * link.weight)},
            opacity=0.3 + 0.6 * link.weight,
            hoverinfo="skip",
            showlegend=False,
        )
    ends = [link.end for link in drawn]
    figure.add_scatter(
        x=points[ends, 0],
        y=points[ends, 1],
        mode="markers+text",
        marker={"color": ink, "size": 8},
        text=[f"{escape(link.label, quote=False)} {link.weight:.0%}" for link in drawn],
        textposition="top center",
        textfont={"color": ink, "size": 13},
        hoverinfo="skip",
        showlegend=False,
    )
    at, name = chosen
    figure.add_scatter(
        x=points[[at], 0],
        y=points[[at], 1],
        mode="markers+text",
        marker={"color": colour, "size": 14, "line": {"color": ink, "width": 2}},
        text=[f"<b>{escape(name, quote=False)}</b>"],
        textposition="bottom center",
        textfont={"color": ink, "size": 15},
        hoverinfo="skip",
        showlegend=False,
    )
