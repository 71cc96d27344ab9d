"""The course on the site asks the same questions as the app, with the same answers."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.figures.deno import SENTENCES, run_deno
from transformer.analysis.interventions import switched_off
from transformer.app_folders import APP_FOLDER
from transformer.inference.translator import Translator
from transformer.measures.head_codes import parse_heads
from transformer.ui.services import models
from transformer.ui.site.live_lessons import LIVE_LESSONS, question_data
from transformer.ui.widgets.lessons import course
from transformer.ui.widgets.lessons.lesson import LessonCase, LessonUnavailable, Question

OWN_SENTENCES = (
    "Hello.",
    "Her mother and his father have an old umbrella.",
    "Peter's new car isn't red.",
)
NUMBER = re.compile(r"\d+(?:[.,]\d+)*(?:e-\d+)?")


@dataclass(frozen=True)
class _View:
    kind: str = "encoder"
    layer: int = 0
    head: int = 0
    off: str = ""


PAGE_CHECKS: list[tuple[str, _View]] = [
    ("back", _View("encoder", 0, 1)),
    ("back", _View("decoder", 1, 3)),
    ("back", _View("cross", 2, 2)),
    ("off", _View()),
    ("off", _View(off="c5")),
    ("off", _View(off="c0,c1,c2,c3,c4,c5")),
]


def _check_equal(expected: str, actual: str, label: object) -> None:
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


def _texts(question: dict[str, Any]) -> list[str]:
    options = [
        text for option in question["options"] for text in (option["label"], option["feedback"])
    ]
    return [question["exhibit"], question["answer"], *options]


# All sentences of the lessons once; with the other model, and without an aligner, a few.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("pair", "measured", "texts"),
    [
        ("en-fr", True, [*SENTENCES, *OWN_SENTENCES]),
        ("en-de", True, [*SENTENCES[1:6], *OWN_SENTENCES]),
        ("en-fr", False, [SENTENCES[0], *OWN_SENTENCES[1:]]),
    ],
    ids=["en-fr", "en-de", "en-fr without an aligner"],
)
def test_questions_are_those_of_the_app(
    pair: str, measured: bool, texts: list[str], tmp_path: Path
) -> None:
    folder = APP_FOLDER / "checkpoints" / pair
    translator = Translator.load(folder, "cpu")
    loaded = models.load(pair, folder)
    aligner = loaded.aligner if measured else None
    model = replace(loaded, translator=translator, hash=f"{pair} fp32", aligner=aligner)
    checks = [
        (name, {**vars(view), "count": 8 * len(view.off.split(",")) if view.off else 0})
        for name, view in PAGE_CHECKS
    ]
    aligner_fields = aligner and {n: getattr(aligner, n) for n in ("layer", "head", "weights_to")}
    cases = {"texts": texts, "aligner": aligner_fields, "checks": checks}
    cases["checked"] = checked = [SENTENCES[0], *OWN_SENTENCES[1:]]
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    js_results = run_deno("questions", str(tmp_path), str(folder))
    counts = dict.fromkeys(LIVE_LESSONS, 0)
    for text, js_result in zip(texts, js_results, strict=True):
        lesson = LessonCase(model, text)
        assert js_result["questions"].keys() == set(LIVE_LESSONS)
        built: dict[str, Question] = {}
        for name in LIVE_LESSONS:
            js_question, label = js_result["questions"][name], (text, name)
            reason = ""
            try:
                built[name] = course.BY_NAME[name].build(lesson)
            except LessonUnavailable as error:
                reason = str(error)
            if name == "off" and (reason or isinstance(js_question, str)):
                continue  # the app also searches other layers, and other heads first
            if reason:
                assert js_question == reason, label
                continue
            expected = question_data(built[name])
            assert isinstance(js_question, dict), (label, js_question)
            counts[name] += 1
            if name == "off":  # the app searches by gradients, which the site does not have
                off = js_question["answerFields"]["off"]
                heads, _ = parse_heads(off, loaded.n_layers, loaded.n_heads)
                hooks = switched_off(translator.model.config, heads)
                assert translator.translate(text, hooks=hooks).text != lesson.trace.text
                continue
            for a, b in zip(_texts(expected), _texts(js_question), strict=True):
                _check_equal(a, b, label)
            for part in ("correct", "startFields", "answerFields"):
                assert js_question[part] == expected[part], label
        page_checks = PAGE_CHECKS if text in checked else []
        for (name, view), check in zip(page_checks, js_result["checked"], strict=True):
            if name not in built:
                continue
            is_right = built[name].check
            assert is_right is not None
            right, explanation = is_right(model, view)
            assert check["correct"] == right
            _check_equal(explanation, check["text"], (text, name, view))
    # Of a few sentences, none may show a phenomenon.
    n_asked, all_sentences = sum(map(bool, counts.values())), len(texts) > len(SENTENCES)
    assert n_asked == len(counts) if all_sentences else n_asked > len(counts) / 2, counts


def test_other_lessons_cannot_ask_about_own_sentences() -> None:
    """Their answers follow from the formulas, from fixed sentences or from another model."""
    other_lessons = {lesson.name for lesson in course.LESSONS} - set(LIVE_LESSONS)
    assert other_lessons == {
        "bag", "waves", "reverse", "scale", "cosine", "shifted", "cost", "keys", "output",
        "epsilon", "gender",
    }  # fmt: skip
