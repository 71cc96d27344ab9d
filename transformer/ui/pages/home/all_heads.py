"""All heads of a translation in the explorer, side by side with a second one."""

from __future__ import annotations

import streamlit as st

from transformer.ui.base import state
from transformer.ui.pages.home import Home, comparison, explorer
from transformer.ui.services import trace_cache
from transformer.ui.services.models import Model
from transformer.ui.widgets import frame


def show(model: Model) -> None:
    """Draw the translation and the explorer."""
    view = state.view(Home)
    cached_trace = trace_cache.read(model, view)
    if view.more or view.view == "compare" or comparison.is_requested(view):
        with st.container(horizontal=True, key="depth-tools"), st.popover("Compare"):
            comparison.controls(model)
    second, second_kind = comparison.load_second(model, cached_trace)
    explorer.show(model, cached_trace, second, second_kind)
    st.markdown(f"{model.description.target}: **{frame.plain(cached_trace.trace.text)}**")
    explorer.export_buttons(model, cached_trace, second, second_kind)
