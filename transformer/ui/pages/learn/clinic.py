"""The bug clinic: the same page as in the static site. All that it keeps stays in the browser."""

from __future__ import annotations

from functools import cache
from typing import Any

import streamlit as st

from transformer.figures.views import loader
from transformer.ui.base.registry import BY_PATH
from transformer.ui.services import view_scripts
from transformer.ui.widgets import frame
from transformer.ui.widgets.lessons.lesson import LIST_PAGE


@cache
def _component() -> Any:
    script = loader(view_scripts.training_path("clinic/component.js"), [*BY_PATH])
    return st.components.v2.component("heads_up.clinic", js=script)


def link() -> None:
    """Draw a link to the clinic."""
    frame.page_link(
        LIST_PAGE, "Broken Transformers: find the mistake from what you see →", clinic=1
    )


def show() -> None:
    """Draw the clinic."""
    frame.page_link(LIST_PAGE, "← All lessons", clinic=0)
    st.header("Bug clinic", anchor=False)
    _component()(key="clinic", data={})
