"""Class: join one with its code, or open one, and see who is there."""

from __future__ import annotations

from transformer.ui.pages.classroom import coming, leading
from transformer.ui.services import live_classes
from transformer.ui.shell import page
from transformer.ui.shell.registry import CLASS

with page.page_without_model(CLASS):
    live_classes.classes()  # a broken limits.toml is said, and nothing else shown
    room = live_classes.mine()
    if room is None:
        coming.show()
    elif live_classes.is_teacher():
        leading.show(room)
    else:
        coming.student(room)
