"""Alternative words equal the translator's output when their first token is forced."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from transformer import Translator
from transformer.app_folders import APP_FOLDER
from transformer.inference.alternatives import (
    MAX_ALTERNATIVE_PIECES,
    MAX_ALTERNATIVES,
    word_alternatives,
)
from transformer.measures.naming import BLANK
from transformer.measures.pieces import join_bytes
from transformer.measures.words import words

TEXTS = ("The baker hides books.", "She sells the boat today.", "A pilot")


@pytest.fixture(scope="module")
def translator(checkpoints: Path) -> Translator:
    return Translator.load(checkpoints / "tiny", device="cpu")


@pytest.mark.parametrize("text", TEXTS)
def test_an_alternative_equals_the_translation_with_its_prefix(
    translator: Translator, text: str
) -> None:
    translation = translator.translate(text, method="greedy", max_len=12)
    alternatives = word_alternatives(translator, translation, min_probability=1e-4, max_per_word=4)
    word_numbers = words(translation.tokens)
    assert len(alternatives) == word_numbers[-1] + 1
    flat_alternatives = [
        alternative for alternatives_of_word in alternatives for alternative in alternatives_of_word
    ]
    assert flat_alternatives
    for alternative in flat_alternatives:
        prefix = (*translation.ids[: alternative.step], alternative.ids[0])
        expected = translator.translate(
            text, method="greedy", prefix=prefix, max_len=12 + MAX_ALTERNATIVE_PIECES
        )
        alternative_slice = slice(alternative.step, alternative.step + len(alternative.ids))
        assert expected.ids[alternative_slice] == alternative.ids
        expected_words = words(expected.tokens)
        end = alternative.step + len(alternative.ids)
        if len(alternative.ids) <= MAX_ALTERNATIVE_PIECES and end < len(expected_words):
            # The next token begins another word.
            assert expected_words[end] == expected_words[end - 1] + 1
        same_word = [
            i
            for i in range(alternative.step)
            if expected_words[i] == expected_words[alternative.step]
        ]
        expected_text = "".join(expected.tokens[i] for i in same_word) + "".join(
            expected.tokens[alternative_slice]
        )
        assert alternative.text == (join_bytes(expected_text.removeprefix("▁")) or BLANK)
        start_of_word = [i for i in same_word if word_numbers[i] == alternative.word]
        forced_steps = translator.translate(text, target=expected.ids).steps
        probability = math.prod(
            forced_steps[i].probability for i in [*start_of_word, *range(alternative.step, end)]
        )
        assert alternative.probability == pytest.approx(probability, rel=1e-3)
        assert alternative.first_piece_probability == pytest.approx(
            forced_steps[alternative.step].probability, rel=1e-3
        )


def test_alternatives_are_sorted_and_differ_from_the_word(translator: Translator) -> None:
    translation = translator.translate(TEXTS[0], method="greedy", max_len=12)
    alternatives = word_alternatives(translator, translation, min_probability=1e-4, max_per_word=2)
    word_texts = [""] * len(alternatives)
    for token, number in zip(translation.tokens, words(translation.tokens), strict=True):
        word_texts[number] += token
    for alternatives_of_word, word_text in zip(alternatives, word_texts, strict=True):
        first_probabilities = [
            alternative.first_piece_probability for alternative in alternatives_of_word
        ]
        assert len(alternatives_of_word) <= 2
        assert first_probabilities == sorted(first_probabilities, reverse=True)
        assert word_text.removeprefix("▁") not in [
            alternative.text for alternative in alternatives_of_word
        ]
    assert sum(map(len, alternatives)) <= MAX_ALTERNATIVES
    assert not any(word_alternatives(translator, translation, min_probability=1.1))


def test_alternatives_are_words() -> None:
    """The model also gives "examen" without a space before it; "unexamen" is not a word."""
    translator = Translator.load(APP_FOLDER / "checkpoints" / "en-fr", device="cpu")

    def alternatives(text: str) -> set[str]:
        found = word_alternatives(translator, translator.translate(text, method="greedy"))
        return {alternative.text for of_word in found for alternative in of_word}

    assert "unexamen" not in alternatives("He took an exam yesterday.")
    assert "Elleoublie" not in alternatives("She forgets her keys.")
    # Endings, punctuation and a hyphen continue the word before them.
    assert {"Tournez-vous", "droite,"} <= alternatives("Turn right, then left.")
