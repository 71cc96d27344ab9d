"""A bar chart of offsets: how many rows of a head have their greatest weight at each offset."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from transformer.figures.curves import DARK, LIGHT
from transformer.figures.theme import theme


def offsets(counts: Sequence[tuple[int, int]], max_offset: int, *, dark: bool = False) -> go.Figure:
    """Draw a bar per offset, the most common one in another colour.

    Args:
        counts: pairs of an offset and its number of rows; offset 0 is the row's own position.
        max_offset: the largest offset drawn; it and -`max_offset` include all that is farther.

    Raises:
        ValueError: if there are no rows.
    """
    total = sum(rows for _, rows in counts)
    if not total:
        raise ValueError("There are no rows to count.")
    max_rows = max(rows for _, rows in counts)
    palette = DARK if dark else LIGHT
    ends = {max_offset: f"+{max_offset} or more", -max_offset: f"−{max_offset} or less"}
    figure = go.Figure(
        go.Bar(
            x=[offset for offset, _ in counts],
            y=[rows / total for _, rows in counts],
            marker={
                "color": [palette[2] if rows == max_rows else palette[0] for _, rows in counts]
            },
            customdata=[[ends.get(offset, signed_offset(offset)), rows] for offset, rows in counts],
            hovertemplate="offset %{customdata[0]}<br>%{y:.1%} of the rows, %{customdata[1]:,}"
            "<extra></extra>",
        )
    )
    figure.update_layout(
        template=theme(dark),
        margin={"l": 64, "r": 12, "t": 12, "b": 56},
        height=300,
        bargap=0.15,
        dragmode=False,
    )
    max_distance = max(4, *(abs(offset) for offset, _ in counts))
    tick_step = 4 if max_distance > 8 else 2
    steps = list(range(-(max_distance // tick_step) * tick_step, max_distance + 1, tick_step))
    figure.update_xaxes(
        title="offset of the greatest weight, tokens",
        range=[-max_distance - 0.6, max_distance + 0.6],
        tickvals=steps,
        ticktext=[signed_offset(offset) for offset in steps],
    )
    figure.update_yaxes(title="rows", tickformat=".0%")
    return figure


def signed_offset(offset: int) -> str:
    """Return an offset with its sign and a typographic minus: −1, 0, +1."""
    return f"{offset:+d}".replace("-", "−") if offset else "0"
