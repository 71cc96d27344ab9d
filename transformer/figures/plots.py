"""The attention heatmap as a Plotly figure for a notebook, a slide or a paper."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from transformer.figures.theme import RAMP, cell_ticks

TICKS = (0.0, 0.01, 0.1, 0.25, 0.5, 1.0)
CELL, MARGIN = 34, 130  # pixels


def heatmap(
    weights: npt.NDArray[np.floating],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    title: str = "",
) -> go.Figure:
    """Draw one head's attention as a heatmap with hover values.

    Args:
        weights: (query, key), each from 0 to 1; colours follow the square root, so that small
            weights are visible.
        rows: a label for each query ("attends from").
        columns: a label for each key ("attends to").
        title: title above the figure.

    Raises:
        ValueError: if labels and weights do not match, or a weight is not from 0 to 1.
    """
    if hasattr(weights, "detach"):  # a tensor, of any device and number format
        weights = weights.detach().cpu().double().numpy()
    weights = np.asarray(weights)
    if weights.shape != (len(rows), len(columns)):
        raise ValueError(
            f"weights of shape {weights.shape} do not fit {len(rows)} row labels and "
            f"{len(columns)} column labels"
        )
    if not bool(np.all((weights >= 0) & (weights <= 1 + 1e-5))):
        raise ValueError("weights must be numbers from 0 to 1")
    figure = go.Figure(
        go.Heatmap(
            z=np.sqrt(np.asarray(weights, dtype=np.float64)),
            customdata=np.asarray(weights, dtype=np.float64),
            zmin=0,
            zmax=1,
            colorscale=RAMP[False],
            colorbar={
                "title": "weight",
                "tickvals": [math.sqrt(tick) for tick in TICKS],
                "ticktext": [f"{tick:g}" for tick in TICKS],
            },
            hovertemplate="%{y} → %{x}<br>weight %{customdata:.4f}<extra></extra>",
            xgap=1,
            ygap=1,
        )
    )
    figure.update_layout(
        template="none",
        title=escape(title),
        width=MARGIN * 2 + CELL * len(columns),
        height=MARGIN * 2 + CELL * len(rows),
        margin={"l": MARGIN, "t": MARGIN},
    )
    row_ticks, column_ticks = (
        cell_ticks([escape(str(label), quote=False) for label in labels])
        for labels in (rows, columns)
    )
    figure.update_xaxes(title="attends to", side="top", **column_ticks)
    figure.update_yaxes(title="attends from", autorange="reversed", **row_ticks)
    return figure
