"""What widgets call: a choice that the view follows, an attempt that may be refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from transformer.jobs import JobError
from transformer.ui.widgets import frame


def controlled(key: str, value: object, take: Callable[[Any], None]) -> dict[str, Any]:
    """Arguments of a widget that shows `now`; what is chosen in it, if anything, goes to `take`."""
    st.session_state[key] = value

    def chosen() -> None:
        if st.session_state[key] is not None:
            take(st.session_state[key])

    return {"key": key, "on_change": chosen}


def attempt(name: str, act: Callable[[], object]) -> bool:
    """Do it, in a callback; False where that is refused, which `refusal(what)` says."""
    try:
        act()
    except JobError as error:
        store_refusal(name, error)
        return False
    return True


def store_refusal(name: str, error: JobError) -> None:
    """Keep the sentence for `refusal`."""
    st.session_state[f"{name}-refused"] = frame.as_sentence(error)


def show_refusal(name: str) -> None:
    """Say once why the last attempt was not granted."""
    if refused := st.session_state.pop(f"{name}-refused", ""):
        st.warning(frame.plain(refused))
