"""Paths."""

from __future__ import annotations

import streamlit as st


def show() -> None:
    st.subheader("Paths")
