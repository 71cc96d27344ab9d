"""All heads of a translation in the explorer, side by side with a second one, or a trace file."""

from __future__ import annotations

import streamlit as st

from transformer.ui.base import state
from transformer.ui.pages.home import Home, comparison, explorer, trace_files
from transformer.ui.services import trace_cache
from transformer.ui.services.models import Model
from transformer.ui.widgets import controls, frame


def show(model: Model) -> None:
    """Draw the translation and the explorer."""
    cached_trace = trace_cache.read(model, state.view(Home))
    with st.container(horizontal=True, key="depth-tools"):
        with st.popover("Decoding settings"):
            controls.decoding_method(model)
        with st.popover("Compare"):
            comparison.controls(model)
        with st.popover("Open trace"):
            trace_files.controls()
    second, second_kind = comparison.load_second(model, cached_trace)
    explorer.show(model, cached_trace, second, second_kind)
    st.markdown(f"{model.description.target}: **{frame.plain(cached_trace.trace.text)}**")
    explorer.export_buttons(model, cached_trace, second, second_kind)
