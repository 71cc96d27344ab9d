"""Rows, cells, activations and tokens changed by hand, step by step and in one pass."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.analysis.small_models import logits
from transformer import Hooks, Translator
from transformer.analysis.interventions.patches import (
    blanked,
    masked_tokens,
    patched,
    replaced_row,
)
from transformer.analysis.interventions.switching import combined
from transformer.inference import Trace

TEXT, DONOR_TEXT = "My aunt hides the lamp today.", "The baker finds books again."
LENGTH = 7


@pytest.fixture(scope="module")
def trace(translator: Translator) -> Trace:
    return translator.trace(TEXT, max_len=LENGTH)


@pytest.fixture(scope="module")
def donor_trace(translator: Translator) -> Trace:
    return translator.trace(DONOR_TEXT, max_len=LENGTH)


@pytest.mark.parametrize(("kind", "layer", "query"), [("encoder", 0, 2), ("cross", 1, 3)])
def test_a_row_of_weights_is_replaced(
    translator: Translator, trace: Trace, kind, layer, query
) -> None:
    n = len(trace.src_tokens)
    row = np.arange(n, dtype=float)
    hooks = replaced_row(trace, (kind, layer, 1), query, row.tolist())
    after = translator.trace(TEXT, trace.predicted_ids, hooks=hooks).weights(kind, layer)
    before = trace.weights(kind, layer)
    np.testing.assert_allclose(after[1, query], row / row.sum(), atol=1e-6)
    unchanged = np.ones(before.shape[:2], dtype=bool)
    unchanged[1, query] = False
    np.testing.assert_allclose(after[unchanged], before[unchanged], atol=1e-6)


def all_changes(trace: Trace, donor_trace: Trace) -> dict[str, Hooks]:
    """One change of each kind that affects single rows of the decoder."""
    stream = "decoder.layers.0.ffn_norm.hook_output"
    self_attention_weights = "decoder.layers.1.self_attn.hook_weights"
    return {
        "replaced row": replaced_row(trace, ("decoder", 1, 2), 3, [0, 5, 0, 1]),
        "replaced cross row": replaced_row(
            trace, ("cross", 0, 0), 2, [1] + [0] * (len(trace.src_ids) - 1)
        ),
        "blanked": blanked(trace, ("decoder", 0, 0), 4, 2),
        "stream": patched(trace, donor_trace, stream, [2, 5], donor_positions=[4, 1]),
        "weights": patched(
            trace, donor_trace, self_attention_weights, [3], heads=[1], donor_positions=[2]
        ),
        "masked": masked_tokens(trace, [0, 3]),
    }


NAMES = ["replaced row", "replaced cross row", "blanked", "stream", "weights", "masked"]


@pytest.mark.parametrize("name", NAMES)
def test_decoding_with_hooks_equals_one_pass_over_the_output(
    translator: Translator, trace: Trace, donor_trace: Trace, name: str
) -> None:
    """Only the selected row changes, when decoding reaches it; otherwise the two would differ."""
    hooks = all_changes(trace, donor_trace)[name]
    assert hooks.causal
    hooks = Hooks({**hooks})  # not marked causal, so decoding recomputes every step
    decoded = translator.translate(TEXT, hooks=hooks, max_len=LENGTH)
    scored = translator.translate(TEXT, target=decoded.ids, hooks=hooks)
    steps = [step.probability for step in decoded.steps]
    np.testing.assert_allclose([step.probability for step in scored.steps], steps, rtol=1e-4)
    plain = translator.translate(TEXT, target=decoded.ids)
    assert abs(plain.log_probability - decoded.log_probability) > 1e-5


def test_blanking_sets_one_weight_to_0_and_keeps_the_others(
    translator: Translator, trace: Trace
) -> None:
    before = trace.weights("cross", 0)[1, 2]
    for renormalise in (False, True):
        hooks = blanked(trace, ("cross", 0, 1), 2, 3, renormalise=renormalise)
        after = translator.trace(TEXT, trace.predicted_ids, hooks=hooks).weights("cross", 0)[1, 2]
        expected = np.where(np.arange(len(before)) == 3, 0, before)
        expected = expected / expected.sum() if renormalise else expected
        np.testing.assert_allclose(after, expected, atol=1e-6)


def test_patching_the_encoder_output_gives_the_other_translation(
    translator: Translator, trace: Trace
) -> None:
    second = translator.trace("My lamp hides the aunt today.", max_len=LENGTH)
    assert len(second.src_ids) == len(trace.src_ids)
    assert np.abs(second["hook_logits"] - trace["hook_logits"]).max() > 1e-3
    all_positions = range(len(trace.src_ids))
    hooks = patched(trace, second, "encoder.hook_memory", all_positions)
    result = translator.trace(TEXT, hooks=hooks, max_len=LENGTH)
    assert result.predicted_ids == second.predicted_ids
    np.testing.assert_allclose(result["hook_logits"], second["hook_logits"], atol=1e-5)


def test_a_patch_changes_only_its_position(
    translator: Translator, trace: Trace, donor_trace: Trace
) -> None:
    name = "decoder.layers.0.cross_attn.hook_heads"
    hooks = patched(trace, donor_trace, name, [1, 4], heads=[3, 0], donor_positions=[2, 0])
    after = translator.trace(TEXT, trace.predicted_ids, hooks=hooks)[name]
    expected = trace[name].copy()
    expected[[3, 0], 1], expected[[3, 0], 4] = (
        donor_trace[name][[3, 0], 2],
        donor_trace[name][[3, 0], 0],
    )
    np.testing.assert_allclose(after, expected, atol=1e-6)


def test_hiding_tokens_equals_masking_them(translator: Translator, trace: Trace) -> None:
    mask = torch.ones(1, 1, 1, len(trace.src_ids), dtype=torch.bool)
    mask[..., [1, 3]] = False
    ids = list(trace.predicted_ids)
    by_mask = logits(translator, TEXT, ids, src_mask=mask)
    torch.testing.assert_close(
        logits(translator, TEXT, ids, hooks=masked_tokens(trace, [1, 3])), by_mask
    )
    one_by_one = combined(masked_tokens(trace, [1]), masked_tokens(trace, [3]))
    torch.testing.assert_close(logits(translator, TEXT, ids, hooks=one_by_one), by_mask)


def test_patches_that_do_not_fit_are_refused(
    translator: Translator, trace: Trace, donor_trace: Trace
) -> None:
    n = len(trace.src_tokens)
    uniform = [1.0] * n
    for call, message in (
        (lambda: replaced_row(trace, ("cross", 0, 9), 0, uniform), "no head 9"),
        (
            lambda: replaced_row(trace, ("decoder", 0, 0), 2, uniform[:4]),
            "4 weights; query 2 has 3 keys",
        ),
        (lambda: replaced_row(trace, ("encoder", 0, 0), 2, [0.0] * n), "one of them above 0"),
        (lambda: replaced_row(trace, ("encoder", 0, 0), 2, [float("nan")] * n), "0 or more"),
        (lambda: blanked(trace, ("decoder", 0, 0), 2, 3), "query 2 has no key 3"),
        (lambda: masked_tokens(trace, [n]), f"no position {n}"),
        (lambda: masked_tokens(trace, range(n)), "leave one unmasked"),
        (lambda: patched(trace, donor_trace, "nowhere", [0]), "recorded without 'nowhere'"),
        (lambda: patched(trace, donor_trace, "encoder.hook_memory", []), "at least one"),
        (
            lambda: patched(trace, donor_trace, "encoder.hook_memory", [0], donor_positions=[0, 1]),
            "1 positions but 2 donor positions",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_a_change_for_another_sentence_is_refused(translator: Translator, trace: Trace) -> None:
    for hooks in (
        replaced_row(trace, ("encoder", 0, 0), 0, [1.0] * len(trace.src_ids)),
        masked_tokens(trace, [1]),
        patched(trace, trace, "encoder.hook_memory", [len(trace.src_ids) - 1]),
    ):
        with pytest.raises(ValueError, match="here"):
            translator.translate("She paints.", hooks=hooks)
