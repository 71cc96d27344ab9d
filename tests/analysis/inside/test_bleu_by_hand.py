"""The steps of BLEU, compared with sacrebleu and with hand-computed examples."""

from __future__ import annotations

import math

import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st

from transformer.analysis.inside.bleu_by_hand import bleu

TOKENS = ["le", "la", "mer", "n'a", "vu", "5,000", ".", "?", "É", "«"]
WORDS = st.lists(st.sampled_from(TOKENS), max_size=14)
TEXTS = WORDS.map(" ".join)


@given(TEXTS | st.text(max_size=40), TEXTS | st.text(max_size=40))
def test_the_steps_lead_to_sacrebleus_score(output: str, reference: str) -> None:
    result, expected = bleu(output, reference), sacrebleu.sentence_bleu(output, [reference])
    assert 100 * result.brevity * result.mean == pytest.approx(expected.score, abs=1e-9)
    assert (len(result.output), len(result.reference)) == (expected.sys_len, expected.ref_len)
    for order in result.orders:
        assert order.total == sum(count for _, count, _ in order.grams)
        assert order.matched == sum(clipped for *_, clipped in order.grams)


def test_repeated_words_are_clipped_to_the_reference_count() -> None:
    """The example of Papineni et al.: seven times "the", of which the reference has two."""
    result = bleu("the the the the the the the", "the cat is on the mat")
    assert result.orders[0].grams == ((("the",), 7, 2),)
    assert result.orders[0].precision == pytest.approx(2 / 7)


def test_bleu_equals_a_hand_computed_example() -> None:
    result = bleu("a b c d e", "a b c x e f")
    counts = [(order.matched, order.total) for order in result.orders]
    assert counts == [(4, 5), (2, 4), (1, 3), (0, 2)]
    mean = (4 / 5 * 2 / 4 * 1 / 3 * 1 / 4) ** 0.25  # (1/2) / 2 for the n without a match
    assert result.score == pytest.approx(100 * math.exp(1 - 6 / 5) * mean)
