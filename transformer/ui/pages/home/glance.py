"""The text field of the page and its depths, and the translation with bands, updated while the
visitor types.

Typed text becomes the session's sentence if the model can read it. A word that is forced among the
bands changes only this picture.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from transformer.api.answers import check_text, unknown_words
from transformer.api.model_description import EXAMPLE
from transformer.cancellation import cancelled_by
from transformer.figures.glance import glance_data
from transformer.figures.packing import pack
from transformer.inference.alternatives import Alternative, word_alternatives
from transformer.ui.base import state
from transformer.ui.base.registry import CLASS, HOME, PAGES, path
from transformer.ui.pages.home import DEPTHS, Home
from transformer.ui.services import trace_cache
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model
from transformer.ui.services.trace_cache import CachedTrace, RerunCancellation
from transformer.ui.widgets import cards, controls, following, frame, lessons, training_facts, views
from transformer.ui.widgets.fragment import fragment
from transformer.ui.widgets.lessons.course import LESSONS

WordAlternatives = tuple[tuple[Alternative, ...], ...]
KEY = "glance"
_REQUEST_KEY, _RERUN_KEY = "glance_request", "glance_rerun"


@dataclass(frozen=True)
class TranslationRequest:
    """The browser's last request.

    Attributes:
        text: the text in the field; number: of the request, which the answer repeats.
        prefix: token ids that the translation must begin with, because a word is forced.
        off: the heads that are switched off.
        with_alternatives: whether to compute alternatives too. Computing them takes as
            long as the translation, which is therefore drawn without them first.
        problem: why `text` cannot be translated; the session then keeps its sentence.
        visit, model: at the time of the request; it is outdated after either changes.
    """

    text: str
    number: int = 0
    prefix: tuple[int, ...] = ()
    off: str = ""
    with_alternatives: bool = False
    problem: str = ""
    visit: int = 0
    model: str = ""


def show(model: Model) -> None:
    """Draw the field and the translation, or the reason why there is none.

    A fragment: a rerun of the whole page for every typed letter would take twice as long.
    """
    view = state.view(Home)
    try:
        if view.depth == "bands":  # the depth "off" reports them itself; no other depth uses them
            trace_cache.heads_off(model, view.off)
    except ValueError as error:  # a link for another model
        state.set_fields(off="")
        st.warning(frame.plain(f"{frame.as_sentence(error)} All heads are on."))
    fragment(_draw, "glance")(model)


def _draw(model: Model) -> None:
    if st.session_state.pop(_RERUN_KEY, False):
        st.rerun()  # it writes the address: written here too, "back" would take two steps
    following.lead_to_page(HOME)  # students who follow see what the teacher types
    request = _current_request()
    header = component_data(model, request, state.view().model, state.view().text)
    if state.view(Home).depth == "bands":
        with cancelled_by(RerunCancellation()):
            data = _picture(model, request, header)
    else:
        data = pack({**header, "problem": request.problem}, [])
    controls.target_language(model)
    views.component("glance")(
        key=KEY,
        data=data,
        on_choice_change=lambda: _handle_choice(model),
    )
    training_facts.show_training_facts(model)


def component_data(
    model: Model, request: TranslationRequest, name: str, text: str
) -> dict[str, Any]:
    """Return the texts around the picture in `glance.js`. `name` is the model's in the address,
    `text` the session's sentence."""
    description = model.description
    return {
        "text": text,
        "number": request.number,
        "problem": "",
        "typed": request.text,
        "prefix": list(request.prefix),
        "off": request.off,
        "has_alternatives": request.with_alternatives,
        "unknown": unknown_words(model, text),
        **description.browser_data(),
        "depths": list(DEPTHS.items()),
        "depth": state.view(Home).depth,
        "model": name,
        "default_text": EXAMPLE,
        "aligner_agreement": model.aligner_agreement,
    }


