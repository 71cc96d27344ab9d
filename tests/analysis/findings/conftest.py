"""A small model and pairs for every finding."""

from __future__ import annotations

import pytest

from transformer import Translator
from transformer.analysis.corpora import Corpus, Sentence
from transformer.model import Transformer
from transformer.text import Vocabulary


@pytest.fixture(scope="module")
def tiny(tiny_model: Transformer, vocabulary: Vocabulary) -> Translator:
    return Translator(tiny_model, vocabulary)


@pytest.fixture(scope="module")
def corpus(pairs: list[tuple[str, str]]) -> Corpus:
    return Corpus("pairs", tuple(Sentence(*pair) for pair in pairs[:12]))
