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
)
from tests.pages.class_visits import page_markdown as markdown
from tests.pages.conftest import Visit, download_labels, messages, visible_text
from transformer.analysis.evidence.proportions import paired_difference
from transformer.ui.services import downloads

SCRIPT = "<script>alert(1)</script>"
TABLE = '<table class="hu-rounds">'
pytestmark = pytest.mark.usefixtures("token")


def main_text(app: AppTest) -> str:
    """Return the text on the page without Markdown escapes."""
    return markdown(app).replace("\\", "")


def ask(teacher: AppTest, question: str, options: str, correct: int = 1) -> AppTest:
    for label, value in (("Question", question), ("Options", options)):
        area = next(area for area in teacher.text_area if area.label.startswith(label))
        area.input(value)
    teacher.number_input[0].set_value(correct)
    return press(teacher, "Ask the class")


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
    assert download_labels(teacher) == []

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
    votes, answers = downloaded_file(teacher, "votes.csv"), downloaded_file(teacher, "answers.csv")
    assert list(votes["votes"]) == [1, 1, 0, 2, 0, 0]
    assert votes["low_95"].unique() == pytest.approx([interval.low])
    assert sorted(zip(answers["before"], answers["after"], strict=True)) == [(1, 1), (2, 1)]
    assert "Ann" not in votes.to_csv() + answers.to_csv()
    press(teacher, "Hide")
    assert "row sum to" not in main_text(rerun(ann))
    assert "50% before" in main_text(teacher)  # still on the teacher's page


def test_invalid_questions_are_reported_and_their_text_is_kept(visit: Visit) -> None:
    teacher = open_as_teacher(visit)
    ask(teacher, "Why?", "")
    assert messages(teacher)[-1] == "A question has 2 to 8 options, one per line; this one has 0."
    assert teacher.text_area[0].value == "Why?"
    ask(teacher, "Why?", "A\nB", 5)
    assert messages(teacher)[-1] == "The correct option must be a number from 1 to 2, not 5."
    assert only_class().measured.all() == ()
    ask(teacher, SCRIPT, f"{SCRIPT}\n=HYPERLINK(1)")
    assert teacher.text_area[0].value == ""
    ann = join_as_student(visit, only_class(), "Ann")
    assert SCRIPT not in markdown(ann)
    assert SCRIPT in main_text(ann)
    press(ann, "class-answer-1-0-1")
    press(teacher, "Show the answers")
    for app in (teacher, rerun(ann)):
        assert SCRIPT not in visible_text(app, kinds=["html"])
        assert "&lt;script&gt;" in visible_text(app, kinds=["html"])
    assert "'=HYPERLINK(1)" in list(downloaded_file(teacher, "votes.csv")["option"])
