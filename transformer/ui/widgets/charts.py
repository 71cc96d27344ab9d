"""Plotly figures on a page, and heatmaps of heads with a common colour scale."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import plotly.graph_objects as go
import streamlit as st
from jaxtyping import Float

from transformer.figures.positions import table
from transformer.figures.state import KINDS
from transformer.figures.theme import enlarged
from transformer.measures import naming
from transformer.measures.kinds import AttentionKind
from transformer.ui.base import state
from transformer.ui.widgets import display_names


def dark() -> bool:
    return bool(st.context.theme.type == "dark")


def chart(figure: go.Figure, key: str) -> None:
    """Draw a figure without Plotly's toolbar, larger for a projector."""
    figure = enlarged(figure) if state.is_large() else figure
    st.plotly_chart(figure, theme=None, key=key, config={"displayModeBar": False})


def head_heatmaps(
    values_by_kind: Mapping[AttentionKind, Float[np.ndarray, "layers heads"]],
    quantity: str,
    key: str,
    title: Callable[[str, float], str] = lambda head, value: "",
    *,
    hover: Mapping[AttentionKind, np.ndarray] | None = None,
    weights: bool = False,
) -> float:
    """Draw one heatmap for each kind of attention; return the limit of the colour scale.

    Args:
        values_by_kind: in the order of display.
        quantity: name of the values; key: of the charts, before the kind.
        title: returns the title after the kind, from the name of the head with the greatest value
            and that value.
        hover: text of each head, instead of its value.
        weights: whether to use the colours of weights, from 0.
    """
    limit = max(float(np.abs(values).max()) for values in values_by_kind.values()) or 1.0
    for (kind, values), column in zip(
        values_by_kind.items(), st.columns(len(values_by_kind)), strict=True
    ):
        layer, head = map(int, np.unravel_index(int(values.argmax()), values.shape))
        figure = table(
            values,
            [display_names.number(index) for index in range(values.shape[0])],
            [display_names.number(index) for index in range(values.shape[1])],
            y_title="layer",
            x_title="head",
            quantity=quantity,
            limit=limit,
            weights=weights,
            dark=dark(),
        )
        if hover:
            figure.update_traces(
                customdata=hover[kind],
                hovertemplate="layer %{y}, head %{x}<br>%{customdata}<extra></extra>",
            )
        figure.update_layout(height=300, margin={"l": 48, "r": 4, "t": 8, "b": 48})
        with column:
            name = naming.short_name(layer, head)
            st.markdown(f"**{KINDS[kind]}**{title(name, float(values[layer, head]))}")
            chart(figure, f"{key}-{kind}")
    return limit
