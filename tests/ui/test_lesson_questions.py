"""Every lesson's question, on the checkpoints that come with the app: what it says holds, worked
out a second way; or it says what is missing."""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from transformer.analysis.positions import ORDER_PAIR
from transformer.measures.words import words
from transformer.ui.address import View
from transformer.ui.services.models import Model, load
from transformer.ui.shell.registry import HOME, PAGES
from transformer.ui.widgets.lessons.course import (
    BY_NAME,
    CORE,
    END,
    EXTRA,
    LESSONS,
    OLD_NUMBERS,
    following,
    minutes,
    number,
    previous,
)
from transformer.ui.widgets.lessons.lesson import Lesson, LessonCase, LessonUnavailable, Question
from transformer.ui.widgets.lessons.prepared import AvailableModels, prepared

SHIPPED = Path(__file__).resolve().parents[2] / "checkpoints"
FOLDERS = {
    **{name: SHIPPED / name for name in ("en-fr", "en-de")},
    "toy-reverse": SHIPPED / "runs/toy-reverse/checkpoint",
}


@pytest.fixture(scope="module")
def models() -> dict[str, Model]:
    return {name: load(name, path) for name, path in FOLDERS.items()}


_asked: dict[tuple[str, str], tuple[LessonCase, Question] | str] = {}


def asked(lesson: Lesson, model: Model) -> tuple[LessonCase, Question] | str:
    """The first sentence of the lesson that shows it, and the question; or what is missing."""
    if (lesson.name, model.name) not in _asked:
        _asked[lesson.name, model.name] = _ask(lesson, model)
    return _asked[lesson.name, model.name]


def _ask(lesson: Lesson, model: Model) -> tuple[LessonCase, Question] | str:
    missing = ""
    for text in lesson.sentences:
        case = LessonCase(model, text)
        try:
            return case, lesson.build(case)
        except LessonUnavailable as reason:
            missing = missing or str(reason)
    return missing


def of(lesson: Lesson, models: dict[str, Model]) -> list[Model]:
    return [one for one in models.values() if one.about.kind == lesson.task]


def found_of(name: str, models: dict[str, Model]) -> Iterator[tuple[LessonCase, Question]]:
    """The lesson's question on every model that can be asked it."""
    for model in of(BY_NAME[name], models):
        found = asked(BY_NAME[name], model)
        if not isinstance(found, str):
            yield found


def test_the_course_begins_with_a_puzzle_and_ends_with_mistakes_in_twenty_minutes() -> None:
    assert (CORE[0].part, CORE[-1].part) == ("First look", "Common mistakes")
    assert 18 <= minutes(CORE) <= 22
    assert not any(one.extra for one in CORE)
    assert all(one.extra for one in EXTRA)
    assert len(BY_NAME) == len(LESSONS) == len({one.title for one in LESSONS})
    assert sum(bool(one.misprint) for one in LESSONS) >= 9
    assert {one.page for one in LESSONS} <= PAGES.keys() - {HOME, "pages/lessons.py"}
    assert len({one.page for one in LESSONS}) >= 6
    pattern = View.fields()["lesson"].form[0]
    assert all(re.fullmatch(pattern, name) for name in (*BY_NAME, *OLD_NUMBERS, END))
    assert not {END, ""} & BY_NAME.keys()


def test_one_step_leads_to_the_next_and_the_last_to_the_end() -> None:
    for walk in (CORE, EXTRA):
        assert [number(one) for one in walk] == [*range(1, len(walk) + 1)]
        assert [following(one.name) for one in walk] == [*(one.name for one in walk[1:]), END]
        assert [previous(one.name) for one in walk] == ["", *(one.name for one in walk[:-1])]


def test_a_mistake_is_never_asked_beside_its_answer() -> None:
    assert all(one.question_page == "pages/lessons.py" for one in LESSONS if one.misprint)
    assert all(one.question_page in (one.page, "pages/lessons.py") for one in LESSONS)


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda one: one.name)
def test_a_question_is_whole_or_says_what_is_missing(
    lesson: Lesson, models: dict[str, Model]
) -> None:
    assert of(lesson, models)
    for model in of(lesson, models):
        found = asked(lesson, model)
        if isinstance(found, str):
            assert re.fullmatch(r"[a-z].*[^.]", found)  # goes on a sentence, which ends it
            continue
        case, question = found
        assert case.text in lesson.sentences
        assert re.search(r"\w{3}", question.answer)
        assert "nan" not in question.answer.split()
        labels = [option.label for option in question.options]
        assert len(labels) == len(set(labels))
        if question.check is None:
            assert 2 <= len(labels) <= 4
            whys = [n for n, one in enumerate(question.options) if not one.feedback]
            assert whys in ([question.correct], [])  # all wrong ones say why not
        else:
            assert not labels
        for fields in (question.start_fields, question.answer_fields):
            view = PAGES[lesson.page].view(**{**lesson.view, **fields})
            known = view.fields()
            assert all(known[name].read(getattr(view, name)) is not None for name in fields)


