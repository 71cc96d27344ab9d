"""Translate: a sentence, its translation, and how each piece of it was chosen."""

from __future__ import annotations

import streamlit as st

from transformer.ui.pages.translate import result
from transformer.ui.shell import page
from transformer.ui.widgets import controls, frame

with page.page("pages/translate.py") as model:
    left, right = st.columns(2, gap="large")
    with left:
        controls.sentence(model)
    with right:
        reading = result.show(model)
    controls.decoding_method(model)
    if reading is not None:
        result.steps(model, reading)
        frame.page_link("pages/attention.py", "Show the attention →")
