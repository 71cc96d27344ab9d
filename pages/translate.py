"""Translate: a sentence, its translation and its decoding steps."""

from __future__ import annotations

import streamlit as st

from transformer.ui.pages.translate import result
from transformer.ui.shell import page
from transformer.ui.widgets import controls, frame

with page.page("pages/translate.py") as model:
    sentence_column, result_column = st.columns(2, gap="large")
    with sentence_column:
        controls.sentence(model)
    with result_column:
        cached_trace = result.show(model)
    controls.decoding_method(model)
    if cached_trace is not None:
        result.steps(model, cached_trace)
        frame.page_link("pages/attention.py", "Show the attention →")
