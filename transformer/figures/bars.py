"""Grouped bars and stacked shares for the tab Positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import plotly.graph_objects as go

from transformer.figures.curves import DARK, LIGHT
from transformer.figures.positions import Numbers, lay_out, ticks

# Parts of the score: blue for the key's word, red for its position; dark where the query's half is
# of the same kind.
PART_COLOURS = ("#08427f", "#d795b4", "#5ba3d0", "#882255", "#a9bfe0", "#eed3e0")
PART_COLOURS_DARK = ("#2f86c9", "#93345f", "#a3cbe4", "#eda3c2", "#1c4a73", "#5c2440")


def grouped_bars(
    groups: Mapping[str, Sequence[float] | Numbers],
    labels: Sequence[str],
    *,
    x_title: str,
    y_title: str,
    dark: bool = False,
) -> go.Figure:
    """Draw grouped bars over each label; labels may repeat."""
    palette = DARK if dark else LIGHT
    figure = go.Figure()
    for index, (name, heights) in enumerate(groups.items()):
        figure.add_bar(
            x=list(range(len(labels))),
            y=heights,
            name=escape(name, quote=False),
            marker={"color": palette[index % len(palette)]},
            hovertemplate="%{x}<br>%{y:.2f}<extra>%{fullData.name}</extra>",
        )
    lay_out(figure, x_title, y_title, dark)
    figure.update_xaxes(showgrid=False, **ticks(labels))
    return figure


def stacked_shares(
    values: Numbers, parts: Sequence[str], labels: Sequence[str], *, dark: bool = False
) -> go.Figure:
    """Draw one stacked bar per label, from 0 to 100%, with one segment per part (up to six).

    Args:
        values: (label, part), each row summing to 1; the first label is at the top.
    """
    colours = PART_COLOURS_DARK if dark else PART_COLOURS
    figure = go.Figure()
    for index, part in enumerate(parts):
        figure.add_bar(
            y=list(range(len(labels))),
            x=values[:, index],
            orientation="h",
            name=escape(part),
            marker={"color": colours[index]},
            hovertemplate="%{y}<br>%{x:.1%}<extra>%{fullData.name}</extra>",
        )
    lay_out(figure, "share of the variance along the rows", "", dark, height=140 + 30 * len(labels))
    figure.update_layout(barmode="stack", legend={"traceorder": "normal"})
    figure.update_xaxes(tickformat=".0%", range=[0, 1.001])
    figure.update_yaxes(autorange="reversed", showgrid=False, **ticks(labels))
    return figure
