"""Class: join one with its code, or open one, and see who is there."""

from __future__ import annotations

from transformer.ui.pages.classroom import membership
from transformer.ui.services import live_classes
from transformer.ui.shell import page
from transformer.ui.shell.registry import CLASS

with page.page_without_model(CLASS):
    live_classes.classes()  # a broken limits.toml is said, and nothing else shown
    room = live_classes.current_class()
    if room is None:
        membership.join_or_open()
    elif live_classes.is_teacher():
        membership.teacher(room)
    else:
        membership.student(room)
