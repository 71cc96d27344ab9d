"""A Plotly figure on a page, in the page's width and in its own colours."""

from __future__ import annotations

import streamlit as st


def dark() -> bool:
    """Whether the visitor's theme is dark."""
    return bool(st.context.theme.type == "dark")


def chart(figure: object, key: str) -> None:
    """The figure as it is, without Plotly's tools."""
    st.plotly_chart(figure, theme=None, key=key, config={"displayModeBar": False})
