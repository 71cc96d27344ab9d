"""Lessons on every page: the client's card of the open lesson, and on the page Learn the list.

The visitor's answers stay in the browser; those of a class go through its own connection
(`services.class_updates`).
"""

from __future__ import annotations

import streamlit as st

from transformer.ui.base.registry import PAGES, path
from transformer.ui.services import live_classes
from transformer.ui.widgets import views


def mount(file: str) -> None:
    """Mount the client's part of a page; its data change only when a class is joined or left."""
    classroom = live_classes.current_class()
    with st.container(key="lesson"):
        views.component("lesson")(
            key="lesson-card",
            data={
                "page": path(file),
                "titles": {path(page_file): page.title for page_file, page in PAGES.items()},
                "class": classroom
                and {
                    "code": classroom.code,
                    "teacher": live_classes.teacher_name(classroom),
                },
            },
        )
