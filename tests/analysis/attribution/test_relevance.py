"""Relevance of source tokens: compared with one pass per perturbation, and with scipy's
correlation."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import pearsonr

from tests.analysis.small_models import randomized
from transformer import Translator
from transformer.analysis.attribution.relevance import (
    PERTURBED,
    relevance,
    relevance_correlation,
    relevance_correlations,
)
from transformer.analysis.corpora import Corpus, Sentence
from transformer.analysis.findings import FINDINGS
from transformer.inference.trace import Trace
from transformer.model import Transformer
from transformer.text import Vocabulary


@pytest.fixture(scope="module")
def model_translator(tiny_model: Transformer, vocabulary: Vocabulary) -> Translator:
    return Translator(randomized(tiny_model), vocabulary)


def log_probabilities(translator: Translator, trace: Trace, hidden: int | None) -> np.ndarray:
    """Log-probabilities of the output tokens with one position of the memory removed, not
    masked."""
    model = translator.model
    src, tgt = torch.tensor([trace.src_ids]), torch.tensor([trace.tgt_ids])
    with torch.inference_mode():
        memory = model.encode(src)
        if hidden is not None:
            memory = torch.cat([memory[:, :hidden], memory[:, hidden + 1 :]], dim=1)
        log_p = model.project(model.decode(tgt, memory)).double().log_softmax(-1)[0]
    return log_p[range(len(trace.predicted_ids)), list(trace.predicted_ids)].numpy()


def test_masking_a_position_equals_removing_it(model_translator: Translator, trace: Trace) -> None:
    effects = relevance(model_translator, trace, "memory")
    unperturbed = log_probabilities(model_translator, trace, None)
    for position in range(len(trace.src_ids) - 1):
        change = np.abs(log_probabilities(model_translator, trace, position) - unperturbed)
        np.testing.assert_allclose(effects[:, position], change, atol=1e-5)
    assert effects.max() > 1e-3


def test_correlations_equal_scipy(model_translator: Translator, trace: Trace) -> None:
    explained = relevance_correlation(model_translator, trace, "memory")
    reference = relevance(model_translator, trace, "memory")
    reference = reference / reference.sum(axis=1, keepdims=True)
    layers = []
    for layer in range(trace.n_layers):
        weights = trace.weights("cross", layer)[:, :, :-1].astype(np.float64)
        layers.append(weights)
        for head, rows in enumerate(weights):
            expected = pearsonr((rows / rows.sum(axis=1, keepdims=True)).ravel(), reference.ravel())
            assert explained.heads[layer, head] == pytest.approx(expected.statistic, abs=1e-6)
    mean = np.mean(layers, axis=(0, 1))
    expected = pearsonr((mean / mean.sum(axis=1, keepdims=True)).ravel(), reference.ravel())
    assert explained.mean == pytest.approx(expected.statistic, abs=1e-6)


def test_a_corpus_has_the_mean_of_its_sentences_and_a_verdict(
    model_translator: Translator, pairs: list[tuple[str, str]]
) -> None:
    corpus = Corpus("pairs", tuple(Sentence(*pair) for pair in pairs[:12]))
    sentence_correlations, table = relevance_correlations(model_translator, corpus)
    assert sentence_correlations.shape == (
        len(PERTURBED),
        12,
        model_translator.model.config.n_layers + 1,
    )
    sentence = corpus.sentences[0]
    trace = model_translator.trace(sentence.source, sentence.target)
    for number, name in enumerate(PERTURBED):
        expected = relevance_correlation(model_translator, trace, name)
        assert sentence_correlations[number, 0, -1] == pytest.approx(expected.mean, abs=1e-6)
        means = table.query("perturbed == @name and layer.isna()")["correlation"]
        assert means.item() == pytest.approx(sentence_correlations[number, :, -1].mean())
    finding = FINDINGS["half-explanation"].run(model_translator, corpus)
    assert finding.effect is not None
    assert finding.effect.interval.value == pytest.approx(sentence_correlations[1, :, -1].mean())
    below = finding.effect.interval.high < 0.75
    assert finding.verdict == ("holds" if below else "inconclusive")


def test_a_source_of_one_token_is_refused(model_translator: Translator) -> None:
    vocabulary = model_translator.vocabulary
    texts = (vocabulary.decode([id]) for id in range(4, len(vocabulary)))
    text = next(text for text in texts if text and len(vocabulary.encode(text)) == 2)
    with pytest.raises(ValueError, match="a sentence of at least two is needed"):
        relevance_correlation(model_translator, model_translator.trace(text))
