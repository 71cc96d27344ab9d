"""Copies of weights follow the model when it is edited."""

from __future__ import annotations

import pytest
import torch

from tests.inference import models
from transformer.inference.decoding import SequenceDecoder
from transformer.inference.fast.fast_backend import FastBackend
from transformer.inference.options import Decoding
from transformer.model.transformer import Transformer

SOURCES = [models.SOURCES[0]] * 9
OPTIONS = Decoding(max_len=3)


def decoder_of(model: Transformer, monkeypatch: pytest.MonkeyPatch) -> SequenceDecoder:
    """All arrangements in use: as if eight bits and bfloat16 had been measured to be faster."""
    monkeypatch.setattr("transformer.inference.fast.fast_backend.MIN_TUNED_WEIGHTS", 0)
    monkeypatch.setattr(FastBackend, "_time_ratio", lambda engine, one, other, rows: 0.0)
    return SequenceDecoder(model)


Told = list[tuple[list[int], list[float]]]


def told(decoder: SequenceDecoder, rows: int, options: Decoding = OPTIONS) -> Told:
    found = [output.decoded for output in decoder.run(SOURCES[:rows], options)]
    return [(one.ids, [*map(float, one.log_probabilities)]) for one in found]


def same(one: Told, other: Told) -> bool:
    """But for the rounding of float32: a draft that is checked goes another way than beams do."""
    return all(
        ids == others and probabilities == pytest.approx(wanted, abs=1e-4)
        for (ids, probabilities), (others, wanted) in zip(one, other, strict=True)
    )


@pytest.mark.parametrize("through_data", [False, True])
def test_an_edited_weight_counts_in_the_next_call(
    through_data: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weight after weight of the last layer, against a decoder that is made after the edit: one
    row (drafted in eight bits), beams (float32) and nine rows (bfloat16)."""
    model = models.untrained(positions="learned")
    decoder, beams = decoder_of(model, monkeypatch), Decoding(method="beam", beam_size=3, max_len=3)
    now = [told(decoder, 1), told(decoder, 9), told(decoder, 1, beams)]
    for name, weight in model.named_parameters():
        if name.startswith("encoder") or ".layers.0." in name:
            continue
        edited = weight.data if through_data else weight
        with torch.no_grad():
            edited += torch.linspace(-0.3, 0.7, edited.numel()).view_as(edited)
        before, now = now, [told(decoder, 1), told(decoder, 9), told(decoder, 1, beams)]
        fresh = decoder_of(model, monkeypatch)
        wanted = [told(fresh, 1), told(fresh, 9), told(fresh, 1, beams)]
        for found, expected, was in zip(now, wanted, before, strict=True):
            assert same(found, expected), name
            assert not same(found, was), f"{name}: the edit is large enough to be seen"


def test_a_weight_that_is_replaced_or_loaded_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    model, other = models.untrained(0), models.untrained(1)
    decoder, of_other = decoder_of(model, monkeypatch), decoder_of(other, monkeypatch)
    for rows in (1, 9):
        assert not same(told(decoder, rows), told(of_other, rows))
    model.load_state_dict(other.state_dict())
    for rows in (1, 9):
        assert same(told(decoder, rows), told(of_other, rows))
    layer = model.decoder.layers[0].ffn.w_1
    layer.weight = torch.nn.Parameter(layer.weight.detach() * 3)
    found = told(decoder, 9)
    assert same(found, told(decoder_of(model, monkeypatch), 9))
    assert not same(found, told(of_other, 9))


def test_copies_are_made_once_while_nobody_edits(monkeypatch: pytest.MonkeyPatch) -> None:
    model = models.untrained()
    engine = decoder_of(model, monkeypatch).backend
    assert isinstance(engine, FastBackend)
    half, draft = engine.bf16_weights(9), engine.draft_weights()
    assert (engine.bf16_weights(9), engine.draft_weights()) == (half, draft)
    with torch.no_grad():
        model.decoder.layers[0].ffn.w_1.weight[0, 0] += 1
    assert engine.bf16_weights(9) is not half
    assert engine.draft_weights() is not draft
