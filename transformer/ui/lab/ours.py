"""Our own sentences as they fit a model: spelled as it reads, translated to what it writes."""

from __future__ import annotations

import streamlit as st

from transformer.analysis.corpora import Corpus
from transformer.languages import called
from transformer.text import Vocabulary
from transformer.ui.models import Model

TRANSLATED = ("fr",)
"""Languages that our sentences are translated to, and linked with."""


def spelling(model: Model) -> str:
    """How our sentences must be written for this model to read them: "text", or "symbols" between
    blanks; "" if it cannot."""
    if model.about.languages and model.about.languages[0] != "en":
        return ""
    return _spelling(model.hash, model.translator.vocabulary)


def corpus(model: Model, most: int) -> Corpus:
    """Our sentences with translations into the language that the model writes; without any if we
    have none, for a French sentence tells nothing of a model that writes Italian."""
    writes = model.about.writes if not _fit(model) else ""
    return _ours(most, spelling(model) == "symbols", writes)


def program(model: Model, most: int) -> str:
    """An expression of Python for what `corpus` gives, with `Corpus` at hand."""
    bundled = f"Corpus.bundled({most}{', symbols=True' if spelling(model) == 'symbols' else ''})"
    if _fit(model):
        return bundled
    return f"Corpus.of_lines([s.source for s in {bundled}.sentences], 'our own sentences')"


def missing(model: Model) -> str:
    """A sentence about what our sentences lack for this model; "" if nothing."""
    if _fit(model):
        return ""
    known = " and ".join(map(called, TRANSLATED))
    return (
        f"Our sentences are translated to {known} alone, and this model writes "
        f"{model.about.target}: where a measure needs a translation, the model's own is taken, and "
        "what needs gold links cannot be measured over them. Pairs of yours do better."
    )


def with_links(model: Model) -> str:
    """What to do where gold links are needed and missing."""
    if spelling(model) and _fit(model):
        return "Choose our own sentences, or bring pairs with a third column of links."
    return "Bring pairs with a third column of links."


def _fit(model: Model) -> bool:
    """Whether our translations are in the language that the model writes. Where nobody says which
    that is, they are taken as they are."""
    return model.about.writes in ("", *TRANSLATED)


@st.cache_data(max_entries=64, show_spinner=False)
def _spelling(digest: str, _vocabulary: Vocabulary) -> str:
    for name, symbols in (("text", False), ("symbols", True)):
        first = Corpus.bundled(1, symbols=symbols).sentences[0].source
        if _vocabulary.unk_id not in _vocabulary.encode(first):
            return name
    return ""


@st.cache_resource(max_entries=8, show_spinner=False)
def _ours(most: int, symbols: bool, without: str) -> Corpus:
    """`without` is the language that we have no translations in; "" for one that we have."""
    found = Corpus.bundled(most, symbols=symbols)
    if not without:
        return found
    return Corpus.of_lines([each.source for each in found.sentences], found.name)
