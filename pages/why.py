"""Why self-attention: the paper's Table 1, counted, measured and raced."""

from __future__ import annotations

import streamlit as st

from transformer.ui import frame

with frame.workshop("pages/why.py"):
    st.title("Why self-attention")
