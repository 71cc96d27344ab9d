"""Groups of widgets that more than one page shows."""

from __future__ import annotations

from typing import Any

import streamlit as st

from transformer.api.answers import unknown_words
from transformer.api.training_facts import training_facts
from transformer.text.languages import language_name
from transformer.ui.base import state
from transformer.ui.services.models import Model
from transformer.ui.widgets import display_names, frame
from transformer.ui.widgets.callbacks import controlled

FIELD_CHARACTERS, PHONE_FIELD_CHARACTERS = 60, 34
"""Characters that a text field shows at least, and on a phone: a longer sentence is repeated below
it. (A text area would submit the sentence at Ctrl+Enter only, not while the visitor types.)"""


def sentence(model: Model) -> None:
    """Draw the text field with its notes, and examples for the model."""
    sentence_field(model)
    sentence_examples(model)


def sentence_examples(model: Model) -> None:
    """Draw examples of sentences for the model, and what it was trained on."""
    description = model.description
    if description.examples:
        example = state.view().text if state.view().text in description.examples else None
        st.pills(
            "Examples",
            description.examples,
            required=True,  # a second click does not deselect
            label_visibility="collapsed",
            **controlled("example", example, _choose_example),
        )
    _training_facts(model)


def sentence_field(model: Model) -> None:
    """Draw the text field, a long sentence in full, and a note on unknown words."""
    description = model.description
    target_language(model)
    # Submitted after a pause in typing, so that no text is lost on a change of page.
    st.text_input(
        description.source, placeholder=description.placeholder, live="400ms", **state.bound("text")
    )
    if (length := len(state.view().text)) > PHONE_FIELD_CHARACTERS:
        with st.container(
            key="whole-sentence" if length > FIELD_CHARACTERS else "full-sentence-on-phone"
        ):
            st.caption(frame.plain(state.view().text))
    if unknown := unknown_words(model, state.view().text):
        with st.container(key="unknown-words"):
            st.caption(
                f"Not in the vocabulary: {frame.plain(', '.join(unknown))}. The model reads "
                f"{_unknown_token_text()} instead."
            )


def _training_facts(model: Model) -> None:
    """Draw the model's symbols and its training time, and mark symbols of the sentence that it has
    never seen."""
    facts = training_facts(model)
    if facts is None:
        return
    st.caption(frame.plain(" ".join(facts.sentences())))
    unknown = unknown_words(model, state.view().text)  # which have a note already
    words = dict.fromkeys(state.view().text.split())
    unseen_words = [word for word in words if word not in (*facts.symbols, *unknown)]
    if unseen_words:
        badges = " ".join(f":red-badge[{frame.plain(word)}]" for word in unseen_words[:8])
        st.markdown(f"Never seen in training: {badges}. The output for such symbols is arbitrary.")


def _choose_example(text: str) -> None:
    if text != state.view().text:  # the browser may send the previous choice again
        state.change(text=text)


def target_language(model: Model) -> None:
    """Draw the choice of a multilingual model's target language. The first token of the sentence
    selects it, so the choice is part of the sentence and of the URL."""
    codes = model.translator.vocabulary.target_languages
    if not codes:
        return
    st.session_state["target-language"] = model.translator.vocabulary.split_language(
        state.view().text
    )[0]
    st.selectbox(
        "Target language",
        ["", *codes],
        format_func=lambda code: language_name(code) if code else "(not specified)",
        help="This model can write several languages. The first token of the sentence selects one: "
        "`>>fra<<` selects the language with the code fra.",
        key="target-language",
        width=240,
        on_change=_set_target_language,
        args=(model,),
    )


def _set_target_language(model: Model) -> None:
    vocabulary = model.translator.vocabulary
    state.change(
        text=vocabulary.with_language(state.view().text, st.session_state["target-language"] or "")
    )


def _unknown_token_text() -> str:
    return "`<unk>`" if display_names.is_exact() else "“▯” (an unknown token)"


def button_row(field: str, *, labelled: bool = True, **options: Any) -> None:
    """Draw a row of buttons for a field of the view."""
    st.segmented_control(
        required=True,
        label_visibility="visible" if labelled else "collapsed",
        **{**state.bound_choice(field), **options},
    )


def layer_and_head(model: Model) -> None:
    """Draw the two menus, for a row of widgets."""
    for name, count in (("layer", model.n_layers), ("head", model.n_heads)):
        st.selectbox(
            options=range(count),
            format_func=display_names.number,
            width=90,
            **state.bound(name),
        )


def suggested_translation(model: Model) -> str:
    """Return the placeholder of the translation field: a reference translation if there is one."""
    return model.description.translation(state.view().text) or "A correct translation"
