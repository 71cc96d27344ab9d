"""Every number in the answer of a lesson is marked in the picture that opens, with the same number.

The numbers are computed here from the trace, with NumPy, and compared with the text and with what
the view draws. `pytest --sentences 100` checks more sentences.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.figures.deno import (
    FoundQuestion,
    found_question,
    lesson_replies,
    packed_case,
    run_deno,
)
from tests.lessons.random_sentences import sentences
from transformer.api.answers import explore
from transformer.api.lesson_questions import lesson_case
from transformer.api.models import Model, load
from transformer.api.requests import ExploreRequest
from transformer.app_folders import APP_FOLDER
from transformer.inference import Trace
from transformer.lessons.course import LESSONS
from transformer.lessons.lesson import Lesson
from transformer.measures.words import word_labels, words

PAIRS = ("en-fr", "en-de")
NUMBER = re.compile(r"(?:[<>] )?\d+(?:[.,]\d+)*%?")
HEAD_NAME = re.compile(r"layer \d+, head \d+|layer \d+")
FORMULA = re.compile(r"√d_k|−∞")


@dataclass(frozen=True)
class Asked:
    """A lesson's question about one sentence, and what its answer marks in the view."""

    lesson: Lesson
    text: str
    trace: Trace
    question: FoundQuestion
    drawn: dict[str, Any]

    @property
    def marks(self) -> list[tuple[int, int]]:
        """Positions of tokens: row and column."""
        pairs = str(self.question.answer_fields.get("marks", "")).split(",")
        return [(int(row), int(column)) for row, column in (p.split(".") for p in pairs if p)]

    def numbers(self) -> list[str]:
        """The numbers of the answer and of what each option says, without names of heads."""
        options = (text for each in self.question.options for text in (each.label, each.feedback))
        text = " ".join((self.question.answer, *options))
        return NUMBER.findall(FORMULA.sub("", HEAD_NAME.sub("", text.replace("`", ""))))


def drawn_marks(questions: list[tuple[bytes, FoundQuestion]]) -> list[dict[str, Any]]:
    """Return what the explorer draws for the answer of each question."""
    with tempfile.TemporaryDirectory() as folder:
        states = [{"marks": "", **question.answer_fields} for _, question in questions]
        (Path(folder) / "cases.json").write_text(json.dumps(states))
        for number, (data, _) in enumerate(questions):
            (Path(folder) / str(number)).write_bytes(data)
        drawn: list[dict[str, Any]] = run_deno("marks", folder)
    return drawn


def ask(lessons: list[Lesson], model: Model, texts: list[str]) -> list[Asked]:
    every = dict.fromkeys([*texts, *(text for lesson in lessons for text in lesson.sentences)])
    pairs = [
        (lesson, text)
        for text in every  # the traces of a text are in the cache
        for lesson in lessons
        if text in texts or text in lesson.sentences
    ]
    replies = lesson_replies([packed_case(lesson, model, text) for lesson, text in pairs])
    asked = [
        (lesson, text, found_question(reply["question"]))
        for (lesson, text), reply in zip(pairs, replies, strict=True)
        if "question" in reply
    ]
    views = {text: explore("", model, ExploreRequest(text=text)) for text in every}
    drawn = drawn_marks([(views[text], question) for _, text, question in asked])
    return [
        Asked(lesson, text, lesson_case("", model, text).trace, question, marks)
        for (lesson, text, question), marks in zip(asked, drawn, strict=True)
    ]


def percent(share: float) -> str:
    """Format a share as the pages do: two significant digits, 100% or 0% only if exact."""
    if share == 0:
        return "0%"
    if 0.9995 <= share < 1:
        return "> 99.9%"
    if share < 0.0001:
        return "< 0.01%"
    return f"{100 * share:.2f}%" if share < 0.001 else f"{100 * share:.1f}%"


def is_percent(text: str, share: float) -> bool:
    """Return whether the text is this share, whose last digit depends on rounding."""
    return text in {percent(max(share + error, 0)) for error in (-2e-5, 0, 2e-5)} | {percent(share)}


def cell(asked: Asked, row: int, column: int) -> float:
    """Return the weight from the row's word to the column's word: the mean over the row's tokens of
    the sum over the column's."""
    fields, trace = asked.question.answer_fields, asked.trace
    kind = str(fields["kind"])
    weights = trace.weights(kind, int(fields["layer"]))[int(fields["head"])]  # type: ignore[arg-type]
    if fields["view"] == "query-key":
        return float(weights[row, column])
    columns = words(trace.tgt_tokens if kind == "decoder" else trace.src_tokens)
    is_written = kind == "cross" and fields.get("word_row") != "input"
    read = trace.src_tokens if kind == "encoder" else trace.tgt_tokens
    rows = words(trace.predicted_tokens if is_written else read)
    own_rows = [i for i, word in enumerate(rows) if word == rows[row]]
    own_columns = [i for i, word in enumerate(columns) if word == columns[column]]
    return float(weights[np.ix_(own_rows, own_columns)].sum() / len(own_rows))


