"""The tiny model with its vocabulary, for tests that ask it in words."""

from __future__ import annotations

import pytest

from transformer import Translator
from transformer.model import Transformer
from transformer.text import Vocabulary


@pytest.fixture(scope="session")
def translator(tiny_model: Transformer, vocabulary: Vocabulary) -> Translator:
    return Translator(tiny_model, vocabulary)
