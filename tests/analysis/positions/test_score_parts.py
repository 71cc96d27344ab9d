"""The parts of a score, compared with the model's scores and with content or position removed."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.analysis.small_models import new_model
from transformer import Hooks, Translator
from transformer.analysis.positions.score_parts import (
    PARTS,
    PARTS_WITH_BIAS,
    ScoreParts,
    score_parts,
)
from transformer.model import Transformer
from transformer.text import Vocabulary

TEXT = "The baker paints a boat."
KINDS = ("encoder", "decoder")


def hand_made_parts(parts: list[list[list[float]]], kind: str = "encoder") -> ScoreParts:
    """One head with these four tables."""
    tables = np.array(parts)[:, None]
    tokens = tuple("abc"[: tables.shape[-1]])
    return ScoreParts(kind, tokens, tables, tables.sum(axis=0))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"score": "dot"},
        {"positions": "learned", "max_len": 80},
        {"positions": "none"},
        {"biases": True},
    ],
    ids=str,
)
def test_the_terms_sum_to_the_models_scores(
    vocabulary: Vocabulary, kind: str, more: dict[str, object]
) -> None:
    translator = new_model(vocabulary, **more)
    parts = score_parts(translator.model, translator.trace(TEXT), kind)
    total = parts.parts.sum(axis=0) + parts.key_bias_term
    np.testing.assert_allclose(total, parts.scores, atol=1e-5, rtol=1e-5)
    biased = bool(more.get("biases"))
    assert parts.names == (PARTS_WITH_BIAS if biased else PARTS)
    if biased:
        assert np.ptp(parts.parts[4:], axis=-1).max() > 0.1
        frame = parts.to_frame()
        np.testing.assert_allclose(frame["position"] + frame["content"], 1)
    assert parts.error < 1e-4
    assert np.abs(parts.scores).max() > 0.1
    if more.get("positions") == "none":
        assert not parts.parts[1:].any()


@pytest.mark.parametrize("kind", KINDS)
def test_a_term_equals_the_score_without_the_others(
    tiny_model: Transformer, vocabulary: Vocabulary, kind: str
) -> None:
    """With one part of the embedding sum set to zero, the scores are those of the other part."""
    translator = Translator(tiny_model, vocabulary)
    trace = translator.trace(TEXT)
    parts = score_parts(tiny_model, trace, kind)
    ids = trace.translation.ids
    for input_name, part in (("positions", 0), ("tokens", 3)):
        zero_input = Hooks({f"{kind}.embed.hook_{input_name}": lambda x, name: x * 0})
        ablated = translator.trace(TEXT, target=ids, hooks=zero_input)
        np.testing.assert_allclose(
            parts.parts[part], ablated[f"{kind}.layers.0.self_attn.hook_scores"], atol=1e-4
        )
    # The query of a word and the key of a position, by hand, for one head and one cell.
    attention = getattr(tiny_model, kind).layers[0].self_attn
    width, head = tiny_model.config.d_k, 2
    rows = slice(head * width, (head + 1) * width)
    with torch.no_grad():
        word = torch.tensor(trace[f"{kind}.embed.hook_tokens"][3]) @ attention.w_q[rows].T
        position = torch.tensor(trace[f"{kind}.embed.hook_positions"][1]) @ attention.w_k[rows].T
    assert parts.parts[1, head, 3, 1] == pytest.approx(
        float(word @ position) / width**0.5, abs=1e-4
    )


def test_shares_ignore_constants_that_the_softmax_ignores() -> None:
    flat = [[1.0, 1.0, 1.0], [5.0, 5.0, 5.0], [-2.0, -2.0, -2.0]]
    tilted = [[0.0, 1.0, 2.0], [3.0, 1.0, 2.0], [7.0, 7.0, 7.0]]
    nothing = [[0.0] * 3] * 3
    assert hand_made_parts([flat, tilted, nothing, nothing]).shares().tolist() == [[0, 1, 0, 0]]
    assert hand_made_parts([flat, flat, flat, nothing]).shares().tolist() == [[0, 0, 0, 0]]
    doubled = (2 * np.array(tilted)).tolist()
    # Twice the scale has four times the variance.
    np.testing.assert_allclose(
        hand_made_parts([tilted, nothing, nothing, doubled]).shares(), [[0.2, 0, 0, 0.8]]
    )


def test_in_the_decoder_only_unmasked_keys_count() -> None:
    future = [[0.0, 9.0, 9.0], [0.0, 0.0, 9.0], [0.0, 0.0, 0.0]]
    past = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    nothing = [[0.0] * 3] * 3
    assert hand_made_parts([future, past, nothing, nothing], "decoder").shares().tolist() == [
        [0, 1, 0, 0]
    ]
    assert hand_made_parts([future, past, nothing, nothing]).shares()[0, 0] > 0.9
    centred = hand_made_parts([past, nothing, nothing, nothing], "decoder").centred()[0, 0]
    np.testing.assert_allclose(centred[1], [0.5, -0.5, np.nan])
    alone = hand_made_parts([future, past, nothing, nothing], "decoder").weights_by_part()[:, 0]
    np.testing.assert_allclose(alone[0], [[1, 0, 0], [0.5, 0.5, 0], [1 / 3] * 3])
    np.testing.assert_allclose(alone[1, 1, :2], [np.e / (1 + np.e), 1 / (1 + np.e)])


def test_all_four_terms_together_give_the_heads_attention(
    tiny_model: Transformer, vocabulary: Vocabulary
) -> None:
    translator = Translator(tiny_model, vocabulary)
    trace = translator.trace(TEXT)
    for kind in KINDS:
        parts = score_parts(tiny_model, trace, kind)
        summed = ScoreParts(
            kind, parts.tokens, parts.parts.sum(axis=0)[None].repeat(4, 0), parts.scores
        )
        np.testing.assert_allclose(summed.weights_by_part()[0], trace.weights(kind, 0), atol=1e-5)


def test_scores_that_cannot_be_split_are_refused(
    vocabulary: Vocabulary, tiny_model: Transformer
) -> None:
    translator = new_model(vocabulary, score="additive")
    with pytest.raises(ValueError, match="Additive scores cannot be split"):
        score_parts(translator.model, translator.trace(TEXT), "encoder")
    tiny = Translator(tiny_model, vocabulary)
    with pytest.raises(ValueError, match="kind must be 'encoder' or 'decoder', not 'cross'"):
        score_parts(tiny_model, tiny.trace(TEXT), "cross")
    with pytest.raises(KeyError, match="hook_positions"):
        score_parts(tiny_model, tiny.trace(TEXT, names=["encoder.embed.hook_tokens"]), "encoder")
