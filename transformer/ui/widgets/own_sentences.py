"""Our own sentences as they fit a model: spelled as it reads, translated to what it writes."""

from __future__ import annotations

from transformer.analysis.corpora import Corpus, own_corpus_for
from transformer.analysis.corpora.own_sentences import LANGUAGES
from transformer.ui.services.memory_cache import cached
from transformer.ui.services.models import Model


def spelling(model: Model) -> str:
    """How our sentences must be written for this model to read them: "text", or "symbols" between
    blanks; "" if it cannot."""
    if model.about.languages and model.about.languages[0] != "en":
        return ""
    return _spelling(model)


def corpus(model: Model, limit: int) -> Corpus:
    """Our sentences with translations into the language that the model writes, if we have them."""
    return _bundled_corpus(limit, spelling(model) == "symbols", _target_language(model))


def are_linked(model: Model) -> bool:
    """Whether we have sentences with links by hand for this model."""
    return spelling(model) == "text" and _target_language(model) in LANGUAGES


def linked(model: Model, limit: int) -> Corpus:
    """Those that are linked by hand."""
    return _linked_corpus(_target_language(model), limit)


def python_code(model: Model, limit: int, *, linked: bool = False) -> str:
    """An expression of Python for what `corpus` or `linked` gives, with `Corpus` at hand."""
    target = _target_language(model)
    if linked:
        return f"Corpus.linked({target!r}).first({limit})"
    if spelling(model) == "symbols":
        return f"Corpus.bundled({limit}, symbols=True)"
    if target not in LANGUAGES:
        texts = f"[s.source for s in Corpus.bundled({limit}).sentences]"
        return f"Corpus.of_lines({texts}, 'our own sentences')"
    return f"Corpus.bundled({limit}{'' if target == 'fr' else f', target={target!r}'})"


def missing(model: Model) -> str:
    """A sentence about what our sentences lack for this model; "" if nothing."""
    if _target_language(model) in LANGUAGES:
        return ""
    return (
        f"Our sentences are translated to {' and '.join(LANGUAGES.values())} alone, and this model "
        f"writes {model.about.target}: where a measure needs a translation, the model's own is "
        "taken, and what needs gold links cannot be measured over them. Pairs of yours do better."
    )


def with_links(model: Model) -> str:
    """What to do where gold links are needed and missing."""
    if spelling(model) and _target_language(model) in LANGUAGES:
        return "Choose our own sentences, or bring pairs with a third column of links."
    return "Bring pairs with a third column of links."


def _target_language(model: Model) -> str:
    """The code of the language that it writes. Where nobody says, ours are taken as they are."""
    return model.about.writes or "fr"


@cached()
def _spelling(model: Model) -> str:
    vocabulary = model.translator.vocabulary
    for name, symbols in (("text", False), ("symbols", True)):
        first = Corpus.bundled(1, symbols=symbols).sentences[0].source
        if vocabulary.unk_id not in vocabulary.encode(first):
            return name
    return ""


@cached()
def _bundled_corpus(limit: int, symbols: bool, target: str) -> Corpus:
    return own_corpus_for(target, limit, symbols=symbols)


@cached()
def _linked_corpus(target: str, limit: int) -> Corpus:
    return Corpus.linked(target).first(limit)
