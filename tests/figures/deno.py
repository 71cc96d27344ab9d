"""Runs scripts in Deno, without a browser."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformer.api import answers
from transformer.api.lesson_questions import lesson_case
from transformer.api.models import Model
from transformer.figures.packed_trace import aligner_fields
from transformer.lessons import course
from transformer.lessons.lesson import Lesson, Option
from transformer.measures.registry import SITES
from transformer.text.sentences import PARALLEL_EXAMPLES

DENO = Path(sys.executable).with_name("deno")
SCRIPTS = Path(__file__).parent / "scripts"
SENTENCES = tuple(
    dict.fromkeys(
        [
            *PARALLEL_EXAMPLES["en"],
            *(text for lesson in course.LESSONS if not lesson.task for text in lesson.sentences),
        ]
    )
)

OTHER_OWNER = {" her ": " his ", " his ": " her "}
"""What one of the questions replaces in its sentence, to compare the translations."""


def deno(*arguments: str) -> str:
    """Return what Deno prints for these arguments."""
    process = subprocess.run(
        [str(DENO), *arguments],
        capture_output=True,
        encoding="utf-8",
        timeout=600,  # 200 requests to both engines take minutes on a busy machine
        check=False,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def run_deno(*arguments: str) -> Any:
    """Return the JSON that parity.js prints for these arguments."""
    script = str(SCRIPTS / "parity.js")
    return json.loads(deno("run", "--quiet", "--allow-read", script, *arguments))


def drawn(view: str, data: bytes | dict[str, Any], n_forced: int = 0) -> Any:
    """Return what a view draws of its data: "explorer", "glance" or "table" (of steps)."""
    content = json.dumps(data).encode() if isinstance(data, dict) else data
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "data"
        file.write_bytes(content)
        return run_deno(view, str(file), str(n_forced))


def packed_case(lesson: Lesson, model: Model, text: str, *, exact: bool = False) -> bytes:
    """Return the trace of a sentence and what else parity.js reads, to make a question."""
    case = lesson_case("", model, text)
    compared = [text.replace(a, b) for a, b in OTHER_OWNER.items() if a in text]
    scores = [f"{SITES['cross'].format(n)}hook_scores" for n in range(case.trace.n_layers)]
    fields = {
        "lesson": lesson.name,
        "exact": exact,
        "aligner": aligner_fields(model.aligner),
        "translations": {other: case.trace_of(other).text for other in compared},
    }
    return answers.case_data(case.trace, scores, fields)


def lesson_replies(cases: Sequence[bytes]) -> list[dict[str, Any]]:
    """Return the reply of a lesson's view to each packed case: "question" or "missing"."""
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(cases):
            (Path(folder) / str(number)).write_bytes(case)
        replies: list[dict[str, Any]] = run_deno("lessons", folder)
    return replies


@dataclass(frozen=True)
class FoundQuestion:
    """A question as the client gets it; `client/trace/questions/case.js` describes its parts."""

    answer: str
    options: tuple[Option, ...]
    correct: int
    exhibit: str
    picture: dict[str, Any] | None
    start_fields: dict[str, Any]
    answer_fields: dict[str, Any]
    verdicts: dict[str, list[list[tuple[bool, str]]]] | None
    unchanged: str


def found_question(data: dict[str, Any]) -> FoundQuestion:
    names = {"startFields": "start_fields", "answerFields": "answer_fields"}
    fields = {names.get(name, name): value for name, value in data.items()}
    return FoundQuestion(
        **{**fields, "options": tuple(Option(**option) for option in fields["options"])}
    )


_answers: dict[Hashable, FoundQuestion | str] = {}


def browser_answer(
    lesson: Lesson, model: Model, text: str, *, exact: bool = False
) -> FoundQuestion | str:
    """Return the question that the browser makes, or the reason why there is none."""
    key = (lesson.name, model.hash, text, exact)
    if key not in _answers:
        [reply] = lesson_replies([packed_case(lesson, model, text, exact=exact)])
        has_question = "question" in reply
        _answers[key] = found_question(reply["question"]) if has_question else str(reply["missing"])
    return _answers[key]
