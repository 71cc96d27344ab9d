"""Without positions, an encoder cannot tell the order of words."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from transformer import Translator
from transformer.analysis.positions import ORDER_PAIR, reordering_effect


def test_without_positions_an_encoder_cannot_tell_the_order(translator: Translator) -> None:
    result = reordering_effect(translator, *ORDER_PAIR)
    # Adding in another order changes float32 sums by rounding errors; real differences are near 1.
    assert result.max_differences["without"] < 1e-4 < result.max_differences["with"]
    np.testing.assert_allclose(result.cosines["without"], 1.0, atol=1e-6)
    assert min(result.cosines["with"]) < 0.999
    model, ids = translator.model, translator.vocabulary.encode(ORDER_PAIR[0])
    with torch.no_grad():  # the figures with positions, computed by the model itself
        memory = model.encode(torch.tensor([[*ids, model.config.eos_id]]))[0].numpy()
        second_ids = translator.vocabulary.encode(ORDER_PAIR[1])
        second = model.encode(torch.tensor([[*second_ids, model.config.eos_id]]))[0].numpy()
    piece = result.pieces[1]
    piece_id = translator.vocabulary.id(piece)
    a = memory[ids.index(piece_id)].astype(float)
    b = second[second_ids.index(piece_id)].astype(float)
    cosine = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
    assert result.cosines["with"][1] == pytest.approx(cosine, abs=1e-5)
    assert result.translations["with"][0] == translator.translate(ORDER_PAIR[0]).text


def test_sentences_with_different_words_are_rejected(translator: Translator) -> None:
    with pytest.raises(ValueError, match="same tokens"):
        reordering_effect(translator, "The dog runs.", "The man runs.")
