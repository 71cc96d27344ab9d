"""Attention: every head of every layer, in every view, and side by side with another's."""

from __future__ import annotations

import streamlit as st

from transformer.ui import state
from transformer.ui.pages.attention import Attention, comparison, explained, explorer, opened
from transformer.ui.services import trace_cache
from transformer.ui.services.models import Model
from transformer.ui.shell import page
from transformer.ui.widgets import controls, frame


def _checkpoint(model: Model) -> None:
    left, right = st.columns([3, 2], gap="large")
    with left:
        controls.sentence(model)
    with right:
        st.caption(model.about.target)
        translated = st.empty()
        with st.container(horizontal=True):
            with st.popover("Decoding settings"):
                controls.decoding_method(model)
            with st.popover("Compare"):
                comparison.controls(model)
            with st.popover("Open trace"):
                opened.controls()
    reading = trace_cache.read(model, state.view())
    translated.markdown(f"**{frame.plain(reading.trace.text)}**")
    second, versus = comparison.second(model, reading)
    explorer.show(model, reading, second, versus)
    explained.show(model, reading)
    explorer.buttons(model, reading, second, versus)


with page.page("pages/attention.py") as model:
    if state.view(Attention).trace:
        opened.show()
    else:
        _checkpoint(model)
