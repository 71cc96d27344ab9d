"""One attention over a batch, and keys computed with W^Q."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from tests.model.small import make_model
from transformer import Translator
from transformer.analysis.inside import batched_attention
from transformer.analysis.inside.side_experiments import keys_by_the_query_matrix
from transformer.config import ModelConfig
from transformer.model import Transformer
from transformer.text import Vocabulary

TEXT, TARGET = "The baker paints a boat at night.", "Elle cache un bateau."
SOURCES = (TEXT, "She sells bread.", "A pilot finds the lamp again.")
TARGETS = (TARGET, "Elle vend.", "Un pilote trouve la lampe encore.")
ATTENTIONS = (
    "encoder.layers.0.self_attn",
    "decoder.layers.1.self_attn",
    "decoder.layers.0.cross_attn",
)


@pytest.fixture(scope="module")
def translator(vocabulary: Vocabulary) -> Translator:
    model = make_model(dtype=torch.float32, vocab_size=len(vocabulary), n_layers=2)
    return Translator(model, vocabulary)


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_shapes_match_their_symbols(translator: Translator, attention: str) -> None:
    batch = batched_attention(translator, SOURCES, TARGETS, attention)
    config, encode = translator.model.config, translator.vocabulary.encode
    src, tgt = (max(len(encode(text)) for text in side) for side in (SOURCES, TARGETS))
    sizes = {
        "B": 3,
        "1": 1,
        "h": config.n_heads,
        "d_k": config.d_k,
        "d_v": config.d_k,
        "h · d_v": config.d_model,
        "d_model": config.d_model,
        "L": tgt if attention.startswith("decoder") else src,
        "S": src if "cross" in attention or attention.startswith("encoder") else tgt,
    }
    for text, axes, shape in batch.shapes:
        for axis, size in zip(axes, shape, strict=True):
            assert size in ((1, sizes["L"]) if axis == "1 or L" else (sizes[axis],)), text
    assert [len(line) for line in batch.tokens] == [sizes["S"]] * 3


@pytest.mark.parametrize("attention", ATTENTIONS)
def test_padding_and_other_sentences_have_no_influence(
    translator: Translator, attention: str
) -> None:
    batch = batched_attention(translator, SOURCES, TARGETS, attention)
    assert batch.on_padding == 0
    assert 0 < batch.padding < 1
    single = batched_attention(translator, SOURCES[:1], TARGETS[:1], attention)
    assert single.padding == 0
    torch.testing.assert_close(batch.output[:1, : single.output.shape[1]], single.output)


def with_one_matrix(model: Transformer, layer: int) -> Transformer:
    """A copy in which W^K of this encoder layer is W^Q."""
    shared = copy.deepcopy(model)
    attention = shared.encoder.layers[layer].self_attn
    with torch.no_grad():
        attention.w_k.copy_(attention.w_q)  # type: ignore[union-attr, operator]
    return shared


@pytest.mark.parametrize("score", ["scaled_dot", "dot", "additive"])
@pytest.mark.parametrize("layer", [0, 1])
def test_sharing_w_q_and_w_k_equals_a_model_with_one_matrix(
    vocabulary: Vocabulary, score: str, layer: int
) -> None:
    config = ModelConfig.preset("tiny", vocab_size=len(vocabulary), score=score)
    model = Transformer(config).eval()
    trace = Translator(model, vocabulary).trace(TEXT, "Elle cache.")
    variant = keys_by_the_query_matrix(model, trace, layer)
    altered_trace = Translator(with_one_matrix(model, layer), vocabulary).trace(TEXT, "Elle cache.")
    np.testing.assert_allclose(variant.with_w_q, altered_trace.weights("encoder", layer), atol=1e-5)
    np.testing.assert_allclose(variant.with_w_k, trace.weights("encoder", layer), atol=1e-5)
    scores = altered_trace[f"encoder.layers.{layer}.self_attn.hook_scores"]
    assert np.abs(scores - scores.swapaxes(1, 2)).max() < 1e-4
    assert variant.asymmetry_with_w_q < 1e-4 < variant.asymmetry_with_w_k
    assert 0 < variant.moved_weight < 1