def check_marks(asked: Asked) -> list[str]:
    """Check each marked cell's number; return the numbers that the view writes."""
    cells = [mark["text"] for mark in asked.drawn["cells"]]
    weights = {(row, column): cell(asked, row, column) for row, column in asked.marks}
    by_place: dict[tuple[int, int], float] = {}
    rows, columns = asked.drawn["rows"], asked.drawn["columns"]
    for (row, column), weight in weights.items():
        place = (
            next(n for n, members in enumerate(rows) if row in members),
            next(n for n, members in enumerate(columns) if column in members),
        )
        by_place[place] = weight
    assert len(by_place) == len(cells)
    for mark in asked.drawn["cells"]:
        weight = by_place[mark["row"], mark["column"]]
        assert is_percent(mark["text"], weight), (asked.lesson.name, asked.text, mark, weight)
    written = NUMBER.findall(" ".join(asked.drawn["sentences"]).replace("<s>", ""))
    assert len(cells) > 12 or {*cells} <= {*written}
    if len({row for row, _ in by_place}) == len(by_place) > 1:
        mean = float(np.mean(list(by_place.values())))
        assert is_percent(NUMBER.findall(asked.drawn["sentences"][0])[-1], mean)
    return [*cells, *written]


def check_step(asked: Asked) -> list[str]:
    """Check that the row of the last step is marked; return the probability that it has."""
    steps = asked.trace.translation.steps
    assert asked.marks == [(len(steps) - 1, 0)]
    return [percent(steps[-1].probability)]


def facts(asked: Asked) -> Iterator[str]:
    """Yield numbers that are no weights, computed from the trace, such as counts."""
    trace, name = asked.trace, asked.lesson.name
    n_heads = trace.n_layers * trace.n_heads
    source, target = words(trace.src_tokens)[-1] + 1, words(trace.predicted_tokens)[-1] + 1
    if name == "row":
        yield "100%"  # the sum of each row
        for kind in ("encoder", "decoder", "cross"):
            for layer in range(trace.n_layers):
                np.testing.assert_allclose(trace.weights(kind, layer).sum(-1), 1, atol=1e-4)  # type: ignore[arg-type]
    elif name == "steps":
        count = len(trace.predicted_tokens)
        yield from map(str, (count - 1, count, target))
    elif name == "meeting":
        count = len(trace.src_tokens)
        yield from (str(count), percent(1 / count), "100%")
    elif name == "back":
        yield from map(str, (previous_word_heads(trace), 2 * n_heads))
    elif name == "rest":
        yield from ("1", str(source))
    elif name in ("memory", "self"):
        yield from map(str, (source, target, words(trace.tgt_tokens)[-1] + 1))


def previous_word_heads(trace: Trace) -> int:
    """Count the heads in encoder and decoder that give the previous word more than half."""
    count = 0
    for kind, tokens in (("encoder", trace.src_tokens), ("decoder", trace.tgt_tokens)):
        numbers, labels = np.array(words(tokens)), word_labels(tokens)
        is_word = [re.search(r"\w", label) and not label.startswith("<") for label in labels]
        pairs = [n for n in range(1, len(labels)) if is_word[n] and is_word[n - 1]]
        for layer in range(trace.n_layers):
            for weights in trace.weights(kind, layer):  # type: ignore[arg-type]
                shares = [
                    weights[np.ix_(numbers == n, numbers == n - 1)].sum() / (numbers == n).sum()
                    for n in pairs
                ]
                count += bool(shares) and float(np.mean(shares)) >= 0.5
    return count


def check_lesson(asked: Asked) -> None:
    """Check that every number of the answer is drawn, or follows from the trace."""
    shown = check_step(asked) if asked.lesson.name == "steps" else check_marks(asked)
    allowed = {*shown, *facts(asked)}
    for number in asked.numbers():
        assert number in allowed, (asked.lesson.name, asked.text, number, asked.question.answer)
    picture = asked.question.picture
    if picture is None:  # the answer is to be found in the view
        return
    numbers = {cell[2] for cell in (*picture["marked"], *picture.get("noted", ()))}
    for number in asked.numbers():
        known = numbers | {*facts(asked)}
        assert number in known, (asked.lesson.name, asked.text, number, "not in the picture")


@pytest.mark.parametrize("pair", PAIRS)
def test_every_number_of_an_answer_is_marked_in_the_view_that_opens(
    pair: str, request: pytest.FixtureRequest
) -> None:
    model = load(pair, APP_FOLDER / "checkpoints" / pair)
    lessons = [lesson for lesson in LESSONS if lesson.build is None]
    texts = sentences(request.config.getoption("--sentences"))
    asked = ask(lessons, model, texts)
    for each in asked:
        check_lesson(each)
    counts = {lesson.name: sum(each.lesson is lesson for each in asked) for lesson in lessons}
    print(pair, len(texts), counts)
    assert min(counts[name] for name in ("umbrella", "row", "steps", "meeting", "rest")) > 0
