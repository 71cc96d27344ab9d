"""The Class page, and what pages show in a class: joining, following, questions and answers."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.class_visits import (
    class_line_data,
    field,
    follow_link,
    join_as_student,
    only_class,
    open_as_teacher,
    page_markdown,
    press,
    rerun,
    with_visitor_id,
)
from tests.pages.conftest import ROOT, Visit, messages, view
from transformer.classroom import ClassroomError
from transformer.ui.base.registry import CLASS
from transformer.ui.pages.classroom import invitation
from transformer.ui.services import live_classes
from transformer.ui.services.class_updates import handle, news

CHECKPOINTS = ROOT / "checkpoints"
pytestmark = pytest.mark.usefixtures("token")


def progress(app: AppTest) -> list[Any]:
    return [bar.proto for bar in app.get("progress")]


def progress_texts(app: AppTest) -> str:
    return "\n".join(bar.text for bar in progress(app))


def test_a_teacher_opens_a_class_and_a_student_joins(visit: Visit) -> None:
    teacher = open_as_teacher(visit)
    # The link works on this machine only.
    assert [warning[:17] for warning in messages(teacher)] == ["Only this machine"]
    classroom = only_class()
    assert classroom.code[:3] in page_markdown(teacher)
    assert "No students yet" in [header.value for header in teacher.header]
    [qr_code] = teacher.get("image") or teacher.get("imgs")
    assert f"/class?code={classroom.code}" in str(qr_code.proto)
    student = join_as_student(visit, classroom, "Zoë")
    assert "You are in the class of **Ms Curie** as **Zoë**" in page_markdown(student)
    assert view(student).code == ""
    line = class_line_data(student)
    assert (line["teacher"], line["teaches"], line["drawn"]["state"]) == (
        "Ms Curie",
        False,
        "alone",
    )
    # The teacher leads but has opened no page; students once read "Nobody leads yet".
    assert "Ms Curie is leading. Every page that Ms Curie opens" in page_markdown(student)
    handle(classroom, teacher.session_state["visitor"], b'{"leading": false}', [])
    assert "Ms Curie is not leading at the moment" in page_markdown(rerun(student))
    assert news(classroom, student.session_state["visitor"])["leads"] is False
    press(rerun(teacher), "class-lead-here")
    assert news(classroom, student.session_state["visitor"])["leads"] is True
    assert "Ms Curie is leading. Every page" in page_markdown(rerun(student))
    rerun(teacher)
    assert "1 joined" in page_markdown(teacher)
    assert "Zoë" in page_markdown(teacher)
    other_student = join_as_student(visit, classroom, "Eve")
    [choice] = [field for field in rerun(teacher).multiselect if field.label == "Students"]
    assert choice.options == ["Zoë (1)", "Eve (2)"]
    choice.set_value([2])
    press(rerun(teacher), "class-remove")
    assert [member.name for member in classroom.members()] == ["Zoë"]
    assert "You are in the class" not in page_markdown(rerun(other_student))
    removed = "Your teacher has removed you from the class."
    assert class_line_data(other_student) == {"over": removed}
    assert class_line_data(rerun(other_student)) == {"over": removed}  # until another page
    assert class_line_data(follow_link(other_student, "pages/glossary.py")) == {}
    last_student = join_as_student(visit, classroom, "Bob")
    press(student, "Leave the class")
    assert class_line_data(student)["over"].startswith("You have left the class.")
    press(teacher, "class-close")
    assert class_line_data(rerun(last_student))["over"].startswith("The class has ended.")
    assert classroom.members() == ()


def test_the_teacher_sees_refused_joins_and_lets_them_join(visit: Visit) -> None:
    teacher = open_as_teacher(visit)
    classroom = only_class()
    join_as_student(visit, classroom, "Ann")
    visitors = 0
    while not classroom.refused_joins()["rate"]:  # somebody deletes the cookies after every join
        visitors += 1
        try:
            classroom.join(f"eve {visitors}")
        except ClassroomError:
            break
        classroom.leave(f"eve {visitors}")
    assert any("browsers refused: 1." in text for text in messages(rerun(teacher)))
    press(teacher, "class-allow-joins")
    assert not any("refused" in text for text in messages(teacher))
    classroom.join("bob")


def test_a_wrong_token_or_code_is_rejected_in_one_sentence(visit: Visit) -> None:
    app = with_visitor_id(visit(CLASS))
    field(app, "Token").input("not the token")
    press(app, "Open a class")
    assert [message.split(".")[0] for message in messages(app)] == [
        "This is not the teacher's token"
    ]
    assert live_classes.current_class() is None
    field(app, "Code").input("hello")
    press(app, "Join")
    assert messages(app)[0].startswith("A class's code has 6 letters and digits, like K7F A2P")
    assert field(app, "Token")  # the teacher's form stays
    open_as_teacher(visit)
    press(join_as_student(visit, only_class(), "Ann"), "Leave the class")
    field(app, "Code").input(only_class().code)
    field(app, "First name").input("<b>Ann</b>")
    press(app, "Join")
    assert messages(app)[0].startswith("A name has at most 24 letters")
    assert only_class().members() == ()


def lesson_class(app: AppTest) -> dict[str, Any]:
    """Return what the lesson's card knows of the class."""
    [card] = [e.proto for e in app.get("bidi_component") if e.proto.id.endswith("-lesson-card")]
    state: dict[str, Any] = json.loads(card.json)["class"]
    return state


def test_the_card_of_a_lesson_knows_the_class(visit: Visit) -> None:
    open_as_teacher(visit)
    classroom = only_class()
    ann = join_as_student(visit, classroom, "Ann")
    follow_link(ann, "pages/inside.py")
    group = {"code": classroom.code, "teacher": live_classes.teacher_name(classroom)}
    assert lesson_class(ann) == group


def test_the_qr_code_has_the_size_of_its_version() -> None:
    """A code of version v has 4v + 17 modules per side (ISO/IEC 18004) and a quiet zone of four."""
    svg = ElementTree.fromstring(invitation.qr_code("http://192.168.1.20:8501/class?code=K7FA2P"))
    side = int(svg.attrib["viewBox"].split()[-1])
    assert (svg.attrib["viewBox"], (side - 8 - 17) % 4) == (f"0 0 {side} {side}", 0)
    background, modules = svg.iter("path")
    assert background.attrib["fill"] == "#fff"
    assert background.attrib["d"] == f"M0 0h{side}v{side}h-{side}z"
    assert modules.attrib["d"].startswith("M4 4.5h7m")  # the upper side of a finder pattern
