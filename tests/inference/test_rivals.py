"""Alternative words equal the translator's output when their first token is forced."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from transformer import Translator
from transformer.inference.rivals import MAX_RIVAL_PIECES, MAX_RIVALS, rival_words
from transformer.measures.pieces import join_bytes
from transformer.measures.words import words

TEXTS = ("The baker hides books.", "She sells the boat today.", "A pilot")


@pytest.fixture(scope="module")
def translator(checkpoints: Path) -> Translator:
    return Translator.load(checkpoints / "tiny", device="cpu", precision="fp32")


@pytest.mark.parametrize("text", TEXTS)
def test_a_rival_equals_the_translation_with_its_prefix(translator: Translator, text: str) -> None:
    translation = translator.translate(text, method="greedy", max_len=12)
    rivals = rival_words(translator, translation, min_probability=1e-4, max_per_word=4)
    numbers = words(translation.tokens)
    assert len(rivals) == numbers[-1] + 1
    all_rivals = [rival for word_rivals in rivals for rival in word_rivals]
    assert all_rivals
    for rival in all_rivals:
        begin = (*translation.ids[: rival.step], rival.ids[0])
        expected = translator.translate(
            text, method="greedy", prefix=begin, max_len=12 + MAX_RIVAL_PIECES
        )
        rival_slice = slice(rival.step, rival.step + len(rival.ids))
        assert expected.ids[rival_slice] == rival.ids
        expected_words = words(expected.tokens)
        ends = rival.step + len(rival.ids)
        if len(rival.ids) <= MAX_RIVAL_PIECES and ends < len(expected_words):
            assert (
                expected_words[ends] == expected_words[ends - 1] + 1
            )  # the next token begins another word
        same_word = [
            i for i in range(rival.step) if expected_words[i] == expected_words[rival.step]
        ]
        text_of_word = "".join(expected.tokens[i] for i in same_word) + "".join(
            expected.tokens[rival_slice]
        )
        assert rival.text == join_bytes(text_of_word.removeprefix("▁"))
        before = [i for i in same_word if numbers[i] == rival.word]
        scored = translator.translate(text, target=expected.ids).steps
        probability = math.prod(scored[i].probability for i in [*before, *range(rival.step, ends)])
        assert rival.probability == pytest.approx(probability, rel=1e-3)
        assert rival.first == pytest.approx(scored[rival.step].probability, rel=1e-3)


def test_rivals_are_sorted_and_differ_from_the_word(translator: Translator) -> None:
    translation = translator.translate(TEXTS[0], method="greedy", max_len=12)
    rivals = rival_words(translator, translation, min_probability=1e-4, max_per_word=2)
    written = [""] * len(rivals)
    for token, number in zip(translation.tokens, words(translation.tokens), strict=True):
        written[number] += token
    for word_rivals, word_text in zip(rivals, written, strict=True):
        first_probabilities = [rival.first for rival in word_rivals]
        assert len(word_rivals) <= 2
        assert first_probabilities == sorted(first_probabilities, reverse=True)
        assert word_text.removeprefix("▁") not in [rival.text for rival in word_rivals]
    assert sum(map(len, rivals)) <= MAX_RIVALS
    assert not any(rival_words(translator, translation, min_probability=1.1))
