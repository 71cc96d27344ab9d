"""A dozen pairs for every finding."""

from __future__ import annotations

import pytest

from transformer.analysis.corpora import Corpus, Sentence


@pytest.fixture(scope="module")
def corpus(pairs: list[tuple[str, str]]) -> Corpus:
    return Corpus("pairs", tuple(Sentence(*pair) for pair in pairs[:12]))
