"""Attention: every head of every layer in every view, and side by side with a second trace."""

from __future__ import annotations

import streamlit as st

from transformer.ui import state
from transformer.ui.pages.attention import Attention, comparison, explorer, trace_files
from transformer.ui.services import trace_cache
from transformer.ui.services.models import Model
from transformer.ui.shell import page
from transformer.ui.widgets import controls, frame


def _checkpoint(model: Model) -> None:
    sentence_column, settings_column = st.columns([3, 2], gap="large")
    with sentence_column:
        controls.sentence(model)
    with settings_column:
        st.caption(model.description.target)
        translated = st.empty()
        with st.container(horizontal=True):
            with st.popover("Decoding settings"):
                controls.decoding_method(model)
            with st.popover("Compare"):
                comparison.controls(model)
            with st.popover("Open trace"):
                trace_files.controls()
    cached_trace = trace_cache.read(model, state.view())
    translated.markdown(f"**{frame.plain(cached_trace.trace.text)}**")
    second, second_kind = comparison.load_second(model, cached_trace)
    explorer.show(model, cached_trace, second, second_kind)
    explorer.export_buttons(model, cached_trace, second, second_kind)


with page.page("pages/attention.py") as model:
    if state.view(Attention).trace:
        trace_files.show()
    else:
        _checkpoint(model)