def _picture(model: Model, request: TranslationRequest, header: dict[str, Any]) -> bytes:
    """Return the translation of the session's sentence, and the problem with the typed text."""
    text, prefix = str(header["text"]), request.prefix
    problem = {"problem": request.problem} if request.problem else {}
    try:
        cached_trace = trace_cache.greedy(model, text, prefix, request.off)
        alternatives: WordAlternatives = ()
        if request.with_alternatives:
            alternatives = _cached_alternatives(
                model.hash, text, prefix, request.off, model, cached_trace
            )
        original = trace_cache.greedy(model, text, prefix).trace if request.off else None
        return glance_data(
            {**header, **problem}, cached_trace.trace, alternatives, model.aligner, original
        )
    except ValueError as error:
        problem = problem or {"problem": frame.as_sentence(error)}
    return pack({**header, **problem}, [])


def _current_request() -> TranslationRequest:
    """Return the last request, or a new one if the page, the model or the sentence has changed."""
    view, current = state.view(Home), (state.visit_count(), state.view().model)
    first = TranslationRequest(view.text, off=view.off)
    request: TranslationRequest = st.session_state.get(_REQUEST_KEY, first)
    outdated = (request.visit, request.model) != current or (
        request.text != view.text and not request.problem
    )
    return first if outdated or request.off != view.off else request


def _handle_choice(model: Model) -> None:
    """Handle a message of the browser: `text` with `prefix`, `off` and `with_alternatives`; or
    `depth`, a depth to open; or `open_head`, a head to open in it."""
    try:
        # A KeyError if the visitor has left the page: the message may arrive later.
        choice: Mapping[str, Any] = st.session_state[KEY]["choice"]
        if "open_head" in choice:
            layer, head = map(int, choice["open_head"])
            word_row = model.aligner.weights_to if model.aligner else "output"
            fields = {"kind": "cross", "layer": layer, "head": head, "word_row": word_row}
            _change_page(depth="heads", **fields)
            return
        if "depth" in choice:
            _change_page(depth=Home.fields()["depth"].read(choice["depth"]))
            return
        request = TranslationRequest(
            text=str(choice["text"]),
            number=int(choice["number"]),
            prefix=tuple(int(token_id) for token_id in choice.get("prefix", ())),
            off=Home.fields()["off"].read(str(choice.get("off", ""))),
            with_alternatives=bool(choice.get("with_alternatives")),
            visit=state.visit_count(),
            model=state.view().model,
        )
    except (KeyError, TypeError, ValueError):
        return
    view = state.view(Home)
    if request.with_alternatives and (request.text, request.off) != (view.text, view.off):
        return  # requested for the picture of an older sentence
    problem = _problem(model, request.text)
    text = view.text if problem else request.text
    if (text, request.off) != (view.text, view.off):
        state.change(HOME, text=text, off=request.off)
        # Below the field is more than this fragment draws.
        st.session_state[_RERUN_KEY] = view.depth != "bands"
    st.session_state[_REQUEST_KEY] = replace(request, problem=problem)


def _change_page(**values: Any) -> None:
    """Change the view, and rerun the whole page."""
    state.change(HOME, **values)
    st.session_state[_RERUN_KEY] = True


def _problem(model: Model, text: str) -> str:
    """Return why this text cannot be translated, as a sentence; "" if it can."""
    try:
        check_text(model, text)
    except ValueError as error:
        return frame.as_sentence(error)
    return ""


@cached()
def _cached_alternatives(
    digest: str,
    text: str,
    prefix: tuple[int, ...],
    off: str,
    _model: Model,
    _cached_trace: CachedTrace,
) -> WordAlternatives:
    hooks = trace_cache.heads_off(_model, off)
    return word_alternatives(_model.translator, _cached_trace.trace.translation, hooks=hooks)


def below_bands(model: Model) -> None:
    """Draw what follows the picture: what the model is, the first lesson, and the other pages."""
    millions = sum(p.numel() for p in model.translator.model.parameters()) / 1e6
    st.caption(
        f"This is a small model ({millions:.0f} million weights) that anyone can train on a "
        "laptop. It makes mistakes, and here you can see where they come from."
    )
    lessons.lesson_button(
        lessons.LESSONS[0].name,
        "What does the model do? Begin with the first lesson →",
        "lesson-start",
        primary=True,
    )
    st.header("Where to go from here")
    page_cards()
    frame.page_link(CLASS, "In a classroom? Join its class, or open one →")


def page_cards() -> None:
    with cards.cards():
        for file, page in PAGES.items():
            if page.link_text:
                caption = page.summary.format(lessons=len(LESSONS))
                cards.card(path(file), file, page.link_text, caption)
