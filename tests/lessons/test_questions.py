"""Every lesson's question on the bundled checkpoints: its answer is verified by a second
computation, or it says what is missing."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import transformer.ui.pages  # noqa: F401 - registers the pages
from tests.figures.deno import (
    FoundQuestion,
    browser_answer,
    found_question,
    lesson_replies,
    packed_case,
)
from transformer.analysis.interventions import switched_off
from transformer.api.address_fields import DEPTHS
from transformer.api.lesson_questions import lesson_case
from transformer.api.models import Model, load
from transformer.inference import Trace
from transformer.lessons.course import BY_NAME, CORE, END, EXTRA, LESSONS, minutes
from transformer.lessons.lesson import LEARN, TRY, Lesson, LessonUnavailable
from transformer.measures.head_codes import parse_heads
from transformer.measures.words import words
from transformer.ui.base.address import View
from transformer.ui.base.registry import BY_PATH, PAGES

CHECKPOINTS = Path(__file__).resolve().parents[2] / "checkpoints"
FOLDERS = {
    **{name: CHECKPOINTS / name for name in ("en-fr", "en-de")},
    "toy-reverse": CHECKPOINTS / "runs/toy-reverse/checkpoint",
}


@dataclass(frozen=True)
class Case:
    """A sentence of a lesson with one model."""

    model: Model
    text: str

    @property
    def trace(self) -> Trace:
        return lesson_case("", self.model, self.text).trace


@pytest.fixture(scope="module")
def models() -> dict[str, Model]:
    return {name: load(name, path) for name, path in FOLDERS.items()}


_prepared: dict[tuple[str, str], tuple[Case, FoundQuestion] | str] = {}


def prepare(lesson: Lesson, model: Model) -> tuple[Case, FoundQuestion] | str:
    """Return the first suitable sentence of the lesson and its question, or what is missing."""
    if (lesson.name, model.name) not in _prepared:
        _prepared[lesson.name, model.name] = _build_question(lesson, model)
    return _prepared[lesson.name, model.name]


def question_of(
    lesson: Lesson, model: Model, text: str, *, exact: bool = False
) -> FoundQuestion | str:
    """Return the question that Python or the browser makes, or the reason why there is none."""
    if lesson.build is None:
        return browser_answer(lesson, model, text, exact=exact)
    try:
        return found_question(lesson.build(lesson_case("", model, text, exact=exact)).to_dict())
    except LessonUnavailable as reason:
        return str(reason)


def _build_question(lesson: Lesson, model: Model) -> tuple[Case, FoundQuestion] | str:
    missing = ""
    for text in lesson.sentences:
        answer = question_of(lesson, model, text)
        if isinstance(answer, FoundQuestion):
            return Case(model, text), answer
        missing = missing or answer
    return missing


def suitable_models(lesson: Lesson, models: dict[str, Model]) -> list[Model]:
    return [model for model in models.values() if model.description.kind == lesson.task]


def questions_of(name: str, models: dict[str, Model]) -> Iterator[tuple[Case, FoundQuestion]]:
    """Return the lesson's question for every suitable model."""
    for model in suitable_models(BY_NAME[name], models):
        result = prepare(BY_NAME[name], model)
        if not isinstance(result, str):
            yield result


def test_the_course_begins_with_a_puzzle_and_ends_with_mistakes_in_twenty_minutes() -> None:
    assert (CORE[0].part, CORE[-1].part) == ("First look", "Common mistakes")
    assert 18 <= minutes(CORE) <= 22
    assert not any(lesson.extra for lesson in CORE)
    assert all(lesson.extra for lesson in EXTRA)
    assert len(BY_NAME) == len(LESSONS) == len({lesson.title for lesson in LESSONS})
    assert sum(bool(lesson.misprint) for lesson in LESSONS) >= 9
    assert {lesson.page for lesson in LESSONS} <= BY_PATH.keys() - {LEARN}
    assert all((lesson.page == TRY) == (lesson.depth in DEPTHS) for lesson in LESSONS)
    assert len({(lesson.page, lesson.depth, lesson.fields.get("tab")) for lesson in LESSONS}) >= 7
    pattern = View.fields()["lesson"].form[0]
    assert all(re.fullmatch(pattern, name) for name in (*BY_NAME, END))
    assert not {END, ""} & BY_NAME.keys()


