"""Callbacks of widgets: controlled values, and actions that can be refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from transformer.classroom import ClassroomError
from transformer.jobs import JobError
from transformer.ui.widgets import frame


def controlled(key: str, value: object, store: Callable[[Any], None]) -> dict[str, Any]:
    """Return the arguments of a widget that shows `value` and passes a new choice to `store`."""
    st.session_state[key] = value

    def on_change() -> None:
        if st.session_state[key] is not None:
            store(st.session_state[key])

    return {"key": key, "on_change": on_change}


def attempt(name: str, action: Callable[[], object]) -> bool:
    """Call `action` in a callback; return False if it is refused, and keep the reason for
    `show_refusal(name)`."""
    try:
        action()
    except (JobError, ClassroomError) as error:
        store_refusal(name, error)
        return False
    return True


def store_refusal(name: str, error: JobError | ClassroomError) -> None:
    """Store the error's message for `show_refusal`."""
    st.session_state[f"{name}-refused"] = frame.as_sentence(error)


def show_refusal(name: str) -> None:
    """Show once why the last attempt was refused."""
    if refused := st.session_state.pop(f"{name}-refused", ""):
        st.warning(frame.plain(refused))
