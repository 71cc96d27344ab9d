"""Table 1."""

from __future__ import annotations

import streamlit as st


def show() -> None:
    st.subheader("Table 1")
