"""Positions: how a model without order is told about order."""

from __future__ import annotations

import streamlit as st

from transformer.ui import frame

with frame.page("pages/positions.py") as model:
    st.title("Positions")
