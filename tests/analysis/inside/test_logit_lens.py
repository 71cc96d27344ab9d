"""The logit lens compared with its definition; its last site equals the model's output."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.analysis.inside.traced_models import TracedModel, trace_model
from transformer.analysis.inside.logit_lens import Lens, lens
from transformer.inference.translator import Translator
from transformer.text import Vocabulary


@pytest.fixture(scope="module")
def traced_model(vocabulary: Vocabulary, tmp_path_factory: pytest.TempPathFactory) -> TracedModel:
    return trace_model("scaled_dot", vocabulary, tmp_path_factory.mktemp("lens") / "model")


@pytest.fixture(scope="module")
def result(traced_model: TracedModel) -> Lens:
    return lens(traced_model.trace, traced_model.translator, k=3)


def token_probabilities(traced_model: TracedModel, site: str) -> np.ndarray:
    """Return softmax(y E^T), without the model's own projection."""
    embedding = traced_model.translator.model.embedding.weight.detach().double().numpy()
    logits = traced_model.trace[site].astype(np.float64) @ embedding.T
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


def test_the_last_layer_equals_the_models_prediction(
    traced_model: TracedModel, result: Lens
) -> None:
    logits = torch.tensor(traced_model.trace["hook_logits"]).double()
    top = logits.softmax(-1).topk(3)
    tokens = traced_model.translator.vocabulary.tokens
    assert result.top_tokens[-1] == tuple(tuple(tokens(ids)) for ids in top.indices.tolist())
    np.testing.assert_array_equal(result.top_probabilities[-1], top.values)


def test_every_number_equals_its_definition(traced_model: TracedModel, result: Lens) -> None:
    chosen = np.array(traced_model.trace.predicted_ids)
    for number, site in enumerate(result.sites):
        p = token_probabilities(traced_model, site)
        predicted_probabilities = p[np.arange(len(p)), chosen]
        np.testing.assert_allclose(result.probability[number], predicted_probabilities, rtol=1e-4)
        np.testing.assert_array_equal(
            result.rank[number], (p > predicted_probabilities[:, None]).sum(axis=1) + 1
        )
        tokens = traced_model.translator.vocabulary.tokens(np.argsort(-p[0])[:3].tolist())
        assert list(result.top_tokens[number][0]) == tokens


def test_the_included_model_predicts_its_input_first_and_the_next_word_later() -> None:
    """Embedding and output share one matrix, so an embedding predicts its own token."""
    translator = Translator.load("checkpoints/en-fr", device="cpu")
    result = lens(translator.trace("I am a student."), translator, k=1)
    top_tokens = [tuple(tokens[0] for tokens in site) for site in result.top_tokens]
    assert top_tokens[0] == result.rows
    assert top_tokens[-1] == result.chosen
