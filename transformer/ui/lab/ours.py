"""Our own sentences as they fit a model: spelled as it reads, translated to what it writes."""

from __future__ import annotations

import streamlit as st

from transformer.analysis.corpora import Corpus
from transformer.analysis.ours import LANGUAGES
from transformer.text import Vocabulary
from transformer.ui.models import Model


def spelling(model: Model) -> str:
    """How our sentences must be written for this model to read them: "text", or "symbols" between
    blanks; "" if it cannot."""
    if model.about.languages and model.about.languages[0] != "en":
        return ""
    return _spelling(model.hash, model.translator.vocabulary)


def translated(model: Model) -> bool:
    """Whether our translations are in the language that the model writes. Where nobody says which
    that is, they are taken as they are."""
    return model.about.writes in ("", *LANGUAGES)


def target(model: Model) -> str:
    """The code of the language that our sentences are translated to for this model."""
    return model.about.writes if model.about.writes in LANGUAGES else "fr"


def corpus(model: Model, most: int) -> Corpus:
    """Our sentences with translations into the language that the model writes; without any if we
    have none, for a French sentence tells nothing of a model that writes Italian."""
    return _ours(most, spelling(model) == "symbols", target(model), translated(model))


def program(model: Model, most: int) -> str:
    """An expression of Python for what `corpus` gives, with `Corpus` at hand."""
    options = ", symbols=True" if spelling(model) == "symbols" else ""
    if target(model) != "fr":
        options = f", target={target(model)!r}"
    bundled = f"Corpus.bundled({most}{options})"
    if translated(model):
        return bundled
    return f"Corpus.of_lines([s.source for s in {bundled}.sentences], 'our own sentences')"


def missing(model: Model) -> str:
    """A sentence about what our sentences lack for this model; "" if nothing."""
    if translated(model):
        return ""
    known = " and ".join(LANGUAGES.values())
    return (
        f"Our sentences are translated to {known} alone, and this model writes "
        f"{model.about.target}: where a measure needs a translation, the model's own is taken, and "
        "what needs gold links cannot be measured over them. Pairs of yours do better."
    )


def with_links(model: Model) -> str:
    """What to do where gold links are needed and missing."""
    if spelling(model) and translated(model):
        return "Choose our own sentences, or bring pairs with a third column of links."
    return "Bring pairs with a third column of links."


@st.cache_data(max_entries=64, show_spinner=False)
def _spelling(digest: str, _vocabulary: Vocabulary) -> str:
    for name, symbols in (("text", False), ("symbols", True)):
        first = Corpus.bundled(1, symbols=symbols).sentences[0].source
        if _vocabulary.unk_id not in _vocabulary.encode(first):
            return name
    return ""


@st.cache_resource(max_entries=8, show_spinner=False)
def _ours(most: int, symbols: bool, target: str, whole: bool) -> Corpus:
    """`whole` is with translations."""
    found = Corpus.bundled(most, symbols=symbols, target=target)
    if whole:
        return found
    return Corpus.of_lines([each.source for each in found.sentences], found.name)
