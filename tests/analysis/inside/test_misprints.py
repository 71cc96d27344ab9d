"""K W^Q in the keys' place, held against a model whose two matrices really are the same."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from transformer import Translator
from transformer.analysis.inside.asides import keys_by_the_query_matrix
from transformer.config import ModelConfig
from transformer.model import Transformer
from transformer.text import Vocabulary

TEXT = "The baker paints a boat at night."


@pytest.mark.parametrize("score", ["scaled_dot", "dot", "additive"])
@pytest.mark.parametrize("layer", [0, 1])
def test_it_is_what_a_model_with_that_matrix_for_both_does(
    vocabulary: Vocabulary, score: str, layer: int
) -> None:
    config = ModelConfig.preset("tiny", vocab_size=len(vocabulary), score=score)
    model = Transformer(config).eval()
    trace = Translator(model, vocabulary).trace(TEXT, "Elle cache.")
    found = keys_by_the_query_matrix(model, trace, layer)

    shared = copy.deepcopy(model)
    with torch.no_grad():
        attention = shared.encoder.layers[layer].self_attn
        attention.w_k.copy_(attention.w_q)
    other = Translator(shared, vocabulary).trace(TEXT, "Elle cache.")
    np.testing.assert_allclose(found.wrong, other.weights("encoder", layer), atol=1e-5)
    np.testing.assert_allclose(found.right, trace.weights("encoder", layer), atol=1e-5)
    scores = other[f"encoder.layers.{layer}.self_attn.hook_scores"]
    assert np.abs(scores - scores.swapaxes(1, 2)).max() < 1e-4
    assert found.wrong_lopsided < 1e-4 < found.right_lopsided
    assert 0 < found.moved < 1


def test_where_the_matrices_are_the_same_nothing_is_moved(
    tiny_model: Transformer, vocabulary: Vocabulary
) -> None:
    shared = copy.deepcopy(tiny_model)
    with torch.no_grad():
        attention = shared.encoder.layers[0].self_attn
        attention.w_k.copy_(attention.w_q)
    trace = Translator(shared, vocabulary).trace(TEXT, "Elle cache.")
    found = keys_by_the_query_matrix(shared, trace, 0)
    assert found.moved < 1e-5
    assert found.own_place[0] == pytest.approx(found.own_place[1], abs=1e-5)
