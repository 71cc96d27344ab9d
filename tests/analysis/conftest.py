"""The tiny model with random biases and norms, and a trace of one sentence."""

from __future__ import annotations

import pytest

from tests.analysis.small_models import MARIAN, TARGET, TEXT, new_model, randomized
from transformer import Translator
from transformer.inference.trace import Trace
from transformer.model import Transformer
from transformer.text import Vocabulary


@pytest.fixture(scope="session")
def model(tiny_model: Transformer) -> Transformer:
    """Return a model in which no term is zero by chance."""
    return randomized(tiny_model)


@pytest.fixture(scope="session")
def trace(tiny_model: Transformer, vocabulary: Vocabulary) -> Trace:
    """Return a trace of one sentence, in float32 even if a test changes `model`."""
    return Translator(randomized(tiny_model), vocabulary).trace(TEXT, TARGET)


@pytest.fixture(scope="session", params=["the paper's", "with biases"])
def any_trace(
    request: pytest.FixtureRequest, tiny_model: Transformer, vocabulary: Vocabulary
) -> tuple[Translator, Trace]:
    """Return the paper's model and one with biases, each with a trace of one sentence."""
    translator = Translator(randomized(tiny_model), vocabulary)
    if request.param == "with biases":
        translator = new_model(vocabulary, **MARIAN)
    return translator, translator.trace(TEXT, TARGET)
