"""The browser views of `figures/` on a Streamlit page."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import streamlit as st

from transformer.figures import translation_data
from transformer.figures.views import loader
from transformer.ui import state
from transformer.ui.kit import exact
from transformer.ui.pages import BY_PATH
from transformer.ui.server import view_scripts
from transformer.ui.trace_cache import Reading


@cache
def component(view: str) -> Callable[..., Any]:
    """What mounts one of `figures.views.COMPONENTS`.

    What a visitor chooses in a view is an event, `on_choice_change`: chosen twice it is heard
    twice. What the explorer looks at lasts: `on_state_change`.
    """
    script = loader(view_scripts.path(view), [*BY_PATH])
    return st.components.v2.component(f"heads_up.{view}", js=script)


explorer = component("explorer")
_translation = component("translation")
_contributions = component("contributions")


def translation(reading: Reading, language: str = "") -> None:
    """The translation, large, in the language of this code, and the pieces read and written."""
    done = reading.trace.translation
    data = translation_data(done.text, done.src_tokens, done.tokens, language=language)
    data["words"] = not exact.on()
    _translation(key="translation", data=data)


def pair(key: str, data: bytes) -> None:
    """Two tables of one head, of `figures.contributions`. The cell that is chosen in them is the
    view's `row` and `column`."""

    def chosen() -> None:
        choice = st.session_state[key]["choice"]
        state.change(row=int(choice["row"]), column=int(choice["column"]))

    _contributions(key=key, data=data, on_choice_change=chosen)
