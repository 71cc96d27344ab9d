"""A lesson asks the same question about the model in the browser as about a trace of the app."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.figures.deno import SENTENCES, lesson_replies, packed_case, run_deno
from transformer.app_folders import APP_FOLDER
from transformer.figures.packed_trace import aligner_fields
from transformer.inference.translator import Translator
from transformer.lessons import course
from transformer.ui.services import models

BROWSER_LESSONS = tuple(lesson for lesson in course.LESSONS if lesson.build is None)
OWN_SENTENCES = ("Hello.", "Peter's new car isn't red.")
NUMBER = re.compile(r"\d+(?:[.,]\d+)*(?:e-\d+)?")


def check_equal(expected: str, actual: str, label: object) -> None:
    """Check that texts are equal, with numbers equal up to their last digit; rounding errors only
    have to be small."""
    assert NUMBER.sub("#", expected) == NUMBER.sub("#", actual), label
    for a, b in zip(NUMBER.findall(expected), NUMBER.findall(actual), strict=True):
        if "e-" in a:
            assert float(b) < 1e-3, label
            continue
        a, b = a.replace(",", ""), b.replace(",", "")
        unit = 10.0 ** -len(a.partition(".")[2])
        assert float(a) == pytest.approx(float(b), abs=1.01 * unit, rel=0.01), label


def texts_of(question: dict[str, Any]) -> list[str]:
    options = [
        text for option in question["options"] for text in (option["label"], option["feedback"])
    ]
    return [question["exhibit"], question["answer"], *options]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pair", "measured", "texts"),
    [
        ("en-fr", True, [*SENTENCES, *OWN_SENTENCES]),
        ("en-de", True, [*SENTENCES[1:6], *OWN_SENTENCES]),
        ("en-fr", False, [SENTENCES[0], *OWN_SENTENCES]),
    ],
    ids=["en-fr", "en-de", "en-fr without an aligner"],
)
def test_the_model_in_the_browser_gives_the_same_questions(
    pair: str, measured: bool, texts: list[str], tmp_path: Path
) -> None:
    folder = APP_FOLDER / "checkpoints" / pair
    loaded = models.load(pair, folder)
    aligner = loaded.aligner if measured else None
    translator = Translator.load(folder, "cpu")
    model = replace(loaded, translator=translator, hash=f"{pair} fp32", aligner=aligner)
    cases = {"texts": texts, "aligner": aligner_fields(aligner)}
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    by_text = dict(zip(texts, run_deno("questions", str(tmp_path), str(folder)), strict=True))
    asked = [(lesson, text) for text in texts for lesson in BROWSER_LESSONS]
    replies = lesson_replies([packed_case(lesson, model, text) for lesson, text in asked])
    n_questions = 0
    for (lesson, text), reply in zip(asked, replies, strict=True):
        label, live = (text, lesson.name), by_text[text][lesson.name]
        assert live.get("missing") == reply.get("missing"), label
        if "missing" in reply:
            continue
        n_questions += 1
        packed, live = reply["question"], live["question"]
        for a, b in zip(texts_of(packed), texts_of(live), strict=True):
            check_equal(a, b, label)
        for part in ("correct", "startFields", "answerFields"):
            assert packed[part] == live[part], label
    assert n_questions > len(replies) / 3


def test_the_answers_of_a_sentence_with_repeated_words_are_all_different() -> None:
    """Words and marks that occur twice, in sentences that questions are made of."""
    model = models.load("en-fr", APP_FOLDER / "checkpoints" / "en-fr")
    texts = ("house house of dog?", "river eaten what they cat of dog who rains ? they woman has?")
    replies = lesson_replies(
        [packed_case(lesson, model, text) for lesson in BROWSER_LESSONS for text in texts]
    )
    asked = [reply["question"]["options"] for reply in replies if "question" in reply]
    assert len(asked) > len(texts)
    for options in asked:
        labels = [option["label"] for option in options]
        assert len({*labels}) == len(labels), labels


def test_only_lessons_about_a_picture_of_one_sentence_are_asked_by_the_browser() -> None:
    """The answers of the others follow from formulas, other models, or numbers of Look inside."""
    names = {lesson.name for lesson in BROWSER_LESSONS}
    assert names == {
        "umbrella", "row", "steps", "meeting", "back", "rest", "ahead", "crossing", "memory",
        "self",
    }  # fmt: skip
    assert all(lesson.depth in ("heads", "steps") for lesson in BROWSER_LESSONS)
