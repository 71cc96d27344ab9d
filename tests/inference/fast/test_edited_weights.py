"""Converted copies of the weights are updated when the model is edited."""

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


def optimized_decoder(model: Transformer, monkeypatch: pytest.MonkeyPatch) -> SequenceDecoder:
    """Return a decoder that uses 8-bit drafts and bfloat16 batches, as if they had been measured
    to be faster."""
    monkeypatch.setattr("transformer.inference.fast.fast_backend.MIN_TUNED_WEIGHTS", 0)
    monkeypatch.setattr(FastBackend, "_time_ratio", lambda backend, candidate, baseline, rows: 0.0)
    return SequenceDecoder(model)


IdsAndScores = list[tuple[list[int], list[float]]]


def ids_and_scores(
    decoder: SequenceDecoder, rows: int, options: Decoding = OPTIONS
) -> IdsAndScores:
    outputs = [output.decoded for output in decoder.run(SOURCES[:rows], options)]
    return [(decoded.ids, [*map(float, decoded.log_probabilities)]) for decoded in outputs]


def approximately_equal(actual: IdsAndScores, expected: IdsAndScores) -> bool:
    """Return whether ids are equal, and scores up to float32 rounding.

    Verified drafts and beam searches add in different orders.
    """
    return all(
        ids == expected_ids and probabilities == pytest.approx(expected_probabilities, abs=1e-4)
        for (ids, probabilities), (expected_ids, expected_probabilities) in zip(
            actual, expected, strict=True
        )
    )


@pytest.mark.parametrize("through_data", [False, True])
def test_edited_weights_take_effect_in_the_next_call(
    through_data: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Edit each weight of the last layer and compare with a decoder created after the edit: for
    one row (8-bit drafts), a beam search (float32) and nine rows (bfloat16)."""
    model = models.untrained(positions="learned")
    decoder = optimized_decoder(model, monkeypatch)
    beam_options = Decoding(method="beam", beam_size=3, max_len=3)

    def all_results(decoder: SequenceDecoder) -> list[IdsAndScores]:
        return [
            ids_and_scores(decoder, 1),
            ids_and_scores(decoder, 9),
            ids_and_scores(decoder, 1, beam_options),
        ]

    results = all_results(decoder)
    for name, weight in model.named_parameters():
        if name.startswith("encoder") or ".layers.0." in name:
            continue
        edited = weight.data if through_data else weight
        with torch.no_grad():
            edited += torch.linspace(-0.3, 0.7, edited.numel()).view_as(edited)
        previous_results = results
        results = all_results(decoder)
        expected_results = all_results(optimized_decoder(model, monkeypatch))
        for result, expected, previous in zip(
            results, expected_results, previous_results, strict=True
        ):
            assert approximately_equal(result, expected), name
            assert not approximately_equal(result, previous), (
                f"{name}: the edit did not change the result"
            )


def test_replaced_or_loaded_weights_take_effect(monkeypatch: pytest.MonkeyPatch) -> None:
    model, other_model = models.untrained(0), models.untrained(1)
    decoder = optimized_decoder(model, monkeypatch)
    other_decoder = optimized_decoder(other_model, monkeypatch)
    for rows in (1, 9):
        assert not approximately_equal(
            ids_and_scores(decoder, rows), ids_and_scores(other_decoder, rows)
        )
    model.load_state_dict(other_model.state_dict())
    for rows in (1, 9):
        assert approximately_equal(
            ids_and_scores(decoder, rows), ids_and_scores(other_decoder, rows)
        )
    layer = model.decoder.layers[0].ffn.w_1
    layer.weight = torch.nn.Parameter(layer.weight.detach() * 3)
    result = ids_and_scores(decoder, 9)
    assert approximately_equal(result, ids_and_scores(optimized_decoder(model, monkeypatch), 9))
    assert not approximately_equal(result, ids_and_scores(other_decoder, 9))


def test_unedited_weights_are_copied_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = models.untrained()
    backend = optimized_decoder(model, monkeypatch).backend
    assert isinstance(backend, FastBackend)
    bf16, draft = backend.bf16_weights(9), backend.draft_weights()
    assert (backend.bf16_weights(9), backend.draft_weights()) == (bf16, draft)
    with torch.no_grad():
        model.decoder.layers[0].ffn.w_1.weight[0, 0] += 1
    assert backend.bf16_weights(9) is not bf16
    assert backend.draft_weights() is not draft
