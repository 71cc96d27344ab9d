"""Accuracy of layer types by distance, one colour per entry."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from transformer.figures.curves import DARK, DASHES, LIGHT, MARKERS, add_band
from transformer.figures.theme import LEGEND_ABOVE, note_empty, theme

Curve = tuple[npt.NDArray[np.floating], npt.NDArray[np.floating]]
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
    figure.update_layout(
        template=theme(dark),
        uirevision="distance",  # which keeps the reader's zoom
        legend=LEGEND_ABOVE,
        margin={"l": 62, "r": 10, "t": 10, "b": 50},
        showlegend=True,
        height=430,
    )
    figure.update_xaxes(
        title="distance to remember, positions",
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
