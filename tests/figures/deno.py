"""Runs scripts in Deno, without a browser."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

from transformer.api.model_description import PARALLEL_EXAMPLES
from transformer.ui.widgets.lessons import course
from transformer.ui.widgets.lessons.browser_questions import case_data, read_reply
from transformer.ui.widgets.lessons.lesson import Lesson, LessonCase, Question

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


def lesson_replies(cases: Sequence[bytes]) -> list[dict[str, Any]]:
    """Return the reply of a lesson's view to each packed case: "question" or "missing"."""
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(cases):
            (Path(folder) / str(number)).write_bytes(case)
        replies: list[dict[str, Any]] = run_deno("lessons", folder)
    return replies


_answers: dict[Hashable, Question | str] = {}


def browser_answer(lesson: Lesson, case: LessonCase) -> Question | str:
    """Return what the browser makes of a lesson's case: the question, or why there is none."""
    key = (lesson.name, case.model.hash, case.text, case.exact)
    if key not in _answers:
        [reply] = lesson_replies([case_data(lesson, case)])
        _answers[key] = read_reply(reply)
    return _answers[key]
