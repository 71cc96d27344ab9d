"""Accuracy against distance: how far each layer carries what it has read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from transformer.figures.curves import DARK, DASHES, LIGHT, MARKS
from transformer.figures.theme import theme

Curve = tuple[npt.NDArray[np.floating], npt.NDArray[np.floating]]
GREY = "rgba(128,128,128,0.8)"


def accuracy_by_distance(
    entries: Mapping[str, Sequence[Curve]],
    reach: Mapping[str, float],
    chance: float,
    *,
    dark: bool = False,
) -> go.Figure:
    """A line for each entry, the mean over its seeds, and a ground from the worst to the best.

    Where theory ends an entry's reach, its line has a mark on the axis of chance.

    Args:
        entries: by name the (distances, shares of right answers) of its seeds; the distances are
            the same for all seeds of an entry. An entry keeps its colour when others come.
        reach: of each entry, in positions; infinite where there is no end.
        chance: share that guessing gets right.
        dark: colours for a dark ground; the ground itself is left open.
    """
    palette = DARK if dark else LIGHT
    figure = go.Figure()
    far = max((float(x[-1]) for seeds in entries.values() for x, _ in seeds), default=1.0)
    for place, (entry, seeds) in enumerate(entries.items()):
        if not seeds:
            continue
        colour, name = palette[place % len(palette)], escape(entry, quote=False)
        x, values = seeds[0][0], np.stack([y for _, y in seeds])
        if len(seeds) > 1:
            figure.add_scatter(
                x=[*x, *x[::-1]], y=[*values.max(axis=0), *values.min(axis=0)[::-1]],
                fill="toself", fillcolor=colour, opacity=0.18, line={"width": 0}, mode="lines",
                legendgroup=entry, showlegend=False, hoverinfo="skip",
            )  # fmt: skip
        of = f", mean of {len(seeds)} seeds" if len(seeds) > 1 else ""
        figure.add_scatter(
            x=x, y=values.mean(axis=0), name=name, legendgroup=entry, mode="lines+markers",
            line={"color": colour, "width": 2.6, "dash": DASHES[place % len(DASHES)]},
            marker={"symbol": MARKS[place % len(MARKS)], "size": 8},
            hovertemplate=f"distance %{{x}}: %{{y:.1%}} right{of}<extra>{name}</extra>",
        )  # fmt: skip
        if reach.get(entry, math.inf) < far:
            _mark(figure, name, reach[entry], colour, place)
    figure.add_hline(
        y=chance, line={"color": GREY, "dash": "dot", "width": 1.5},
        annotation={"text": f"chance {chance:.1%}", "font": {"size": 12}},
        annotation_position="bottom left",
    )  # fmt: skip
    _lay_out(figure, entries, dark)
    return figure


def _mark(figure: go.Figure, name: str, reach: float, colour: str, place: int) -> None:
    """The end of an entry's reach: a line from top to bottom, half a step to its right."""
    at = reach + 0.5
    figure.add_scatter(
        x=[at, at], y=[0, 1.06 + 0.07 * (place % 3)], mode="lines+text",
        text=["", f"reach {reach:g}"], textposition="middle right", textfont={"color": colour},
        line={"color": colour, "width": 1.5, "dash": "dot"}, legendgroup=name, showlegend=False,
        hovertemplate=f"it can carry something over {reach:g} positions, and over no more"
        f"<extra>{name}</extra>",
    )  # fmt: skip


def _lay_out(figure: go.Figure, entries: Mapping[str, Sequence[Curve]], dark: bool) -> None:
    ticks = sorted({int(d) for seeds in entries.values() for x, _ in seeds for d in x})
    figure.update_layout(
        template=theme(dark),
        uirevision="distance",
        legend={"orientation": "h", "y": 1.02, "x": 0, "yanchor": "bottom"},
        margin={"l": 62, "r": 10, "t": 10, "b": 50},
        showlegend=True,
    )
    figure.update_xaxes(
        title="positions from a letter to its mark",
        type="log", tickvals=ticks, ticktext=[str(tick) for tick in ticks],
    )  # fmt: skip
    figure.update_yaxes(
        title="letters right",
        tickformat=".0%",
        range=[-0.02, 1.29],
        tickvals=[0, 0.2, 0.4, 0.6, 0.8, 1],
    )
    if not ticks:
        figure.update_xaxes(type="linear", showticklabels=False)
        figure.add_annotation(
            text="Nothing to draw yet", showarrow=False, xref="paper", yref="paper", x=0.5, y=0.5
        )
