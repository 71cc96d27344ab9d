"""Inside: one sentence through every box of the paper's Figure 1."""

from __future__ import annotations

import streamlit as st

from transformer.ui import frame

with frame.page("pages/inside.py") as model:
    st.title("Inside")
