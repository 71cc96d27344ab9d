"""A Plotly figure on a page, in the page's width and in its own colours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from transformer.figures.theme import enlarged
from transformer.ui import state


def dark() -> bool:
    """Whether the visitor's theme is dark."""
    return bool(st.context.theme.type == "dark")


def chart(figure: go.Figure, key: str, picked: Callable[[], object] | None = None) -> None:
    """The figure without Plotly's tools, larger for a projector; `picked` is called when a point is
    clicked."""
    chosen: dict[str, Any] = {"on_select": picked, "selection_mode": "points"} if picked else {}
    figure = enlarged(figure) if state.is_large() else figure
    st.plotly_chart(figure, theme=None, key=key, config={"displayModeBar": False}, **chosen)
