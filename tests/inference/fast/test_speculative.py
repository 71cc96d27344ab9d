"""Speculative decoding with 8-bit drafts gives the same tokens as decoding without drafts."""

from __future__ import annotations

import copy

import pytest
import torch

from tests.inference import models
from transformer.analysis.interventions.switching import switched_off
from transformer.hooks import Hooks
from transformer.inference.decoding import SequenceDecoder
from transformer.inference.fast.fast_backend import FastBackend
from transformer.inference.fast.weights import DecoderWeights, Int8
from transformer.inference.options import Decoding


@pytest.mark.parametrize("options", [Decoding(), Decoding(method="sample", seed=2, top_p=0.9)])
def test_int8_drafts_do_not_change_the_output(options: Decoding) -> None:
    model = models.copier()
    plain = SequenceDecoder(model)
    drafting = models.with_draft(model, DecoderWeights(model, Int8))
    n_verified_drafts = 0
    for source in models.many_sources(15):
        expected, output = plain.run([source], options)[0], drafting.run([source], options)[0]
        models.assert_same_output(output, expected)
        n_verified_drafts += output.teacher_forced_ids is not None
    assert n_verified_drafts > 10, "most outputs need at most two corrections of their draft"


def test_wrong_drafts_are_corrected() -> None:
    """Drafts with perturbed weights have wrong tokens, which do not reach the output."""
    model = models.copier()
    perturbed = copy.deepcopy(model)
    for parameter in perturbed.decoder.parameters():
        parameter.add_(torch.randn_like(parameter), alpha=0.03)
    plain, drafting = SequenceDecoder(model), models.with_draft(model, DecoderWeights(perturbed))
    passes: list[int] = []
    original = drafting.logits
    drafting.logits = lambda *args: passes.append(1) or original(*args)  # type: ignore[method-assign]
    n_corrected = 0
    for source in models.many_sources(8):
        passes.clear()
        output = drafting.run([source], Decoding())[0]
        assert output.decoded.ids == plain.run([source], Decoding())[0].decoded.ids
        n_corrected += output.teacher_forced_ids is not None and len(passes) > 1
    assert n_corrected > 2


def test_drafting_stops_after_too_many_corrections() -> None:
    model = models.copier()
    other_model = models.untrained(1, d_model=32, n_heads=4, d_ff=64)
    plain, drafting = SequenceDecoder(model), models.with_draft(model, DecoderWeights(other_model))
    for source in models.many_sources(3):
        output = drafting.run([source], Decoding())[0]
        assert output.teacher_forced_ids is None
        assert output.decoded.ids == plain.run([source], Decoding())[0].decoded.ids


def test_a_correct_draft_needs_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    model = models.copier()
    decoder, passes = models.with_draft(model, DecoderWeights(model)), []
    original = decoder.logits
    monkeypatch.setattr(decoder, "logits", lambda *a: passes.append(a) or original(*a))
    output = decoder.run([[5, 6, 2]], Decoding())[0]
    assert len(passes) == 1
    assert output.teacher_forced_ids == output.decoded.ids


def test_the_backend_measures_once_and_only_large_models(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small = FastBackend(models.untrained())
    assert small.draft_weights() is None
    assert small.bf16_weights(64) is None
    monkeypatch.setattr("transformer.inference.fast.fast_backend.MIN_TUNED_WEIGHTS", 0)
    measured: list[float] = []
    for ratio, drafts, bf16 in ((0.5, True, True), (0.7, False, True), (0.9, False, False)):
        backend = FastBackend(models.untrained())
        monkeypatch.setattr(backend, "_time_ratio", lambda *args, r=ratio: measured.append(r) or r)
        assert (backend.draft_weights() is not None) == drafts
        assert (backend.bf16_weights(8) is not None) == bf16
        assert backend.bf16_weights(7) is None
        assert backend.draft_weights() is backend.draft_weights()
        assert backend.bf16_weights(64) is backend.bf16_weights(8)
    assert len(measured) == 6
    assert FastBackend(models.untrained(), "fp32").bf16_weights(64) is None
    with pytest.raises(ValueError, match="precision must be one of auto, fp32, bf16, not 'fp16'"):
        FastBackend(models.untrained(), "fp16")


def test_the_real_measurements_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decoding is correct whichever implementation is measured to be faster."""
    monkeypatch.setattr("transformer.inference.fast.fast_backend.MIN_TUNED_WEIGHTS", 0)
    model = models.copier()
    decoder = SequenceDecoder(model)
    expected = [models.greedy_with_a_plain_loop(model, source, 15) for source in models.SOURCES]
    for source, ids in zip(models.SOURCES, expected, strict=True):
        assert decoder.run([source], Decoding(max_len=15))[0].decoded.ids == ids
    backend = decoder.backend
    assert isinstance(backend, FastBackend)
    assert len(backend._draft) == 1
    decoder.run(models.SOURCES * 2, Decoding(max_len=15))
    assert len(backend._bf16) == 1


def test_decoding_is_exact_if_torch_has_no_int8_product(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformer.inference.fast.fast_backend.MIN_TUNED_WEIGHTS", 0)
    monkeypatch.delattr(torch, "_weight_int8pack_mm")
    decoder = SequenceDecoder(models.copier())
    assert isinstance(decoder.backend, FastBackend)
    assert decoder.backend.draft_weights() is None
    assert decoder.run([[4, 2]], Decoding())[0].decoded.ids == [4, 4, 2]


def test_bfloat16_batches_are_close() -> None:
    model, sources = models.copier(), models.many_sources(40)
    exact = SequenceDecoder(model).run(sources, Decoding(max_len=12))
    bf16 = SequenceDecoder(model, "bf16").run(sources, Decoding(max_len=12))
    n_equal = sum(a.decoded.ids == b.decoded.ids for a, b in zip(exact, bf16, strict=True))
    assert n_equal > 30


@pytest.mark.parametrize("options", [Decoding(), Decoding(method="sample", seed=2, top_p=0.9)])
@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_drafts_are_verified_with_causal_hooks(kind: str, options: Decoding) -> None:
    model = models.copier()
    decoder, passes = models.with_draft(model, DecoderWeights(model, Int8)), []
    original = decoder.logits
    decoder.logits = lambda *args: passes.append(1) or original(*args)  # type: ignore[method-assign]
    n_changed = 0
    for number, source in enumerate(models.many_sources(8)):
        ablation = switched_off(model.config, [(kind, number % 2, number % 4)])
        plain = Hooks({**ablation})  # not marked causal: no draft
        passes.clear()
        expected = decoder.run([source], options, plain)[0]
        assert not passes
        output = decoder.run([source], options, ablation)[0]
        assert passes
        assert output.decoded.ids == expected.decoded.ids
        torch.testing.assert_close(
            torch.tensor(output.decoded.log_probabilities),
            torch.tensor(expected.decoded.log_probabilities),
            atol=1e-4,
            rtol=0,
        )
        n_changed += output.decoded.ids != decoder.run([source], options)[0].decoded.ids
    assert n_changed, "the ablations must change some outputs"
