"""The first picture: a field, and below it the translation, written word by word while one types.

What is typed becomes the session's sentence once the model can read it. A word that the visitor
takes in place of the model's begins a translation of this page alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import streamlit as st

from transformer.cancellation import cancelled_by
from transformer.figures.glance import glance_data
from transformer.figures.rooms import STYLE, room_picture
from transformer.inference.rivals import Rival, rival_words
from transformer.text.visible import is_blank
from transformer.ui import state
from transformer.ui.address import EXAMPLE
from transformer.ui.services import trace_cache
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.services.trace_cache import CachedTrace, RerunCancellation
from transformer.ui.shell.registry import HOME, PAGES, path
from transformer.ui.widgets import controls, following, frame, views
from transformer.ui.widgets.fragment import fragment
from transformer.ui.widgets.lessons.course import LESSONS

Rivals = tuple[tuple[Rival, ...], ...]
LEAD = "A model translates what you type. Watch where it looks for every word."
"""What the page says of it."""
KEY = "glance"
_ASKED, _LOOK = "glance_asked", "glance_look"
LOOKED = "pages/attention.py"
"""Where the head that is drawn stands among all the others."""
LONGEST = 20_000
"""Letters that are counted into pieces at all: some hundred times what anybody types."""


@dataclass(frozen=True)
class Wish:
    """What the browser asked for last.

    Attributes:
        text: what stands in the field; number: of the asking, which the answer repeats.
        prefix: pieces that the translation begins with, because the visitor took a word.
        rivals: whether the words that came close are wanted too. They take as long as all else, so
            the picture comes before them.
        problem: why `text` is not translated; then the session keeps its sentence.
        visit: of the page: what was asked on another is over; model: that was looked at.
    """

    text: str
    number: int = 0
    prefix: tuple[int, ...] = ()
    rivals: bool = False
    problem: str = ""
    visit: int = 0
    model: str = ""


def show(model: Model) -> None:
    """The field and the picture, or a sentence that says why there is none.

    A fragment: what is typed draws this anew and not the whole page, which takes as long again.
    """
    fragment(_drawn, "glance")(model)


def _drawn(model: Model) -> None:
    if st.session_state.pop(_LOOK, False):
        st.switch_page(LOOKED, query_params=state.params(LOOKED))
    following.lead_to_page(HOME)  # a class follows what its teacher types
    asked = _asked()
    with cancelled_by(RerunCancellation()):
        data = _picture(model, asked)
    controls.target_language(model)
    views.component("glance")(
        key=KEY,
        data=shown(model, asked, state.view().model, data),
        on_choice_change=lambda: _take(model),
    )


def shown(model: Model, asked: Wish, name: str, picture: dict[str, Any]) -> dict[str, Any]:
    """All that `glance.js` takes: the `picture`, and what stands around it. `name` is the model's
    in the address."""
    about = model.about
    return {
        "number": asked.number,
        "problem": "",
        "typed": asked.text,
        "prefix": list(asked.prefix),
        "known": asked.rivals,
        "unknown": _unknown(model, picture["text"]),
        "reads": about.source,
        "writes": about.target,
        "languages": list(about.languages or ("", "")),
        "hint": about.hint,
        "examples": list(about.examples),
        "model": name,
        "first": EXAMPLE,
        "measured": model.aligner_agreement,
        **picture,
    }


def _picture(model: Model, asked: Wish) -> dict[str, Any]:
    """The session's sentence as it is drawn; the problem with the one in the field, if any."""
    data: dict[str, Any] = {"text": state.view().text}
    problem = {"problem": asked.problem} if asked.problem else {}
    try:
        reading = trace_cache.greedy(model, data["text"], asked.prefix)
        rivals: Rivals = ()
        if asked.rivals:
            rivals = _rivals(model.hash, data["text"], asked.prefix, model, reading)
        data |= glance_data(reading.trace, rivals, len(asked.prefix), model.aligner)
    except ValueError as error:
        problem = problem or {"problem": frame.as_sentence(error)}
    return data | problem


def _asked() -> Wish:
    """What was asked for last, as far as it is still true: the sentence may be another by now."""
    text, now = state.view().text, (state.visit(), state.view().model)
    asked: Wish = st.session_state.get(_ASKED, Wish(text))
    over = (asked.visit, asked.model) != now or (asked.text != text and not asked.problem)
    return Wish(text) if over else asked


def _take(model: Model) -> None:
    """The browser asks: `text`, perhaps `prefix` and `rivals`; or for the head to `look` into."""
    try:
        # A KeyError where the visitor has left the page since: it is heard after it is gone.
        told: Mapping[str, Any] = st.session_state[KEY]["choice"]
        if "look" in told:
            layer, head = map(int, told["look"])
            to = model.aligner.weights_to if model.aligner else "output"
            state.change(LOOKED, kind="cross", layer=layer, head=head, word_row=to)
            st.session_state[_LOOK] = True
            return
        asked = Wish(
            text=str(told["text"]),
            number=int(told["number"]),
            prefix=tuple(int(one) for one in told.get("prefix", ())),
            rivals=bool(told.get("rivals")),
            visit=state.visit(),
            model=state.view().model,
        )
    except (KeyError, TypeError, ValueError):
        return
    problem = _problem(model, asked.text)
    if not problem and asked.text != state.view().text:
        state.change(text=asked.text)
    st.session_state[_ASKED] = replace(asked, problem=problem)


def _problem(model: Model, text: str) -> str:
    """Why nobody would translate this, as a sentence; "" if somebody would."""
    if is_blank(text):
        return "Type a few words, and watch them being translated."
    if model.about.languages and not any(sign.isalnum() for sign in text):
        return "These are signs alone; type a word."
    if len(text) > LONGEST:
        return f"That is {len(text):,} letters long; a sentence or two is what this page is for."
    try:
        model.translator.check(text)
    except ValueError as error:
        return frame.as_sentence(error)
    return ""


@cached()
def _rivals(
    digest: str, text: str, prefix: tuple[int, ...], _model: Model, _reading: CachedTrace
) -> Rivals:
    return rival_words(_model.translator, _reading.trace.translation)


def _unknown(model: Model, text: str) -> list[str]:
    """Words that the model has no pieces for."""
    vocabulary = model.translator.vocabulary
    words = dict.fromkeys(text.split())
    return [word for word in words if vocabulary.unk_id in vocabulary.encode(word)][:5]


def show_rooms() -> None:
    with st.container(horizontal=True, key="rooms"):
        for file, one in PAGES.items():
            if not one.link_text:
                continue
            with st.container(border=True, gap="xsmall", key=f"room-{path(file)}"):
                _room_picture(path(file))(key=f"picture-{path(file)}", data={})
                # Its link covers the whole card: `frame.css`.
                frame.page_link(file, one.link_text)
                st.caption(one.summary.format(lessons=len(LESSONS)))


@cache
def _room_picture(name: str) -> Callable[..., Any]:
    """What mounts the picture: HTML of a page may hold none that is drawn."""
    return st.components.v2.component(f"heads_up.room-{name}", html=room_picture(name), css=STYLE)
