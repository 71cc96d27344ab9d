"""The bundled sentences for a model: in its input format, with translations into its language."""

from __future__ import annotations

from transformer.analysis.corpora import Corpus, bundled_corpus_for
from transformer.analysis.corpora.bundled_sentences import LANGUAGES
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model


def input_format(model: Model) -> str:
    """Return the format in which the model can read the bundled sentences: "text", or "symbols"
    separated by spaces; "" if it cannot read them."""
    if model.description.languages and model.description.languages[0] != "en":
        return ""
    return _input_format(model)


def corpus(model: Model, limit: int) -> Corpus:
    """Return the bundled sentences, with translations into the model's language if available."""
    return _bundled_corpus(limit, input_format(model) == "symbols", _target_language(model))


def has_linked_sentences(model: Model) -> bool:
    """Return whether there are hand-aligned sentences for this model."""
    return input_format(model) == "text" and _target_language(model) in LANGUAGES


def linked(model: Model, limit: int) -> Corpus:
    """Return the hand-aligned sentences."""
    return _linked_corpus(_target_language(model), limit)


def python_code(model: Model, limit: int, *, linked: bool = False) -> str:
    """Return a Python expression for `corpus` or `linked`; it needs the name `Corpus`."""
    target = _target_language(model)
    if linked:
        return f"Corpus.linked({target!r}).first({limit})"
    if input_format(model) == "symbols":
        return f"Corpus.bundled({limit}, symbols=True)"
    if target not in LANGUAGES:
        texts = f"[s.source for s in Corpus.bundled({limit}).sentences]"
        return f"Corpus.from_lines({texts}, 'bundled sentences')"
    return f"Corpus.bundled({limit}{'' if target == 'fr' else f', target={target!r}'})"


def limitation_note(model: Model) -> str:
    """Return a note on what the bundled sentences lack for this model; "" if they lack nothing."""
    if _target_language(model) in LANGUAGES:
        return ""
    return (
        f"The bundled sentences have translations into {' and '.join(LANGUAGES.values())} only; "
        f"this model writes {model.description.target}. Measures use the model's own translations, "
        "and those that need gold links are not available. For better results, upload your own "
        "pairs."
    )


def advice_on_links(model: Model) -> str:
    """Return advice on how to get gold links."""
    if input_format(model) and _target_language(model) in LANGUAGES:
        return "Choose the bundled sentences, or upload pairs with a third column of links."
    return "Upload pairs with a third column of links."


def _target_language(model: Model) -> str:
    """Return the code of the model's target language, French if unknown."""
    return model.description.target_code or "fr"


@cached()
def _input_format(model: Model) -> str:
    vocabulary = model.translator.vocabulary
    for name, symbols in (("text", False), ("symbols", True)):
        first = Corpus.bundled(1, symbols=symbols).sentences[0].source
        if vocabulary.unk_id not in vocabulary.encode(first):
            return name
    return ""


@cached()
def _bundled_corpus(limit: int, symbols: bool, target: str) -> Corpus:
    return bundled_corpus_for(target, limit, symbols=symbols)


@cached()
def _linked_corpus(target: str, limit: int) -> Corpus:
    return Corpus.linked(target).first(limit)