def test_a_mistake_is_not_asked_next_to_its_answer() -> None:
    assert all(lesson.question_page == LEARN for lesson in LESSONS if lesson.misprint)
    assert all(lesson.question_page in (lesson.page, LEARN) for lesson in LESSONS)


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_a_question_is_complete_or_says_what_is_missing(
    lesson: Lesson, models: dict[str, Model]
) -> None:
    assert suitable_models(lesson, models)
    for model in suitable_models(lesson, models):
        result = prepare(lesson, model)
        if isinstance(result, str):
            assert re.fullmatch(r"[a-z].*[^.]", result)  # the page puts it into a sentence
            continue
        case, question = result
        assert case.text in lesson.sentences
        assert re.search(r"\w{3}", question.answer)
        assert "nan" not in question.answer.split()
        labels = [option.label for option in question.options]
        assert len(labels) == len(set(labels))
        if not lesson.in_place:
            assert 2 <= len(labels) <= 4
            without_feedback = [
                n for n, option in enumerate(question.options) if not option.feedback
            ]
            assert without_feedback in ([question.correct], [])  # all wrong options have feedback
        else:
            assert not labels
        for fields in (question.start_fields, question.answer_fields):
            view = PAGES[BY_PATH[lesson.page]].view(**{**lesson.fields, **fields})
            view_fields = view.fields()
            assert all(view_fields[name].read(getattr(view, name)) is not None for name in fields)


def test_each_lesson_works_with_a_bundled_checkpoint(models: dict[str, Model]) -> None:
    missing = {
        lesson.name: [prepare(lesson, model) for model in suitable_models(lesson, models)]
        for lesson in LESSONS
        if all(isinstance(prepare(lesson, model), str) for model in suitable_models(lesson, models))
    }
    assert not missing


def test_every_question_made_in_python_has_a_picture_with_hidden_cells(
    models: dict[str, Model],
) -> None:
    for lesson in LESSONS:
        if lesson.build is None or lesson.in_place:  # its page is the picture
            continue
        for _, question in questions_of(lesson.name, models):
            assert question.picture is not None, lesson.name
            rows, columns = question.picture["rows"], question.picture["columns"]
            weights = np.array(question.picture["weights"])
            assert weights.shape == (len(rows), len(columns)), lesson.name
            assert weights.min() >= 0, lesson.name
            assert weights.max() == 1, lesson.name
            is_complete = question.picture["rowsBefore"] == len(rows)
            assert question.picture["hidden"] or not is_complete, lesson.name


def marks_of(question: FoundQuestion) -> list[tuple[int, int]]:
    """Return row and column of the cells that the answer marks, by positions of tokens."""
    pairs = (pair.split(".") for pair in str(question.answer_fields["marks"]).split(","))
    return [(int(row), int(column)) for row, column in pairs]


def test_the_aligner_links_the_possessive_to_the_owner(models: dict[str, Model]) -> None:
    count = 0
    for case, question in questions_of("umbrella", models):
        fields, aligner = question.answer_fields, case.model.aligner
        if aligner is not None:  # lessons, Home and Attention show the same head
            assert (fields["layer"], fields["head"]) == (aligner.layer, aligner.head)
        trace, marks = case.trace, marks_of(question)
        weights = trace.weights("cross", int(fields["layer"]))[int(fields["head"])]
        words_of_options = [trace.src_tokens[column].strip("▁") for _, column in marks]
        assert words_of_options == [option.label for option in question.options]
        row, column = marks[question.correct]
        assert words_of_options[question.correct] in ("her", "his")
        assert weights[row, column] == max(weights[r, c] for r, c in marks)
        assert weights[row, column] > 0.5
        # The answer's row predicts the bold word, or reads it if the aligner is read so.
        bold = re.findall(r"\*\*(.+?)\*\*", question.exhibit)[-1]
        row += not (aligner and aligner.weights_to == "input")
        assert bold.startswith(trace.tgt_tokens[row].removeprefix("▁"))
        count += 1
    assert count


def test_a_sink_gets_several_times_the_uniform_weight(models: dict[str, Model]) -> None:
    for case, question in questions_of("rest", models):
        fields = question.answer_fields
        weights = case.trace.weights(str(fields["kind"]), int(fields["layer"]))[int(fields["head"])]
        mean = weights.mean(axis=0)
        (column,) = {column for _, column in marks_of(question)}
        assert int(mean.argmax()) == column
        assert mean[column] >= max(0.35, 2.5 / len(mean))
        assert not case.trace.src_tokens[column].strip("▁").isalpha()


def test_token_names_follow_the_setting(models: dict[str, Model]) -> None:
    for lesson in LESSONS:
        for _, question in questions_of(lesson.name, models):
            labels = [option.label for option in question.options]
            all_text = " ".join([question.answer, question.exhibit, *labels, lesson.text])
            assert not re.search("▁|</?s>", all_text + lesson.misprint), lesson.name
    exact = question_of(BY_NAME["row"], models["en-fr"], "I am a student.", exact=True)
    assert isinstance(exact, FoundQuestion)
    assert "`▁student`" in exact.exhibit
    assert "`</s>`" in exact.exhibit


def test_the_missing_number_completes_the_row_to_one(models: dict[str, Model]) -> None:
    for _, question in questions_of("row", models):
        values = [float(number) for number in re.findall(r"([\d.]+)%", question.exhibit)]
        value = float(re.findall(r"is ([\d.]+)%", question.answer)[0])
        assert sum(values) + value == pytest.approx(100, abs=0.06 * (len(values) + 1))


