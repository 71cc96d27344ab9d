"""The effect of an intervention, compared with a model whose weights were changed by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.analysis.small_models import logits, with_gates
from tests.inference import models
from transformer import Hooks, Translator
from transformer.analysis.interventions.comparison import compare
from transformer.analysis.interventions.switching import switched_off, uniform

TEXT = "A pilot paints a boat again."
HEADS = [("encoder", 1, 2), ("cross", 1, 0), ("cross", 1, 1), ("decoder", 0, 3)]


def test_probabilities_are_those_of_the_original_tokens(translator: Translator) -> None:
    by_hand = Translator(
        with_gates(translator.model, dict.fromkeys(HEADS, 0.0)), translator.vocabulary
    )
    hooks = switched_off(translator.model.config, HEADS)
    comparison = compare(translator, TEXT, hooks, max_len=8, candidates=3)
    ids = list(comparison.original.predicted_ids)
    rows = torch.arange(len(ids))
    for compared, column in ((translator, "before"), (by_hand, "after")):
        expected = logits(compared, TEXT, ids).softmax(-1)[rows, ids]
        np.testing.assert_allclose(comparison.probabilities[column], expected, rtol=1e-4)
    change = np.log(comparison.probabilities.after / comparison.probabilities.before)
    np.testing.assert_allclose(comparison.probabilities.log_change, change, rtol=1e-6)
    assert comparison.translation.ids == by_hand.translate(TEXT, max_len=8).ids
    assert comparison.changed == (comparison.translation.ids != tuple(ids))

    assert len(comparison.candidates) == 3 * len(ids)
    after = logits(by_hand, TEXT, ids)
    after[:, [0, 1, 3]] = -torch.inf  # <pad>, <s> and <unk> are never written
    best = translator.vocabulary.tokens(after.argmax(-1).tolist())
    first = comparison.candidates[comparison.candidates["rank"] == 0]
    assert first.token_after.tolist() == best
    changed_positions = [
        n for n, (a, b) in enumerate(zip(first.token_before, best, strict=True)) if a != b
    ]
    assert comparison.changed_predictions == tuple(changed_positions)


def test_free_decoding_runs_only_if_the_output_may_differ() -> None:
    changed = set()
    for source in models.SOURCES:
        translator = models.copy_translator(source)
        for head in range(4):
            ablation = switched_off(translator.model.config, [("encoder", 1, head)])
            comparison = compare(translator, "a", ablation)
            expected = translator.translate("a", hooks=ablation)
            assert comparison.translation.ids == expected.ids
            assert comparison.translation.method == "greedy"
            assert comparison.translation.score == pytest.approx(expected.score, abs=1e-4)
            assert comparison.translation.finished == expected.finished
            assert [step.candidates[1].id for step in comparison.translation.steps] == [
                step.candidates[1].id for step in expected.steps
            ]
            changed.add(comparison.changed)
    assert changed == {True, False}


def test_the_change_of_attention_is_total_variation(translator: Translator) -> None:
    comparison = compare(
        translator, TEXT, uniform(translator.model.config, [("cross", 0, 1)]), max_len=6
    )
    before = comparison.original.weights("cross", 0)[1].astype(float)
    equal_weights = np.full_like(before, 1 / before.shape[1])
    # The rows sum to 1, so the total increase equals the total decrease.
    expected = np.maximum(equal_weights - before, 0).sum(axis=-1)
    np.testing.assert_allclose(comparison.attention_rows("cross")[0, 1], expected, atol=1e-5)
    assert comparison.attention("cross")[0, 1] == pytest.approx(expected.mean(), abs=1e-5)
    np.testing.assert_allclose(comparison.attention_rows("encoder"), 0, atol=1e-6)
    np.testing.assert_allclose(comparison.attention_rows("decoder")[0], 0, atol=1e-6)
    assert comparison.attention("decoder")[1].min() > 0  # it reads the changed layer 0


def test_invalid_comparisons_are_refused(translator: Translator) -> None:
    original = translator.trace(TEXT, max_len=3)
    with pytest.raises(ValueError, match=r"not of 'She paints\.'"):
        compare(translator, "She paints.", Hooks({}), original=original)
    with pytest.raises(ValueError, match="no hook 'cross'"):
        compare(translator, TEXT, Hooks({"cross": lambda x, name: None}))
    with pytest.raises(ValueError, match="no text"):
        compare(translator, " ", Hooks({}))
