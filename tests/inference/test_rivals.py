"""Rival words are what the translator itself writes where their first piece is forced."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from transformer import Translator
from transformer.inference.rivals import LONGEST, ROWS, rival_words
from transformer.measures.pieces import join_bytes
from transformer.measures.words import words

TEXTS = ("The baker hides books.", "She sells the boat today.", "A pilot")


@pytest.fixture(scope="module")
def translator(checkpoints: Path) -> Translator:
    return Translator.load(checkpoints / "tiny", device="cpu", precision="fp32")


@pytest.mark.parametrize("text", TEXTS)
def test_a_rival_is_written_as_the_translation_from_there_is(
    translator: Translator, text: str
) -> None:
    done = translator.translate(text, method="greedy", max_len=12)
    rivals = rival_words(translator, done, least=1e-4, most=4)
    numbers = words(done.tokens)
    assert len(rivals) == numbers[-1] + 1
    found = [one for beside in rivals for one in beside]
    assert found
    for one in found:
        begin = (*done.ids[: one.step], one.ids[0])
        wanted = translator.translate(text, method="greedy", prefix=begin, max_len=12 + LONGEST)
        place = slice(one.step, one.step + len(one.ids))
        assert wanted.ids[place] == one.ids
        after = words(wanted.tokens)
        ends = one.step + len(one.ids)
        if len(one.ids) <= LONGEST and ends < len(after):
            assert after[ends] == after[ends - 1] + 1  # the next piece begins another word
        inside = [i for i in range(one.step) if after[i] == after[one.step]]
        text_of_word = "".join(wanted.tokens[i] for i in inside) + "".join(wanted.tokens[place])
        assert one.text == join_bytes(text_of_word.removeprefix("▁"))
        before = [i for i in inside if numbers[i] == one.word]
        scored = translator.translate(text, target=wanted.ids).steps
        sure = math.prod(scored[i].probability for i in [*before, *range(one.step, ends)])
        assert one.probability == pytest.approx(sure, rel=1e-3)
        assert one.first == pytest.approx(scored[one.step].probability, rel=1e-3)


def test_the_best_come_first_and_none_is_the_word_itself(translator: Translator) -> None:
    done = translator.translate(TEXTS[0], method="greedy", max_len=12)
    rivals = rival_words(translator, done, least=1e-4, most=2)
    written = [""] * len(rivals)
    for token, number in zip(done.tokens, words(done.tokens), strict=True):
        written[number] += token
    for beside, own in zip(rivals, written, strict=True):
        chances = [one.first for one in beside]
        assert len(beside) <= 2
        assert chances == sorted(chances, reverse=True)
        assert own.removeprefix("▁") not in [one.text for one in beside]
    assert sum(map(len, rivals)) <= ROWS
    assert not any(rival_words(translator, done, least=1.1))
