"""The printed course and the teacher's guide match the course."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from transformer.ui.base.registry import page_name
from transformer.ui.pages.inside import TABS
from transformer.ui.widgets.lessons.course import CORE, EXTRA, LESSONS, minutes, number
from transformer.ui.widgets.lessons.lesson import Lesson
from transformer.ui.widgets.lessons.prepared import AvailableModels, PreparedLesson, prepared
from transformer.ui.widgets.lessons.sheet import page

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs/teaching.md").read_text(encoding="utf-8")
FOLDERS = {
    "en-fr": ROOT / "checkpoints/en-fr",
    "toy-reverse": ROOT / "checkpoints/runs/toy-reverse/checkpoint",
}


@pytest.fixture(scope="module")
def lessons() -> list[PreparedLesson]:
    return [prepared(lesson, AvailableModels(FOLDERS, "")) for lesson in LESSONS]


def test_a_sheet_has_every_question_with_choices_and_lines(
    lessons: list[PreparedLesson],
) -> None:
    sheet = page(lessons, answers=False)
    assert sheet.count("<section>") == len(LESSONS)
    assert 'class="answer"' not in sheet
    choices = sum(len(lesson.question.options) for lesson in lessons if lesson.question)
    assert sheet.count("<li>") == choices > 0
    pictures = sum(lesson.question.picture is not None for lesson in lessons if lesson.question)
    assert sheet.count("<svg") == pictures > 0
    assert ":material" not in sheet
    assert "$" not in sheet
    for lesson in lessons:
        single_sheet = page([lesson], answers=False)
        assert f"<title>{number(lesson.lesson)}. " in single_sheet
        assert single_sheet.count('class="lines"') >= 2


def test_only_the_teachers_sheet_has_answers(lessons: list[PreparedLesson]) -> None:
    answer_sheet = page(lessons, answers=True)
    assert answer_sheet.count('class="answer"') == len(LESSONS)
    assert "$" not in answer_sheet
    student_sheet = page(lessons, answers=False)
    for lesson in lessons:
        if lesson.question:
            phrases = re.findall(r"[A-Za-z]{4,}(?: [a-z]{2,}){3,}", lesson.question.answer)
            assert any(phrase in answer_sheet for phrase in phrases)
            assert not all(phrase in student_sheet for phrase in phrases)


def guide_rows(section: str) -> list[tuple[str, str, str]]:
    matches = re.findall(r"^\| (\d+\. [^|]+) \| ([\d.]+) \| ([^|]+) \|", section, flags=re.M)
    return [(title.strip(), time, page_title.strip()) for title, time, page_title in matches]


def lesson_rows(lessons: tuple[Lesson, ...]) -> list[tuple[str, str, str]]:
    """Return title, minutes and page of each lesson; the page with its tab, unless it is the
    first."""
    rows = []
    for lesson in lessons:
        name = page_name(lesson.page, lesson.depth)
        if tab := lesson.view.get("tab"):
            name = f"{name}: {TABS[tab]}"
        rows.append((f"{number(lesson)}. {lesson.title}", f"{lesson.minutes:g}", name))
    return rows


def test_the_teachers_guide_has_the_steps_and_times_of_the_course() -> None:
    core, extra = GUIDE.split("\n## The course\n")[1].split("\n## Extra lessons\n")
    assert guide_rows(core) == lesson_rows(CORE)
    assert guide_rows(extra) == lesson_rows(EXTRA)
    numbers = {11: "eleven", 12: "twelve", 13: "thirteen", 14: "fourteen", 15: "fifteen"}
    numbers |= {20: "twenty", 21: "twenty-one", 22: "twenty-two"}
    guide_text = re.sub(r"\s+", " ", GUIDE)
    core_count, core_minutes = numbers[len(CORE)], numbers[round(minutes(CORE))]
    assert f"has {core_count} lessons and takes about {core_minutes} minutes" in guide_text
    extra_count, extra_minutes = numbers[len(EXTRA)], numbers[round(minutes(EXTRA))]
    assert f"; {extra_count} extra lessons take {extra_minutes} minutes" in guide_text
