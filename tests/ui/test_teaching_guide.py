"""The teacher's guide matches the course."""

from __future__ import annotations

import re
from pathlib import Path

from transformer.lessons.course import CORE, EXTRA, minutes, number
from transformer.lessons.lesson import Lesson
from transformer.ui.base.registry import BY_PATH, page_name
from transformer.ui.pages.inside import TABS

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs/teaching.md").read_text(encoding="utf-8")


def guide_rows(section: str) -> list[tuple[str, str, str]]:
    matches = re.findall(r"^\| (\d+\. [^|]+) \| ([\d.]+) \| ([^|]+) \|", section, flags=re.M)
    return [(title.strip(), time, page_title.strip()) for title, time, page_title in matches]


def lesson_rows(lessons: tuple[Lesson, ...]) -> list[tuple[str, str, str]]:
    """Return title, minutes and page of each lesson; the page with its tab, unless it is the
    first."""
    rows = []
    for lesson in lessons:
        name = page_name(BY_PATH[lesson.page], lesson.depth)
        if tab := lesson.fields.get("tab"):
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