def test_each_lesson_is_there_on_some_checkpoint_that_comes_with_the_app(
    models: dict[str, Model],
) -> None:
    missing = {
        one.name: [asked(one, model) for model in of(one, models)]
        for one in LESSONS
        if all(isinstance(asked(one, model), str) for model in of(one, models))
    }
    assert not missing


def test_right_answers_do_not_all_stand_at_one_place(models: dict[str, Model]) -> None:
    rights = [
        found[1].correct
        for one in LESSONS
        if not isinstance(found := asked(one, of(one, models)[0]), str) and found[1].options
    ]
    assert max(rights.count(n) for n in set(rights)) <= 0.6 * len(rights)


def word_weights(case: LessonCase, question: Question) -> dict[str, float]:
    """The weights of the row that the answer shows, on every source word, added up by hand."""
    trace, fields = case.trace, question.answer_fields
    row = int(str(fields["tokens"]).removeprefix("q"))
    weights = trace.weights("cross", int(fields["layer"]))[int(fields["head"]), row]
    numbers = words(trace.src_tokens)
    by_word: dict[str, float] = {}
    for word in dict.fromkeys(numbers):
        places = [n for n, each in enumerate(numbers) if each == word]
        places = [n for n in places if trace.src_tokens[n] not in (".", "?", "</s>")]
        name = "".join(trace.src_tokens[n] for n in places).strip("▁")
        if name:
            by_word[name] = by_word.get(name, 0.0) + float(weights[places].sum())
    return by_word


def test_the_aligner_links_the_possessive_to_the_owner(models: dict[str, Model]) -> None:
    seen = 0
    for case, question in found_of("umbrella", models):
        fields, aligner = question.answer_fields, case.model.aligner
        if aligner is not None:  # lessons, Home and Attention show the same head
            assert (fields["layer"], fields["head"]) == (aligner.layer, aligner.head)
        weights = word_weights(case, question)
        label = question.options[question.correct].label
        assert label == max(weights, key=weights.__getitem__)
        assert label in ("her", "his")
        assert weights[label] > 0.5
        assert {one.label for one in question.options} <= weights.keys()
        # The row that is shown writes the bold word or reads it.
        bold = re.findall(r"\*\*(.+?)\*\*", question.exhibit)[-1]
        row = int(str(fields["tokens"]).removeprefix("q"))
        row += not (aligner and aligner.weights_to == "input")
        assert bold.startswith(case.trace.tgt_tokens[row].removeprefix("▁"))
        seen += 1
    assert seen


def test_a_sink_gets_several_times_the_uniform_weight(models: dict[str, Model]) -> None:
    for case, question in found_of("rest", models):
        fields = question.answer_fields
        weights = case.trace.weights(str(fields["kind"]), int(fields["layer"]))[int(fields["head"])]
        mean = weights.mean(axis=0)
        column = int(str(fields["tokens"]).removeprefix("k"))
        assert int(mean.argmax()) == column
        assert mean[column] >= max(0.4, 3 / len(mean))
        assert not case.trace.src_tokens[column].strip("▁").isalpha()


def test_the_value_lesson_opens_the_head_that_it_names(models: dict[str, Model]) -> None:
    for _, question in found_of("value", models):
        fields = question.answer_fields
        name = f"layer {int(fields['layer']) + 1}, head {int(fields['head']) + 1}"
        assert name in question.answer


def test_the_order_lesson_uses_the_sentences_of_its_page(models: dict[str, Model]) -> None:
    for case, question in found_of("bag", models):
        assert case.text == ORDER_PAIR[0]
        exhibit = question.exhibit.replace("\\", "")
        for text in ORDER_PAIR:
            assert f"{text} → {case.model.translator.translate(text).text}" in exhibit


def test_a_lesson_on_a_task_uses_the_shipped_run(tmp_path: Path) -> None:
    own = tmp_path / "reverse-of-a-visitor"
    shutil.copytree(FOLDERS["toy-reverse"], own / "checkpoint")
    folders = {"a-run": own / "checkpoint", "toy-reverse": FOLDERS["toy-reverse"]}
    available = AvailableModels(folders, "a-run", shipped=SHIPPED / "runs")
    question = prepared(BY_NAME["reverse"], available).question
    assert question is not None
    assert question.answer_fields["run"] == "toy-reverse"


