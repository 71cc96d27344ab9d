"""The browser views of `figures/` on a Streamlit page."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import streamlit as st

from transformer.figures import module, style, translation_data
from transformer.ui import state
from transformer.ui.readings import Reading


@cache
def component(view: str) -> Callable[..., Any]:
    """What mounts one of `figures.views.COMPONENTS`.

    What a visitor chooses in a view is an event, `on_choice_change`: chosen twice it is heard
    twice. What the explorer looks at lasts: `on_state_change`.
    """
    return st.components.v2.component(f"heads_up.{view}", css=style(view), js=module(view))


explorer = component("explorer")
_translation = component("translation")
_moves = component("moves")


def translation(reading: Reading) -> None:
    """The translation, large, and the pieces that were read and written."""
    done = reading.trace.translation
    data = translation_data(done.text, done.src_tokens, done.tokens)
    _translation(key="translation", data=data)


def pair(key: str, data: bytes) -> None:
    """Two tables of one head, of `figures.moves.moves_data`. The cell that is chosen in them is the
    view's `row` and `column`."""

    def chosen() -> None:
        told = st.session_state[key]["choice"]
        state.change(row=int(told["row"]), column=int(told["column"]))

    _moves(key=key, data=data, on_choice_change=chosen)
