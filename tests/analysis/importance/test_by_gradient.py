"""Gradients of the gates, compared with finite differences in double precision."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from tests.analysis.small_models import THREE_PAIRS
from transformer import Translator
from transformer.analysis.corpora import Corpus, Sentence
from transformer.analysis.corpora.passes import batch_list, encode_corpus, losses
from transformer.analysis.importance.by_gradient import (
    Importance,
    gradient_importances,
    position_gradients,
)
from transformer.analysis.interventions.switching import all_heads, gated, site
from transformer.hooks import Hooks

STEP = 1e-4


def test_head_gradients_equal_finite_differences(translator: Translator) -> None:
    """For every head and sentence, in a batch with padding."""
    model = copy.deepcopy(translator.model).double()
    (batch,) = batch_list(translator, encode_corpus(translator, THREE_PAIRS))
    slopes = position_gradients(model, batch)
    largest = 0.0
    for kind, layer, head in all_heads(model.config):
        with torch.no_grad():
            up, down = (
                losses(model, batch, gated(model.config, {(kind, layer, head): 1 + step}))
                for step in (STEP, -STEP)
            )
        expected = (up - down) / (2 * STEP)
        result = slopes[site(kind, layer, "heads")][:, head].sum(dim=-1)
        torch.testing.assert_close(result, expected, rtol=1e-5, atol=1e-8)
        largest = max(largest, float(result.abs().max()))
    assert largest > 1e-3


def test_position_gradients_equal_finite_differences(translator: Translator) -> None:
    """One gate per position of the longest sentence; padding has gradient 0."""
    model = copy.deepcopy(translator.model).double()
    (batch,) = batch_list(translator, encode_corpus(translator, THREE_PAIRS))
    slopes = position_gradients(model, batch)
    for kind, layer, head in (("encoder", 0, 1), ("decoder", 1, 0), ("cross", 1, 3)):
        name = site(kind, layer, "heads")
        lengths = batch.n_src if kind == "encoder" else batch.n_tgt
        for position in range(int(lengths.max())):

            def scaled_losses(
                step: float, name: str = name, head: int = head, at: int = position
            ) -> torch.Tensor:
                def scale_position(outputs: torch.Tensor, _: str) -> torch.Tensor:
                    scaled = outputs.clone()
                    scaled[:, head, at] *= 1 + step
                    return scaled

                with torch.no_grad():
                    return losses(model, batch, Hooks({name: scale_position}))

            expected = (scaled_losses(STEP) - scaled_losses(-STEP)) / (2 * STEP)
            torch.testing.assert_close(
                slopes[name][:, head, position], expected, rtol=1e-5, atol=1e-8
            )
            assert (slopes[name][lengths <= position, head, position] == 0).all()


def test_importance_is_the_mean_absolute_gradient(translator: Translator) -> None:
    """Both are computed from the gradients of single sentences."""
    sentence_gradients, n_tgt = [], []
    for sentence in THREE_PAIRS.sentences:
        single = Corpus("one", (sentence,))
        (batch,) = batch_list(translator, encode_corpus(translator, single))
        sentence_gradients.append(
            {n: s[0] for n, s in position_gradients(translator.model, batch).items()}
        )
        n_tgt.append(int(batch.n_tgt[0]))
    importances = gradient_importances(translator, THREE_PAIRS)
    for kind, values in importances["sentence"].values.items():
        for layer, row in enumerate(values):
            name = site(kind, layer, "heads")
            sentence_importances = [
                s[name].sum(-1).abs() / n for s, n in zip(sentence_gradients, n_tgt, strict=True)
            ]
            np.testing.assert_allclose(
                row, torch.stack(sentence_importances).mean(0), rtol=1e-3, atol=1e-7
            )
            gradients = torch.cat([slopes[name].abs() for slopes in sentence_gradients], dim=-1)
            row = importances["position"].values[kind][layer]
            np.testing.assert_allclose(row, gradients.mean(-1), rtol=1e-3, atol=1e-7)
    assert importances["sentence"].order() != importances["position"].order()


def test_importance_is_normalized_per_layer() -> None:
    values = {"encoder": np.array([[3.0, 4.0], [0.0, 0.0]]), "cross": np.array([[0.5, 0.0]])}
    normalized = Importance(values).normalised()
    np.testing.assert_allclose(normalized.values["encoder"], [[0.6, 0.8], [0, 0]])
    np.testing.assert_allclose(normalized.values["cross"], [[1, 0]])
    order = normalized.order()
    assert order[-3:] == [("encoder", 0, 0), ("encoder", 0, 1), ("cross", 0, 0)]
    assert len(order) == 6
    assert list(normalized.to_frame()) == ["kind", "layer", "head", "importance"]


def test_a_sentence_without_a_target_uses_the_models_translation(translator: Translator) -> None:
    """Its greedy translation up to the length limit: the loss equals that of decoding."""
    corpus = Corpus("own", (Sentence("She paints."),))
    (batch,) = batch_list(translator, encode_corpus(translator, corpus))
    loss = float(losses(translator.model, batch).detach())
    expected = translator.translate("She paints.")
    assert loss == pytest.approx(-expected.log_probability, rel=1e-4)
