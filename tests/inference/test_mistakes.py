"""The sentences that the page Try offers as hard: the included model makes the mistakes."""

from __future__ import annotations

import pytest

from tests.figures.deno import drawn
from transformer import Translator
from transformer.api.model_description import describe_model
from transformer.app_folders import APP_FOLDER
from transformer.figures.glance import glance_data
from transformer.text.mistakes import MISTAKES, Mistake
from transformer.text.sentences import PARALLEL_EXAMPLES

FOLDER = APP_FOLDER / "checkpoints/en-fr"


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load(FOLDER)


@pytest.mark.parametrize("mistake", MISTAKES["en", "fr"], ids=lambda mistake: mistake.text)
def test_the_model_makes_the_mistake(mistake: Mistake, translator: Translator) -> None:
    trace = translator.trace(mistake.text, method="greedy")
    words = [word["text"].strip(".,") for word in drawn("glance", glance_data({}, trace))["words"]]
    assert mistake.wrong in words
    assert mistake.right not in trace.text
    assert mistake.note.startswith(f"**{mistake.wrong}**")
    assert f"*{mistake.right}*" in mistake.note or f" {mistake.right}*" in mistake.note


def test_the_sentences_are_beside_those_that_are_translated_rightly() -> None:
    described = describe_model(FOLDER).browser_data()
    texts = [mistake["text"] for mistake in described["mistakes"]]
    assert len(texts) == 6
    assert not {*texts} & {*described["examples"]}
    assert describe_model(APP_FOLDER / "checkpoints/en-de").mistakes == ()


def test_the_other_examples_are_right(translator: Translator) -> None:
    for text, right in zip(PARALLEL_EXAMPLES["en"], PARALLEL_EXAMPLES["fr"], strict=True):
        also_right = right.replace("à la maison", "chez nous")
        assert translator.translate(text, method="greedy").text in (right, also_right)