WORDS = [
    "the",
    "a",
    "her",
    "umbrella",
    "sea",
    "student",
    "never",
    "has",
    "red",
    "small",
    "mother",
    "said",
    "rains",
    "took",
]


@given(st.lists(st.sampled_from(WORDS), min_size=3, max_size=8))
@settings(max_examples=10, deadline=None)
def test_sentences_agree_with_the_numbers_beside_them(words_drawn: list[str]) -> None:
    """Of random sentences: what an answer says follows from the numbers that the lesson shows."""
    case = Case(load("en-fr", FOLDERS["en-fr"]), f"{' '.join(words_drawn).capitalize()}.")
    lessons = [BY_NAME["meeting"], BY_NAME["steps"]]
    scores, steps = lesson_replies(
        [packed_case(lesson, case.model, case.text) for lesson in lessons]
    )
    if "question" in scores:
        check_scores(found_question(scores["question"]))
    if "question" in steps:
        check_steps(case, found_question(steps["question"]))


def check_scores(question: FoundQuestion) -> None:
    text = question.exhibit.replace("−", "-")
    scores = [float(number) for number in re.findall(r"` (-?\d+\.\d\d)", text)]
    shares = sorted((math.exp(number) for number in scores), reverse=True)
    right = float(question.options[question.correct].label.rstrip("%"))
    assert right == pytest.approx(100 * shares[0] / sum(shares), abs=1.5)
    first, second = re.findall(r"([\d.]+)%", question.answer)
    assert float(first) == right
    assert float(second) == pytest.approx(100 * shares[1] / sum(shares), abs=1.5)


def check_steps(case: Case, question: FoundQuestion) -> None:
    tokens = case.trace.predicted_tokens
    assert question.answer.startswith(f"{len(tokens)} times")
    rows = re.findall(r"into (\d+) rows", question.answer)
    n_words = words(tokens)[-1] + 1
    assert [*map(int, rows)] == ([n_words] if n_words < len(tokens) else [])


def test_answers_follow_from_the_numbers_shown(models: dict[str, Model]) -> None:
    for _, question in questions_of("meeting", models):
        check_scores(question)
    for case, question in questions_of("steps", models):
        check_steps(case, question)


def test_crossing_lines_cross_in_the_weights_themselves(models: dict[str, Model]) -> None:
    for case, question in questions_of("crossing", models):
        fields = question.answer_fields
        (before, source_before), *marks = marks_of(question)
        row, source = marks[question.correct]
        weights = case.trace.weights("cross", int(fields["layer"]))[int(fields["head"])]
        assert before < row
        assert source < source_before
        assert weights[before, source_before] == max(weights[before])
        assert weights[row, source] == max(weights[row])


def test_the_start_view_is_not_the_previous_token_head_and_the_answer_view_is(
    models: dict[str, Model],
) -> None:
    for _, question in questions_of("back", models):
        assert question.verdicts is not None
        for fields, right in ((question.start_fields, False), (question.answer_fields, True)):
            verdict = question.verdicts[fields["kind"]][fields["layer"]][fields["head"]]
            assert verdict[0] is right, verdict[1]


def test_without_the_heads_of_the_answer_the_translation_changes(models: dict[str, Model]) -> None:
    for case, question in questions_of("off", models):
        translator = case.model.translator
        heads, _ = parse_heads(
            question.answer_fields["off"], case.model.n_layers, case.model.n_heads
        )
        hooks = switched_off(translator.model.config, heads)
        assert translator.translate(case.text).text == question.unchanged
        assert translator.translate(case.text, hooks=hooks).text != question.unchanged


@pytest.mark.parametrize(
    ("name", "he", "she"),
    [
        ("en-fr", "Il n'est pas Américain.", "Elle n'est pas Américaine."),
        ("en-de", "Er ist kein Amerikaner.", "Sie ist keine Amerikanerin."),
    ],
)
def test_the_minimal_pair_is_translated_with_the_right_gender(
    name: str, he: str, she: str, models: dict[str, Model]
) -> None:
    result = prepare(BY_NAME["gender"], models[name])
    assert not isinstance(result, str)
    case, question = result
    assert case.trace.text == he
    other_text = str(question.answer_fields["other"])
    assert case.model.translator.translate(other_text, method="greedy").text == she
    changed = [a for a, b in zip(he.split(), she.split(), strict=True) if a != b]
    assert question.options[question.correct].label == ", ".join(changed).strip(".")


def test_questions_fit_any_model(checkpoints: Path) -> None:
    """An untrained model shows little, but every lesson asks something or says why not."""
    tiny = load("tiny", checkpoints / "tiny")
    for lesson in LESSONS:
        for text in lesson.sentences:
            answer = question_of(lesson, tiny, text)
            assert isinstance(answer, FoundQuestion) or answer
