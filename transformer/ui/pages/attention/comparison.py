"""A second translation beside the first: of another sentence, by another checkpoint, or with
another piece forced at a step."""

from __future__ import annotations

import re
from dataclasses import replace

import streamlit as st

from transformer.text.visible import is_blank
from transformer.ui import state
from transformer.ui.pages.attention import Attention
from transformer.ui.services import models, trace_cache
from transformer.ui.services.models import Model
from transformer.ui.services.trace_cache import CachedTrace
from transformer.ui.widgets import frame

# Words that can stand in each other's place without another word changing with them.
_EITHER = {
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
        placeholder=suggested(model),
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
    view = state.view(Attention)
    st.button(
        "Stop comparing",
        disabled=not (view.other or view.other_model or view.force),
        on_click=state.change,
        kwargs={"other": "", "other_model": "", "force": ""},
    )


def suggested(model: Model) -> str:
    """What to compare with where nothing is chosen: the sentence with one word changed, or else
    another that the model reads."""
    here = state.view(Attention).text
    languages = model.about.languages
    changed = one_word_changed(here, languages[0] if languages else "")
    return changed or next((text for text in model.about.examples if text != here), "")


def second(model: Model, reading: CachedTrace) -> tuple[CachedTrace | None, str]:
    """The reading to compare with and what it is, as `explorer.show` takes them. What is wrong
    with it is said on the page; the first reading is shown all the same."""
    view = state.view(Attention)
    compared = bool(not is_blank(view.other) or view.other_model)
    try:
        if view.force and not (compared and view.view == "compare"):
            return trace_cache.with_forced_token(model, view, reading, view.force), "force"
        if compared:
            return trace_cache.comparison(_other_model(model), view), "other"
        if view.view == "compare" and (text := suggested(model)):
            return trace_cache.comparison(model, replace(view, other=text)), "other"
    except (OSError, ValueError) as error:
        st.warning(frame.plain(f"The comparison failed: {error}"))
        return None, "refused"
    return None, ""


def names(model: Model, versus: str) -> tuple[str, ...]:
    """What the two sides are called where they are two models; nothing where A and B will do."""
    other = state.view(Attention).other_model
    return (model.name, other) if versus == "other" and other not in ("", model.name) else ()


def _other_model(model: Model) -> Model:
    name, folders = state.view(Attention).other_model, models.checkpoints()
    if not name:
        return model
    if name not in folders:
        raise ValueError(
            f"There is no checkpoint {name!r}; this app has {', '.join(models.choices())}."
        )
    return models.load(name, folders[name])


def one_word_changed(text: str, language: str) -> str:
    """`text` with the first word changed of which we know another; words that say most are tried
    first. "" if there is none."""
    for pair in _EITHER.get(language, ()):
        one, other = pair.split()
        for old, new in ((one, other), (other, one)):
            found = re.search(rf"\b{old}\b", text)
            if found:
                return text[: found.start()] + new + text[found.end() :]
            found = re.search(rf"\b{old.capitalize()}\b", text)
            if found:
                return text[: found.start()] + new.capitalize() + text[found.end() :]
    return ""
