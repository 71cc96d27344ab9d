"""Losses without heads, by hooks and by changed weights: single heads and groups."""

from __future__ import annotations

from pathlib import Path

import pytest
from sacrebleu.metrics.bleu import BLEU

from tests.analysis.small_models import THREE_PAIRS, logits, with_gates
from transformer import Translator
from transformer.analysis.corpora import Corpus, Sentence
from transformer.analysis.importance.ablation import leave_one_out, measure_without, without_heads
from transformer.analysis.interventions.switching import all_heads
from transformer.measures.kinds import Head

ROOT = Path(__file__).resolve().parents[3]
HEADS: list[Head] = [("encoder", 0, 1), ("decoder", 1, 0), ("cross", 1, 3)]


def loss_by_hand(translator: Translator) -> float:
    """Return nats per target token, sentence by sentence, without padding."""
    total = tokens = 0.0
    for source, target in (
        (sentence.source, sentence.target) for sentence in THREE_PAIRS.sentences
    ):
        ids = translator.vocabulary.encode(target)
        log_probabilities = logits(translator, source, ids).log_softmax(-1)
        total -= float(log_probabilities[range(len(ids)), ids].sum())
        tokens += len(ids)
    return total / tokens


def test_each_head_is_ablated_alone(translator: Translator) -> None:
    ablation = leave_one_out(translator, THREE_PAIRS, HEADS)
    assert ablation.loss == pytest.approx(loss_by_hand(translator), rel=1e-5)
    assert ablation.groups == tuple((head,) for head in HEADS)
    table = ablation.to_frame()
    for head, row in zip(HEADS, table.itertuples(), strict=True):
        model = with_gates(translator.model, {head: 0.0})
        expected = loss_by_hand(Translator(model, translator.vocabulary))
        assert (row.kind, row.layer, row.head) == head
        assert row.loss == pytest.approx(expected, rel=1e-5)
        assert row.loss_change == pytest.approx(expected - ablation.loss, abs=1e-5)
        assert row.loss_low <= row.loss_change <= row.loss_high
        assert row.loss_sure == (row.loss_low > 0 or row.loss_high < 0)
    assert "bleu" not in table


def test_bleu_without_heads_equals_sacrebleu() -> None:
    """The included model, because outputs of a random one are too short for BLEU."""
    translator = Translator.load(ROOT / "checkpoints" / "en-fr", device="cpu")
    sources = ["My brother reads a long book.", "The house is very old and cold."]
    corpus = Corpus("own", tuple(map(Sentence, sources)))  # its own translations are the targets
    ablated_heads = all_heads(translator.model.config, ["cross"])[-16:]
    ablation = measure_without(translator, corpus, [[], ablated_heads], bleu=True)
    assert ablation.bleu == pytest.approx(100)
    unchanged, changed = ablation.bleu_changes or ()
    assert (unchanged.low, unchanged.value, unchanged.high) == (0, 0, 0)
    ablated_translator = Translator(
        with_gates(translator.model, dict.fromkeys(ablated_heads, 0.0)),
        translator.vocabulary,
    )
    translations = [ablated_translator.translate(source).text for source in sources]
    expected = [translator.translate(source).text for source in sources]
    score = BLEU().corpus_score(translations, [expected]).score
    assert 0 < score < 100
    assert 100 + changed.value == pytest.approx(score)
    assert changed.low <= changed.value <= changed.high
    table = ablation.to_frame()
    assert table.off.tolist() == [0, len(ablated_heads)]
    assert table.bleu.tolist() == pytest.approx([100, score])


def test_removed_heads_equal_ablated_heads(translator: Translator) -> None:
    changed = without_heads(translator, HEADS)
    by_hand = with_gates(translator.model, dict.fromkeys(HEADS, 0.0))
    for name, weight in changed.model.named_parameters():
        assert weight.equal(by_hand.get_parameter(name)), name
    assert changed.model is not translator.model
    with pytest.raises(ValueError, match="no layer 9"):
        without_heads(translator, [("cross", 9, 0)])
