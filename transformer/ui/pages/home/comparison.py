"""A second translation to compare with: of another sentence, by another checkpoint, or with another
token forced at one step."""

from __future__ import annotations

import re
from dataclasses import replace

import streamlit as st

from transformer.text.visible import is_blank
from transformer.ui.base import state
from transformer.ui.pages.home import Home
from transformer.ui.services import models, trace_cache
from transformer.ui.services.models import Model
from transformer.ui.services.trace_cache import CachedTrace
from transformer.ui.widgets import frame

# Pairs of words that can replace each other without changing any other word of the sentence.
_WORD_PAIRS = {
    "en": (
        "red black", "umbrella hat", "rains snows", "never often", "sea city", "home school",
        "student doctor", "house car", "dog cat", "man boy", "woman girl", "big small",
        "old young", "good bad", "here there", "today tomorrow", "he she", "the a",
        "this that",
    ),
    "fr": (
        "rouge noir", "parapluie chapeau", "pleut neige", "jamais souvent", "mer ville",
        "étudiant médecin", "chien chat", "grand petit", "il elle", "le un", "la une",
    ),
    "de": (
        "roten schwarzen", "Regenschirm Hut", "regnet schneit", "nie oft", "Meer Haus",
        "Student Arzt", "Hund Mann", "er sie", "der ein",
    ),
}  # fmt: skip


def controls(model: Model) -> None:
    st.text_input(
        placeholder=suggested_text(model),
        live="400ms",
        **{
            **state.bound("other"),
            "help": "The Compare view shows its attention next to that of the first sentence.",
        },
    )
    labels = {"": "the same model", **models.choices()}
    if len(labels) > 2:
        st.selectbox(
            options=list(labels),
            format_func=lambda name: labels.get(name, name),
            **state.bound("other_model"),
        )
    st.caption(
        "The **Compare** view shows two sentences or two models side by side. It starts with one "
        "word of the sentence changed. To force another word, click one of the candidates in "
        "**Decoding**."
    )
    st.button(
        "Stop comparing",
        disabled=not is_requested(state.view(Home)),
        on_click=state.change,
        kwargs={"other": "", "other_model": "", "force": ""},
    )


def is_requested(view: Home) -> bool:
    """Return whether the view names a second translation."""
    return bool(view.other or view.other_model or view.force)


def suggested_text(model: Model) -> str:
    """Return the default text to compare with: the sentence with one word changed, or another
    example of the model."""
    current_text = state.view(Home).text
    languages = model.description.languages
    changed = change_one_word(current_text, languages[0] if languages else "")
    return changed or next(
        (text for text in model.description.examples if text != current_text), ""
    )


def load_second(model: Model, cached_trace: CachedTrace) -> tuple[CachedTrace | None, str]:
    """Return the trace to compare with and its kind, the last two arguments of `explorer.show`.
    If the comparison fails, show a warning; the page still shows the first trace."""
    view = state.view(Home)
    compared = bool(not is_blank(view.other) or view.other_model)
    try:
        if view.force and not (compared and view.view == "compare"):
            return trace_cache.with_forced_token(model, view, cached_trace, view.force), "force"
        if compared:
            return trace_cache.comparison(_other_model(model), view), "other"
        if view.view == "compare" and (text := suggested_text(model)):
            return trace_cache.comparison(model, replace(view, other=text)), "other"
    except (OSError, ValueError) as error:
        st.warning(frame.plain(f"The comparison failed: {error}"))
        return None, "refused"
    return None, ""


def side_names(model: Model, second_kind: str) -> tuple[str, ...]:
    """Return the names of two different models, or () if the sides are to be called A and B."""
    other_model = state.view(Home).other_model
    return (
        (model.name, other_model)
        if second_kind == "other" and other_model not in ("", model.name)
        else ()
    )


def _other_model(model: Model) -> Model:
    name, folders = state.view(Home).other_model, models.checkpoints()
    if not name:
        return model
    if name not in folders:
        raise ValueError(
            f"There is no checkpoint {name!r}; available: {', '.join(models.choices())}."
        )
    return models.load(name, folders[name])


def change_one_word(text: str, language: str) -> str:
    """Return `text` with one word replaced by its partner in `_WORD_PAIRS`, or "" if it has none of
    these words. Content words are tried before function words."""
    for pair in _WORD_PAIRS.get(language, ()):
        first, second = pair.split()
        for old, new in ((first, second), (second, first)):
            match = re.search(rf"\b{old}\b", text)
            if match:
                return text[: match.start()] + new + text[match.end() :]
            match = re.search(rf"\b{old.capitalize()}\b", text)
            if match:
                return text[: match.start()] + new.capitalize() + text[match.end() :]
    return ""
