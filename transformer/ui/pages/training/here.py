"""A run that trains in the browser: the same page as in the static site."""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from typing import Any

import streamlit as st

from transformer.classroom.codes import ClassroomError
from transformer.classroom.tab_runs import TabRun
from transformer.figures.views import loader
from transformer.ui.base import state, visitor
from transformer.ui.base.registry import BY_PATH
from transformer.ui.pages.training import Train
from transformer.ui.services import live_classes, view_scripts
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
    """Draw the page. The browser trains; the server keeps only the link of the run, and for a class
    its curve. Students of a class train with different seeds, so that the class sees the spread."""
    frame.page_link("pages/train.py", "← All ways to train", here="", run="", race="")
    classroom = live_classes.current_class()
    member = classroom.member(visitor.current_id()) if classroom else None
    data = {"link": state.view(Train).here, "seed": member.number if member else 0}
    _component()(key=KEY, data=data, on_choice_change=_take_report)


def _take_report() -> None:
    """Keep the link of the run, or show the class its curve."""
    if KEY not in st.session_state:
        return
    choice = st.session_state[KEY]["choice"]
    if "link" in choice:
        state.change(here=str(choice["link"]))
    elif classroom := live_classes.current_class():
        with suppress(ClassroomError):
            classroom.report_tab_run(visitor.current_id(), TabRun.read(choice.get("points")))
