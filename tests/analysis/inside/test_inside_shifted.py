"""The table of training: against torch's cross-entropy, and the masks that make it possible."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from tests.model.small import make_model
from transformer.analysis.inside import shifted
from transformer.inference.translator import Translator
from transformer.text import Vocabulary

SOURCE, TARGET = "A pilot hides books.", "Un pilote cache des livres."


@pytest.fixture(scope="module")
def translator(vocabulary: Vocabulary) -> Translator:
    model = make_model(dtype=torch.float32, vocab_size=len(vocabulary), max_len=64)
    return Translator(model, vocabulary)


def test_losses_are_torchs_cross_entropy(translator: Translator) -> None:
    found = shifted(translator, SOURCE, TARGET)
    encode, config = translator.vocabulary.encode, translator.model.config
    src, gold = torch.tensor([encode(SOURCE)]), torch.tensor(encode(TARGET))
    tgt = torch.cat([torch.tensor([config.bos_id]), gold[:-1]])
    logits = translator.model(src, tgt[None])[0]
    losses = functional.cross_entropy(logits, gold, reduction="none").detach()
    np.testing.assert_allclose(found.table["loss"], losses, rtol=1e-4)
    assert found.mean == pytest.approx(functional.cross_entropy(logits, gold).item(), rel=1e-5)
    assert found.total == pytest.approx(losses.sum().item(), rel=1e-5)
    np.testing.assert_allclose(found.table["probability"], losses.neg().exp(), rtol=1e-4)
    guesses = logits.softmax(-1).max(-1)
    np.testing.assert_allclose(found.table["guess_probability"], guesses.values.detach(), rtol=1e-4)
    assert list(found.table["guess"]) == translator.vocabulary.tokens(guesses.indices)


def test_a_step_reads_what_stands_before_its_target(translator: Translator) -> None:
    found = shifted(translator, SOURCE, TARGET)
    tokens = translator.vocabulary.tokens(translator.vocabulary.encode(TARGET))
    assert list(found.table["target"]) == tokens
    assert tokens[-1] == "</s>"
    assert list(found.table.index) == list(range(1, len(tokens) + 1))
    for t, reads in zip(found.table.index, found.table["reads"], strict=True):
        assert reads == ("<s>", *tokens[: t - 1])
    assert found.source[-1] == "</s>"


def test_all_steps_at_once_are_the_steps_one_by_one(translator: Translator) -> None:
    """The mask on the future is what lets training ask every step in one pass."""
    found = shifted(translator, SOURCE, TARGET)
    model, config = translator.model, translator.model.config
    src = torch.tensor([translator.vocabulary.encode(SOURCE)])
    gold = translator.vocabulary.encode(TARGET)
    for t, loss in zip(found.table.index, found.table["loss"], strict=True):
        tgt = torch.tensor([[config.bos_id, *gold[: t - 1]]])
        with torch.no_grad():
            alone = model(src, tgt)[0, -1].log_softmax(-1)[gold[t - 1]]
        assert -alone.item() == pytest.approx(loss, rel=1e-4)


def test_nothing_to_learn_from_is_said(translator: Translator) -> None:
    with pytest.raises(ValueError, match="no text to translate"):
        shifted(translator, " ", TARGET)
    with pytest.raises(ValueError, match="no translation to force"):
        shifted(translator, SOURCE, "")
