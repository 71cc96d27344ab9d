"""Findings: what papers found about heads, repeated on the chosen model."""

from __future__ import annotations

import streamlit as st

from transformer.ui import findings, frame

with frame.page("pages/findings.py") as model:
    st.title("Findings")
    findings.show(model)
