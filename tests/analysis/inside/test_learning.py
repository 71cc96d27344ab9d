"""Dropout, label smoothing and the training table, compared with torch's layers and losses."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from tests.model.small import make_model
from transformer import Translator
from transformer.analysis.inside import shifted_targets
from transformer.analysis.inside.learning import apply_dropout, smooth_target
from transformer.inference import Trace
from transformer.model import Transformer
from transformer.text import Vocabulary

TEXT, TARGET = "The baker paints a boat at night.", "Elle cache un bateau."
BLOCK = "encoder.layers.1.ffn"


@pytest.fixture(scope="module")
def trace(tiny_model: Transformer, vocabulary: Vocabulary) -> Trace:
    return Translator(tiny_model, vocabulary).trace(TEXT, TARGET)


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5])
def test_dropout_equals_the_layer_in_training(
    tiny_model: Transformer, trace: Trace, p: float
) -> None:
    """With the same mask; the next test checks the rate p."""
    drop = apply_dropout(tiny_model, trace, BLOCK, 2, p=p, seed=7)
    norm = tiny_model.get_submodule(f"{BLOCK}_norm.norm")
    assert isinstance(norm, torch.nn.LayerNorm)
    stream = trace[f"{BLOCK}_norm.hook_sum"][2] - trace[f"{BLOCK}.hook_output"][2]
    total = torch.tensor(stream + drop.sublayer_output * drop.mask, dtype=torch.float32)
    with torch.no_grad():
        expected = norm(total).numpy()
    np.testing.assert_allclose(drop.normed_dropped, expected, atol=1e-5)
    assert {*np.unique(drop.mask)} <= {0.0, np.float32(1 / (1 - p))}
    layer_output = trace[f"{BLOCK}_norm.hook_output"][2]
    np.testing.assert_allclose(drop.normed, layer_output, atol=1e-5)


def test_kept_values_are_scaled_by_the_keep_rate(tiny_model: Transformer, trace: Trace) -> None:
    drop = apply_dropout(tiny_model, trace, BLOCK, 0, p=0.5, seed=3)
    assert set(drop.mask) == {0.0, 2.0}
    assert drop.count == (drop.dropped == 0).sum() > 0
    # The mean of n masks is off by √(p / (1 − p) / n) of the row, here 1/16; it varies by less
    # than a third of that with as many numbers as there are.
    assert 0.04 < drop.mean_difference < 0.09
    assert drop.cosine < 1
    same_seed = apply_dropout(tiny_model, trace, BLOCK, 0, p=0.5, seed=3)
    assert (same_seed.mask == drop.mask).all()
    assert (apply_dropout(tiny_model, trace, BLOCK, 0, p=0.5, seed=4).mask != drop.mask).any()


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_the_smoothed_loss_equals_torch(trace: Trace, smoothing: float) -> None:
    logits = torch.tensor(trace["hook_logits"]).double()
    for row, gold in enumerate(trace.predicted_ids):
        target = smooth_target(trace, row, smoothing=smoothing)
        expected = torch.nn.functional.cross_entropy(
            logits[row], torch.tensor(gold), label_smoothing=smoothing
        )
        assert target.loss == pytest.approx(expected.item(), rel=1e-9)
        assert target.target.sum() == pytest.approx(1)
        assert target.probabilities.sum() == pytest.approx(1)
        plain = torch.nn.functional.cross_entropy(logits[row], torch.tensor(gold))
        assert target.plain_loss == pytest.approx(plain.item(), rel=1e-9)


def test_the_smoothed_target_minimises_the_loss(trace: Trace) -> None:
    target = smooth_target(trace, 1, smoothing=0.1)
    assert target.min_loss <= target.loss
    assert target.min_loss < target.confident_loss
    plain = smooth_target(trace, 1, smoothing=0.0)
    assert plain.min_loss == 0
    assert plain.loss == pytest.approx(plain.plain_loss)
    assert plain.confident_loss == pytest.approx(1e-6, rel=1e-3)


@pytest.mark.parametrize(
    ("p", "row", "problem"), [(1.0, 0, "from 0 to 0.99"), (0.1, 99, "there is no row 99")]
)
def test_invalid_rates_are_refused(
    tiny_model: Transformer, trace: Trace, p: float, row: int, problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        apply_dropout(tiny_model, trace, BLOCK, row, p=p, seed=1)
    with pytest.raises(ValueError, match=problem):
        smooth_target(trace, row, smoothing=p)


@pytest.fixture(scope="module")
def translator(vocabulary: Vocabulary) -> Translator:
    model = make_model(dtype=torch.float32, vocab_size=len(vocabulary), max_len=64)
    return Translator(model, vocabulary)


def test_losses_equal_torchs_cross_entropy(translator: Translator) -> None:
    steps = shifted_targets(translator, TEXT, TARGET)
    encode, config = translator.vocabulary.encode, translator.model.config
    src, gold = torch.tensor([encode(TEXT)]), torch.tensor(encode(TARGET))
    tgt = torch.cat([torch.tensor([config.bos_id]), gold[:-1]])
    logits = translator.model(src, tgt[None])[0]
    losses = functional.cross_entropy(logits, gold, reduction="none").detach()
    np.testing.assert_allclose(steps.table["loss"], losses, rtol=1e-4)
    assert steps.mean == pytest.approx(functional.cross_entropy(logits, gold).item(), rel=1e-5)
    assert steps.total == pytest.approx(losses.sum().item(), rel=1e-5)
    np.testing.assert_allclose(steps.table["probability"], losses.neg().exp(), rtol=1e-4)
    predictions = logits.softmax(-1).max(-1)
    np.testing.assert_allclose(
        steps.table["guess_probability"], predictions.values.detach(), rtol=1e-4
    )
    assert list(steps.table["guess"]) == translator.vocabulary.tokens(predictions.indices)
