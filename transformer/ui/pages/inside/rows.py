"""The rows at the top of the page: its tabs, the parts of the open tab, and the sentence."""

from __future__ import annotations

import streamlit as st

from transformer.ui.base import state
from transformer.ui.services.models import Model
from transformer.ui.widgets import controls


def draw(
    parts: str, model: Model | None = None, lead: str = "", *, parts_in_menu: bool = False
) -> None:
    """Draw the tabs and the parts of the open one, with the model's text field next to them.

    Args:
        parts: the field of the view that selects a part of the tab.
        model: None if this part reads no sentence.
        lead: a line on the open part.
        parts_in_menu: whether the parts are in a menu beside the tabs, not in a row of their own.
    """
    with st.container(key="tabs"):
        columns = st.columns([9, 5] if model else 1, gap="small")
        with columns[0]:
            with st.container(horizontal=True):
                controls.button_row("tab", labelled=False)
                if parts_in_menu:
                    options = state.bound_choice(parts)
                    st.selectbox(width=180, label_visibility="collapsed", **options)
            if not parts_in_menu:
                controls.button_row(parts, labelled=False)
            if lead:
                st.caption(lead)
        if model:
            with columns[1]:
                controls.sentence(model)
