"""The gradient of the gates, held against finite differences in double precision."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from transformer import Translator
from transformer.analysis.corpora import Corpus, Sentence
from transformer.analysis.gates import all_heads, gated, site
from transformer.analysis.importance import Importance, gate_slopes, gradient_importance
from transformer.analysis.losses import batched, losses
from transformer.analysis.passes import encoded

SENTENCES = [
    ("She paints.", "Elle peint."),
    ("My aunt hides the lamp today.", "Ma tante cache la lampe aujourd'hui."),
    ("A pilot sells books.", "Un pilote vend des livres."),
]
STEP = 1e-4


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return Corpus("three", tuple(Sentence(*pair) for pair in SENTENCES))


def test_slopes_are_finite_differences(translator: Translator, corpus: Corpus) -> None:
    """Of every head and of every sentence, in a batch with padding."""
    model = copy.deepcopy(translator.model).double()
    (batch,) = batched(translator, encoded(translator, corpus))
    slopes = gate_slopes(model, batch)
    biggest = 0.0
    for kind, layer, head in all_heads(model.config):
        with torch.no_grad():
            up, down = (
                losses(model, batch, gated(model.config, {(kind, layer, head): 1 + step}))
                for step in (STEP, -STEP)
            )
        wanted = (up - down) / (2 * STEP) / batch.n_tgt
        found = slopes[site(kind, layer, "heads")][:, head]
        torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-8)
        biggest = max(biggest, float(found.abs().max()))
    assert biggest > 1e-3


def test_importance_is_the_mean_size_over_the_sentences(
    translator: Translator, corpus: Corpus
) -> None:
    alone = []
    for sentence in corpus.sentences:
        one = Corpus("one", (sentence,))
        (batch,) = batched(translator, encoded(translator, one))
        alone.append({name: s[0].abs() for name, s in gate_slopes(translator.model, batch).items()})
    found = gradient_importance(translator, corpus)
    for kind, values in found.values.items():
        for layer, row in enumerate(values):
            name = site(kind, layer, "heads")
            wanted = torch.stack([slopes[name] for slopes in alone]).mean(dim=0)
            np.testing.assert_allclose(row, wanted, rtol=1e-3, atol=1e-7)


def test_layers_of_length_1_and_the_order() -> None:
    values = {"encoder": np.array([[3.0, 4.0], [0.0, 0.0]]), "cross": np.array([[0.5, 0.0]])}
    found = Importance(values).normalised()
    np.testing.assert_allclose(found.values["encoder"], [[0.6, 0.8], [0, 0]])
    np.testing.assert_allclose(found.values["cross"], [[1, 0]])
    order = found.order()
    assert order[-3:] == [("encoder", 0, 0), ("encoder", 0, 1), ("cross", 0, 0)]
    assert len(order) == 6
    assert list(found.to_frame()) == ["kind", "layer", "head", "importance"]


def test_a_sentence_without_a_target_gets_the_models_own(translator: Translator) -> None:
    """Its own greedy translation, cut off where decoding was: the loss is what decoding said."""
    corpus = Corpus("own", (Sentence("She paints."),))
    (batch,) = batched(translator, encoded(translator, corpus))
    loss = float(losses(translator.model, batch).detach())
    wanted = translator.translate("She paints.")
    assert loss == pytest.approx(-wanted.log_probability, rel=1e-4)


def test_it_can_be_ended(translator: Translator, corpus: Corpus) -> None:
    shares: list[float] = []
    gradient_importance(translator, corpus, progress=lambda share, doing: shares.append(share))
    assert shares[-1] == 1
    assert shares == sorted(shares)

    def stop(share: float, doing: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gradient_importance(translator, corpus, progress=stop)
