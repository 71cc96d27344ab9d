"""Curves of a race between layer types, one colour per entry, and accuracy by distance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from transformer.figures.curves import DARK, DASHES, LIGHT, MARKERS, add_band, thin
from transformer.figures.theme import LEGEND_ABOVE, note_empty, theme

Curve = tuple[npt.NDArray[np.floating], npt.NDArray[np.floating]]
MAX_POINTS = 200
"""Maximum number of points per curve, as a race has many curves."""


def race_curves(
    entries: Mapping[str, Sequence[Curve]],
    name: str,
    *,
    share: bool = False,
    marked: bool = False,
    top: float | None = None,
    dark: bool = False,
) -> go.Figure:
    """Draw every seed of every entry over its steps, and each entry's mean.

    The mean covers the steps where every seed has a value, interpolated linearly; an entry with one
    seed has none. Colour and dashes follow from the entry's position, also if it has no curve yet.

    Args:
        entries: (steps, values) of each seed in order of steps, by the name of the entry.
        name: name of the values with their unit.
        share: whether values are from 0 to 1, shown in percent.
        marked: whether to mark every point of a seed, when nothing was measured between them.
        top: upper end of the y axis, so that figures next to each other can be compared.
    """
    palette = DARK if dark else LIGHT
    figure = go.Figure()
    for index, (entry, seeds) in enumerate(entries.items()):
        seeds = [(x, y) for x, y in seeds if len(x)]
        colour, dash = palette[index % len(palette)], DASHES[index % len(DASHES)]
        mean_curve = mean(seeds)
        for number, curve in enumerate(seeds):
            x, y = thin(*curve, MAX_POINTS)
            figure.add_scatter(
                x=x,
                y=y,
                name=escape(entry, quote=False),
                legendgroup=str(index),
                showlegend=number == 0 and mean_curve is None,
                mode="lines+markers" if marked or len(x) == 1 else "lines",
                marker={"color": colour, "size": 4},
                line={"color": colour, "width": 1, "dash": "solid" if mean_curve else dash},
                opacity=0.55 if mean_curve else 1.0,
                hoverinfo="skip" if mean_curve else None,
            )
        if mean_curve is not None:
            figure.add_scatter(
                x=mean_curve[0],
                y=mean_curve[1],
                name=escape(entry, quote=False),
                legendgroup=str(index),
                mode="lines",
                line={"color": colour, "width": 3, "dash": dash},
                hovertemplate=f"%{{y:{'.1%' if share else '.4~g'}}}, mean of {len(seeds)} seeds, "
                "step %{x:,.0f}<extra>%{fullData.name}</extra>",
            )
    _lay_out(figure, name, share, top, dark)
    return figure


def mean(seeds: Sequence[Curve]) -> Curve | None:
    """Return the mean of the curves over the steps that all of them cover; None for fewer than two
    curves, or if no step is covered by all."""
    if len(seeds) < 2:
        return None
    first = max(float(x[0]) for x, _ in seeds)
    last = min(float(x[-1]) for x, _ in seeds)
    steps = np.unique(np.concatenate([x for x, _ in seeds]))
    steps = steps[(steps >= first) & (steps <= last)]
    if not len(steps):
        return None
    values = np.mean([np.interp(steps, x, y) for x, y in seeds], axis=0)
    return thin(steps, values, MAX_POINTS)


def _lay_out(figure: go.Figure, name: str, share: bool, top: float | None, dark: bool) -> None:
    _set_base_layout(figure, dark, name)
    figure.update_layout(hovermode="closest")
    figure.update_xaxes(title="step", rangemode="tozero")
    figure.update_yaxes(title=name, rangemode="tozero")
    if share:
        figure.update_yaxes(tickformat=".0%", range=[-0.02, 1.02])
    elif top is not None:
        figure.update_yaxes(range=[0, 1.03 * top])
    if not figure.data:
        note_empty(figure)


GREY = "rgba(128,128,128,0.8)"


def accuracy_by_distance(
    entries: Mapping[str, Sequence[Curve]],
    reach: Mapping[str, float],
    chance: float,
    *,
    dark: bool = False,
) -> go.Figure:
    """Draw each entry's mean over its seeds, with a band from the worst to the best seed.

    A vertical line marks the reach of an entry that theory limits.

    Args:
        entries: (distances, shares of correct answers) of each seed, by the name of the entry; all
            seeds of an entry have the same distances. Its colour follows from its position.
        reach: reach of each entry in positions; infinite if unlimited.
        chance: the accuracy of random guessing.
    """
    palette = DARK if dark else LIGHT
    figure = go.Figure()
    max_distance = max((float(x[-1]) for seeds in entries.values() for x, _ in seeds), default=1.0)
    for index, (entry, seeds) in enumerate(entries.items()):
        if not seeds:
            continue
        colour, name = palette[index % len(palette)], escape(entry, quote=False)
        x, values = seeds[0][0], np.stack([y for _, y in seeds])
        if len(seeds) > 1:
            low, high = values.min(axis=0), values.max(axis=0)
            add_band(figure, x, low, high, colour, legendgroup=entry)
        seeds_note = f", mean of {len(seeds)} seeds" if len(seeds) > 1 else ""
        figure.add_scatter(
            x=x, y=values.mean(axis=0), name=name, legendgroup=entry, mode="lines+markers",
            line={"color": colour, "width": 2.6, "dash": DASHES[index % len(DASHES)]},
            marker={"symbol": MARKERS[index % len(MARKERS)], "size": 8},
            hovertemplate=f"distance %{{x}}: %{{y:.1%}} correct{seeds_note}<extra>{name}</extra>",
        )  # fmt: skip
        if reach.get(entry, math.inf) < max_distance:
            _mark_reach(figure, name, reach[entry], colour, index)
    figure.add_hline(
        y=chance, line={"color": GREY, "dash": "dot", "width": 1.5},
        annotation={"text": f"chance {chance:.1%}", "font": {"size": 12}},
        annotation_position="bottom left",
    )  # fmt: skip
    _lay_out_distances(figure, entries, dark)
    return figure


def _mark_reach(figure: go.Figure, name: str, reach: float, colour: str, index: int) -> None:
    """Mark the end of an entry's reach by a vertical line half a position to its right."""
    end_x = reach + 0.5
    figure.add_scatter(
        x=[end_x, end_x], y=[0, 1.06 + 0.07 * (index % 3)], mode="lines+text",
        text=["", f"reach {reach:g}"], textposition="middle right", textfont={"color": colour},
        line={"color": colour, "width": 1.5, "dash": "dot"}, legendgroup=name, showlegend=False,
        hovertemplate=f"information can travel at most {reach:g} positions"
        f"<extra>{name}</extra>",
    )  # fmt: skip


def _lay_out_distances(
    figure: go.Figure, entries: Mapping[str, Sequence[Curve]], dark: bool
) -> None:
    ticks = sorted({int(d) for seeds in entries.values() for x, _ in seeds for d in x})
    _set_base_layout(figure, dark, "distance")
    figure.update_xaxes(
        title="distance between reading and writing a letter, positions",
        type="log", tickvals=ticks, ticktext=[str(tick) for tick in ticks],
    )  # fmt: skip
    figure.update_yaxes(
        title="accuracy",
        tickformat=".0%",
        range=[-0.02, 1.29],
        tickvals=[0, 0.2, 0.4, 0.6, 0.8, 1],
    )
    if not ticks:
        figure.update_xaxes(type="linear", showticklabels=False)
        note_empty(figure)


def _set_base_layout(figure: go.Figure, dark: bool, revision: str) -> None:
    """Set what both kinds of figure share; the reader's zoom stays while `revision` is the same."""
    figure.update_layout(
        template=theme(dark),
        uirevision=revision,
        legend=LEGEND_ABOVE,
        margin={"l": 62, "r": 10, "t": 10, "b": 50},
        showlegend=True,
    )
