"""The same question before and after a lesson."""

from __future__ import annotations

import codecs
import io
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.class_visits import (
    follow_link,
    join_as_student,
    only_class,
    open_as_teacher,
    press,
    rerun,
    with_visitor_id,
)
from tests.pages.class_visits import page_markdown as markdown
from tests.pages.conftest import Visit, download_labels, messages, visible_text
from transformer.analysis.evidence.proportions import paired_difference
from transformer.classroom import MeasuredQuestion
from transformer.ui.base.registry import CLASS
from transformer.ui.services import downloads

SCRIPT = "<script>alert(1)</script>"
TABLE = '<table class="hu-rounds">'
pytestmark = pytest.mark.usefixtures("token")


def main_text(app: AppTest) -> str:
    """Return the text on the page without Markdown escapes."""
    return markdown(app).replace("\\", "")


def add_question(teacher: AppTest, question: str, options: str, correct: int = 1) -> AppTest:
    """Add a station with a question to the plan."""
    for label, value in (("Question", question), ("Options", options)):
        area = next(area for area in teacher.text_area if area.label.startswith(label))
        area.input(value)
    teacher.number_input(key="station-correct").set_value(correct)
    return press(teacher, "Add the station")


def ask(teacher: AppTest, question: str, options: str) -> AppTest:
    """Add a question to the plan and go to its station, as the class's line does."""
    add_question(teacher, question, options)
    only_class().progress.go_to(0)
    return rerun(teacher)


def answer_buttons(app: AppTest) -> list[str]:
    return [
        button.key for button in app.button if button.key and button.key.startswith("class-answer-")
    ]


def downloaded_file(app: AppTest, name: str) -> pd.DataFrame:
    """Return the table of a CSV file that the page offers."""
    offers: dict[str, Any] = app.session_state["download_offers"]
    [offer] = [offer for offer in offers.values() if offer.name == name]
    content = downloads.contents(offer.token)
    assert isinstance(content, bytes)
    assert content.startswith(codecs.BOM_UTF8), "Excel would read the file as another encoding"
    return pd.read_csv(io.BytesIO(content), encoding="utf-8-sig")


def test_a_question_before_and_after_a_lesson(visit: Visit) -> None:
    teacher = open_as_teacher(visit)
    classroom = only_class()
    ann, bob = join_as_student(visit, classroom, "Ann"), join_as_student(visit, classroom, "Bob")
    ask(teacher, "What do the weights of a row sum to?", "1\n8\nIt depends")
    for app in (ann, bob):
        follow_link(rerun(app), "pages/glossary.py")
        assert "What do the weights of a row sum to?" in main_text(app)
    press(ann, "class-answer-1-0-1")
    press(bob, "class-answer-1-0-0")
    assert "Your answer is counted" in main_text(ann)
    assert answer_buttons(ann) == []
    rerun(teacher)
    assert "**2 of 2** have answered" in str([bar.proto.text for bar in teacher.get("progress")])
    for app in (teacher, ann, bob):  # votes are sealed until the teacher shows them
        assert TABLE not in visible_text(app, kinds=["html"])
    assert download_labels(teacher) == ["Save the plan (.json)"]

    press(teacher, "class-question-close-1")
    assert "Closed and sealed. Answers: before 2" in main_text(teacher)
    assert "row sum to" not in main_text(rerun(ann))
    press(teacher, "class-question-again-1")
    rerun(ann)
    assert "The same question again" in main_text(ann)
    press(ann, "class-answer-1-1-0")
    press(rerun(bob), "class-answer-1-1-0")
    press(teacher, "Show the answers")
    interval = paired_difference(1, 0, 1, 0)
    for app in (teacher, rerun(ann)):
        assert "2 students who answered both times: 50% before, 100% after" in main_text(app)
        assert f"+50 percentage points (95% interval {round(100 * interval.low)}".replace(
            "-", "−"
        ) in main_text(app)
        table = visible_text(app, kinds=["html"])
        assert "1 <em>correct</em>" in table
        assert 'data-round="Before (2)"' in table
    votes = downloaded_file(teacher, "answers.csv")
    assert list(votes["votes"]) == [1, 1, 0, 2, 0, 0]
    assert votes["low_95"].unique() == pytest.approx([interval.low])
    assert votes["right_only_after"].unique() == [1]
    assert "Ann" not in votes.to_csv()
    assert "1 → 2" in visible_text(teacher, kinds=["html"])  # in the table of all answers
    press(teacher, "Hide")
    assert "row sum to" not in main_text(rerun(ann))
    assert "50% before" in main_text(teacher)  # still on the teacher's page


def test_invalid_questions_are_reported_and_their_text_is_kept(visit: Visit) -> None:
    teacher = open_as_teacher(visit)
    for options, correct, message in (
        ("", 1, "A question has 2 to 8 options; this one has 0."),
        ("A\nB", 5, "The correct option must be a number from 1 to 2, not 5."),
        (f"{SCRIPT}\nB", 1, "Options must be a list, each plain text without HTML"),
    ):
        add_question(teacher, "Why?", options, correct)
        assert messages(teacher)[-1].startswith(message)
        assert teacher.text_area[0].value == "Why?"
    assert only_class().progress.plan is None
    ask(teacher, "Is <s> a *word*?", "a < b\n=HYPERLINK(1)")
    assert teacher.text_area[0].value == ""
    ann = join_as_student(visit, only_class(), "Ann")
    assert "Is <s> a *word*?" in main_text(ann)
    press(ann, "class-answer-1-0-1")
    press(teacher, "Show the answers")
    for app in (teacher, rerun(ann)):
        assert "a &lt; b" in visible_text(app, kinds=["html"])
    assert "'=HYPERLINK(1)" in list(downloaded_file(teacher, "answers.csv")["option"])


def test_a_plan_is_made_without_a_class_and_opened_by_its_link(visit: Visit) -> None:
    """A teacher prepares a plan at home, keeps its link, and opens a class with it."""
    page = with_visitor_id(visit(CLASS))
    add_question(page, "Why?", "A\nB", 2)
    page.text_input(key="class-plan-title").input("My lesson")
    page.segmented_control(key="station-kind").set_value("Lesson")
    rerun(page)
    page.text_input(key="station-sentence").input("  He took her umbrella. ")
    press(page, "Add the station")
    press(page, "class-station-up-1")
    code = page.query_params["plan"]
    [link] = [block.value for block in page.code if code in block.value]
    assert link.endswith(f"/learn?plan={code}")
    teacher = open_as_teacher(visit, plan=code)
    plan = only_class().progress.plan
    assert plan is not None
    assert plan.title == "My lesson"
    assert [station.sentence for station in plan.stations] == ["He took her umbrella.", ""]
    assert "plan" not in teacher.query_params
    press(teacher, "class-station-change-1")
    assert teacher.text_area[0].value == "Why?"
    teacher.number_input(key="station-minutes").set_value(7)
    press(teacher, "Save the station")
    press(teacher, "class-station-remove-0")
    plan = only_class().progress.plan
    assert plan is not None
    assert [(station.minutes, station.question) for station in plan.stations] == [
        (7, MeasuredQuestion("Why?", ("A", "B"), 1))
    ]
    broken = visit(CLASS, plan=code[:-9])
    assert "incomplete or has been changed; copy it again" in messages(broken)[-1]
