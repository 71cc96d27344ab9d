"""What was asked for and refused: kept by the callback, said once where it was asked."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from transformer.jobs import JobError
from transformer.ui import frame


def attempt(what: str, act: Callable[[], object]) -> bool:
    """Do it, in a callback; False where that is refused, which `refusal(what)` says."""
    try:
        act()
    except JobError as error:
        refuse(what, error)
        return False
    return True


def refuse(what: str, error: JobError) -> None:
    """Keep the sentence for `refusal`."""
    st.session_state[f"{what}-refused"] = frame.sentence(error)


def refusal(what: str) -> None:
    """Say once why the last attempt was not granted."""
    if refused := st.session_state.pop(f"{what}-refused", ""):
        st.warning(frame.plain(refused))
