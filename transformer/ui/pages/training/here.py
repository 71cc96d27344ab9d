"""A run that trains in the browser: the same page as in the static site."""

from __future__ import annotations

from functools import cache
from typing import Any

import streamlit as st

from transformer.figures.views import loader
from transformer.ui.base import state
from transformer.ui.base.registry import BY_PATH
from transformer.ui.pages.training import Train
from transformer.ui.services import view_scripts
from transformer.ui.widgets import frame

KEY = "trainer"


@cache
def _component() -> Any:
    script = loader(view_scripts.training_path("trainer/component.js"), [*BY_PATH])
    return st.components.v2.component("heads_up.trainer", js=script)


def link(label: str, task: str) -> None:
    """Draw a link that begins to train this task in the browser."""
    frame.page_link("pages/train.py", label, here=f"task={task}", run="", race="")


def show() -> None:
    """Draw the page. The browser trains; the server only keeps the link of the run."""
    frame.page_link("pages/train.py", "← All ways to train", here="", run="", race="")
    _component()(key=KEY, data={"link": state.view(Train).here}, on_choice_change=_keep_link)


def _keep_link() -> None:
    if KEY in st.session_state:
        state.change(here=str(st.session_state[KEY]["choice"]["link"]))
