"""Without positions, an encoder cannot tell the order of words."""

from __future__ import annotations

import pytest
import torch

from transformer import Translator
from transformer.analysis.positions import ORDER_PAIR, reordering_effect


def test_without_positions_an_encoder_cannot_tell_the_order(translator: Translator) -> None:
    result = reordering_effect(translator, *ORDER_PAIR)
    # Adding in another order changes float32 sums by rounding errors; real differences are near 1.
    assert result.max_differences["without"] < 1e-4 < result.max_differences["with"]
    model, encode = translator.model, translator.vocabulary.encode
    ids = [[*encode(text), model.config.eos_id] for text in ORDER_PAIR]
    with torch.no_grad():  # the difference with positions, computed by the model itself
        first, second = (model.encode(torch.tensor([side]))[0] for side in ids)
    expected = max(
        float((first[ids[0].index(piece)] - second[ids[1].index(piece)]).abs().max())
        for piece in {*ids[0][:-1]}
    )
    assert result.max_differences["with"] == pytest.approx(expected, rel=1e-4)
    assert result.translations["with"][0] == translator.translate(ORDER_PAIR[0]).text


def test_sentences_with_different_words_are_rejected(translator: Translator) -> None:
    with pytest.raises(ValueError, match="same tokens"):
        reordering_effect(translator, "The dog runs.", "The man runs.")
