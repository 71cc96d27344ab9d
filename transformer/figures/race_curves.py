"""The curves of a race: one colour an entry, a thin line a seed, a thick one for their mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from transformer.figures.curves import DARK, DASHES, LIGHT, thin
from transformer.figures.theme import theme

Curve = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]
MOST = 200
"""Points of one seed's curve: a race has many."""


def race_curves(
    entries: Mapping[str, Sequence[Curve]],
    name: str,
    *,
    share: bool = False,
    marked: bool = False,
    top: float | None = None,
    dark: bool = False,
) -> go.Figure:
    """All seeds of all entries over their steps, and each entry's mean.

    The mean is drawn where every seed of the entry has a value, taken between its points in a
    straight line; with one seed there is none. An entry keeps its colour and dashes from one call
    to the next, whether or not those before it have begun.

    Args:
        entries: by name the (steps, values) of its seeds, in order of steps.
        name: of the values, with their unit.
        share: whether they are from 0 to 1, written in percent.
        marked: whether each point of a seed is marked, for between them nothing was measured.
        top: greatest value on the axis, so that figures beside each other compare.
        dark: colours for a dark ground; the ground itself is left open.
    """
    palette = DARK if dark else LIGHT
    figure = go.Figure()
    for place, (entry, seeds) in enumerate(entries.items()):
        seeds = [(x, y) for x, y in seeds if len(x)]
        colour, dash = palette[place % len(palette)], DASHES[place % len(DASHES)]
        middle = mean(seeds)
        for number, curve in enumerate(seeds):
            x, y = thin(*curve, MOST)
            figure.add_scatter(
                x=x,
                y=y,
                name=escape(entry, quote=False),
                legendgroup=str(place),
                showlegend=number == 0 and middle is None,
                mode="lines+markers" if marked or len(x) == 1 else "lines",
                marker={"color": colour, "size": 4},
                line={"color": colour, "width": 1, "dash": "solid" if middle else dash},
                opacity=0.55 if middle else 1.0,
                hoverinfo="skip" if middle else None,
            )
        if middle is not None:
            figure.add_scatter(
                x=middle[0],
                y=middle[1],
                name=escape(entry, quote=False),
                legendgroup=str(place),
                mode="lines",
                line={"color": colour, "width": 3, "dash": dash},
                hovertemplate=f"%{{y:{'.1%' if share else '.4~g'}}}, mean of {len(seeds)} seeds, "
                "step %{x:,.0f}<extra>%{fullData.name}</extra>",
            )
    _lay_out(figure, name, share, top, dark)
    return figure


def mean(seeds: Sequence[Curve]) -> Curve | None:
    """The mean of several curves at all their steps that lie within every one of them; None for
    fewer than two curves, or where they share no stretch."""
    if len(seeds) < 2:
        return None
    first = max(float(x[0]) for x, _ in seeds)
    last = min(float(x[-1]) for x, _ in seeds)
    steps = np.unique(np.concatenate([x for x, _ in seeds]))
    steps = steps[(steps >= first) & (steps <= last)]
    if not len(steps):
        return None
    values = np.mean([np.interp(steps, x, y) for x, y in seeds], axis=0)
    return thin(steps, values, MOST)


def _lay_out(figure: go.Figure, name: str, share: bool, top: float | None, dark: bool) -> None:
    figure.update_layout(
        template=theme(dark),
        uirevision=name,  # who has zoomed in stays there
        hovermode="closest",
        legend={"orientation": "h", "y": 1.02, "x": 0, "yanchor": "bottom"},
        margin={"l": 62, "r": 10, "t": 10, "b": 50},
        showlegend=True,
    )
    figure.update_xaxes(title="step", rangemode="tozero")
    figure.update_yaxes(title=name, rangemode="tozero")
    if share:
        figure.update_yaxes(tickformat=".0%", range=[-0.02, 1.02])
    elif top is not None:
        figure.update_yaxes(range=[0, 1.03 * top])
    if not figure.data:
        figure.add_annotation(
            text="Nothing to draw yet", showarrow=False, xref="paper", yref="paper", x=0.5, y=0.5
        )