def test_token_names_follow_the_setting(models: dict[str, Model]) -> None:
    for lesson in LESSONS:
        for model in of(lesson, models):
            for text in lesson.sentences:
                with suppress(LessonUnavailable):
                    question = lesson.build(LessonCase(model, text))
                    labels = [option.label for option in question.options]
                    shown = " ".join([question.answer, question.exhibit, *labels, lesson.text])
                    assert not re.search("▁|</?s>", shown + lesson.misprint), lesson.name
                    break
    exact = BY_NAME["row"].build(LessonCase(models["en-fr"], "I am a student.", exact=True))
    assert "`▁student`" in exact.exhibit
    assert "`</s>`" in exact.exhibit


def test_the_missing_number_of_a_row_is_what_the_others_leave(models: dict[str, Model]) -> None:
    for _, question in found_of("row", models):
        shown = [float(one) for one in re.findall(r"(\d+\.\d) %", question.exhibit)]
        said = float(re.findall(r"is (\d+\.\d) %", question.answer)[0])
        assert sum(shown) + said == pytest.approx(100, abs=0.05 * (len(shown) + 1) + 1e-9)


def test_the_softmax_of_the_scores_that_are_shown_is_the_answer(models: dict[str, Model]) -> None:
    for _, question in found_of("meeting", models):
        scores = [float(one) for one in re.findall(r"` (-?\d+\.\d)", question.exhibit)]
        shares = [math.exp(one) for one in scores]
        right = float(question.options[question.correct].label.rstrip(" %"))
        # Each score is rounded by up to 0.05: the odds of the best by up to e^0.1.
        odds = max(shares) / (sum(shares) - max(shares))
        low, high = (100 * o / (1 + o) for o in (odds / math.exp(0.1), odds * math.exp(0.1)))
        assert low - 0.5 <= right <= high + 0.5


def test_a_translation_takes_one_step_more_than_it_has_pieces(models: dict[str, Model]) -> None:
    for case, question in found_of("steps", models):
        count = len(case.model.translator.translate(case.text).steps)
        assert question.options[question.correct].label.startswith(f"{count} times")


def test_crossing_lines_cross_in_the_weights_themselves(models: dict[str, Model]) -> None:
    for case, question in found_of("crossing", models):
        seen = question.answer_fields
        rows = [int(one) for one in str(seen["tokens"]).replace("q", "").split(",")]
        weights = case.trace.weights("cross", int(seen["layer"]))[int(seen["head"])]
        assert weights[rows[0]].argmax() > weights[rows[-1]].argmax()


@pytest.mark.parametrize("name", ["back", "off"])
def test_what_is_to_be_found_is_not_there_at_first_and_there_when_shown(
    name: str, models: dict[str, Model]
) -> None:
    lesson = BY_NAME[name]
    for case, question in found_of(name, models):
        assert question.check is not None
        view = PAGES[lesson.page].view(**{**lesson.view, **question.start_fields})
        assert question.check(case.model, view)[0] is False
        right, said = question.check(case.model, replace(view, **question.answer_fields))
        assert right, said


def test_a_head_between_the_languages_is_not_one_that_looks_back(models: dict[str, Model]) -> None:
    case, question = next(found_of("back", models))
    assert question.check is not None
    right, said = question.check(case.model, SimpleNamespace(kind="cross", layer=0, head=0))
    assert not right
    assert "belongs to cross-attention" in said


def test_the_longest_wave_is_that_of_the_formula(models: dict[str, Model]) -> None:
    for model in of(BY_NAME["waves"], models):
        found = asked(BY_NAME["waves"], model)
        assert not isinstance(found, str)
        d_model = model.translator.model.config.d_model
        longest = 2 * math.pi * 10000 ** ((d_model - 2) / d_model)  # section 3.5
        said = found[1].options[found[1].correct].label
        # The angle is about 1e-4 in numbers of 24 bits: six digits of it are sure.
        assert float(re.sub(r"[^\d]", "", said)) == pytest.approx(longest, rel=1e-4)


def test_the_checkpoint_that_is_looked_at_comes_first_and_another_where_it_lacks_it(
    checkpoints: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = {"en-fr": SHIPPED / "en-fr", "tiny": checkpoints / "tiny"}
    lesson = BY_NAME["back"]
    assert (
        prepared(lesson, AvailableModels(folders, "en-fr")).model_name == ""
    )  # the first is not named
    other = prepared(
        BY_NAME["umbrella"], AvailableModels(folders, "tiny")
    )  # which was never trained
    assert other.missing
    assert other.question is None or (other.model is not None and other.model.name == "en-fr")
    nobody = prepared(BY_NAME["reverse"], AvailableModels(folders, ""))
    assert nobody.question is None
    assert "no model here" in nobody.missing


def test_questions_fit_any_model(checkpoints: Path) -> None:
    for lesson in LESSONS:
        found = prepared(lesson, AvailableModels({"tiny": checkpoints / "tiny"}, "tiny"))
        assert (found.question is None) == (found.model is None)
        assert found.question is not None or found.missing
