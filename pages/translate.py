"""Translate: a sentence, its translation, and how each piece of it was chosen."""

from __future__ import annotations

import streamlit as st

from transformer.text.visible import is_blank
from transformer.ui import controls, frame, readings, state, views

with frame.page("pages/translate.py") as model:
    left, right = st.columns(2, gap="large")
    with left:
        controls.sentence(model)
    view = state.view()
    with right:
        if view.method == "forced" and is_blank(view.target):
            st.info(
                "Write a translation of your own below, and see how probable the model finds it."
            )
            reading = None
        else:
            reading = readings.read(model, view)
            views.translation(reading)
    controls.method(model)
    if reading is not None:
        views.steps(reading)
        frame.link("pages/attention.py", "See where the model looked →")
