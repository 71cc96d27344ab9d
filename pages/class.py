"""Class: join or open a class and see its members."""

from __future__ import annotations

from transformer.ui.base.registry import CLASS
from transformer.ui.pages.classroom import membership
from transformer.ui.services import live_classes
from transformer.ui.widgets import page

with page.page_without_model(CLASS):
    live_classes.classes()  # reports an invalid limits.toml and ends the rerun
    classroom = live_classes.current_class()
    if classroom is None:
        membership.join_or_open()
    elif live_classes.is_teacher():
        membership.teacher(classroom)
    else:
        membership.student(classroom)
