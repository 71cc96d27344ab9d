"""The bug clinic: the same page as in the static site. All that it keeps stays in the browser.

Only the numbers of the solved cases are reported, and only to a class that the visitor has joined.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import streamlit as st

from transformer.classroom.codes import ClassroomError
from transformer.classroom.tab_runs import read_solved_cases
from transformer.ui.base import visitor
from transformer.ui.services import live_classes
from transformer.ui.widgets import frame, views

KEY = "clinic"
PAGE_FILE = "pages/learn.py"


def show() -> None:
    """Draw the clinic."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header("Bug clinic", anchor=False)
        frame.page_link(PAGE_FILE, "← All lessons", clinic=0)
    views.training_component("clinic")(key=KEY, data={}, on_choice_change=_take_report)


def _take_report() -> None:
    """Show the class which cases its student has solved."""
    sent = st.session_state[KEY]["choice"]
    if (classroom := live_classes.current_class()) and isinstance(sent, Mapping):
        with suppress(ClassroomError):
            cases = read_solved_cases(sent.get("solved"))
            classroom.report_solved_cases(visitor.current_id(), cases)
