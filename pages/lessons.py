"""Lessons: a way through all pages, a question on each step."""

from __future__ import annotations

import streamlit as st

from transformer.ui import frame

with frame.workshop("pages/lessons.py"):
    st.title("Lessons")
