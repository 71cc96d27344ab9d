"""A Plotly figure on a page, in the page's width and in its own colours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st


def dark() -> bool:
    """Whether the visitor's theme is dark."""
    return bool(st.context.theme.type == "dark")


def chart(figure: object, key: str, picked: Callable[[], object] | None = None) -> None:
    """The figure as it is, without Plotly's tools; `picked` is called when a point is clicked."""
    chosen: dict[str, Any] = {"on_select": picked, "selection_mode": "points"} if picked else {}
    st.plotly_chart(figure, theme=None, key=key, config={"displayModeBar": False}, **chosen)
