"""The page Class, and what a class's pages show: the doors, following, wandering, the answers."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest

from tests.pages.class_visits import (
    TOKEN,
    field,
    heading,
    joined,
    only_class,
    opened,
    press,
    rerun,
    sign,
    somebody,
    text,
    token,
    turned,
)
from tests.pages.conftest import ROOT, Visit, messages, view
from transformer.classroom import Classes
from transformer.ui.pages.classroom import membership
from transformer.ui.services import live_classes
from transformer.ui.shell.class_news import message
from transformer.ui.shell.registry import CLASS, PAGES
from transformer.ui.shell.visitor import new_id
from transformer.ui.widgets.lessons.course import BY_NAME
from transformer.ui.widgets.lessons.prepared import AvailableModels, prepared

SHIPPED = ROOT / "checkpoints"
__all__ = ["token"]  # a fixture


def progress(app: AppTest) -> list[Any]:
    return [bar.proto for bar in app.get("progress")]


def progress_texts(app: AppTest) -> str:
    return "\n".join(bar.text for bar in progress(app))


@pytest.mark.usefixtures("token")
def test_a_teacher_opens_a_class_and_a_student_comes_in(visit: Visit) -> None:
    teacher = opened(visit)
    assert [warning[:17] for warning in messages(teacher)] == [
        "Only this machine"
    ]  # of the address
    classroom = only_class()
    assert classroom.code[:3] in text(teacher)
    assert "No students yet" in [header.value for header in teacher.header]
    [displayed] = teacher.get("image") or teacher.get("imgs")
    assert f"/class?code={classroom.code}" in str(displayed.proto)
    student = joined(visit, classroom, "Zoë")
    assert "You are in the class of **Ms Curie** as **Zoë**" in text(student)
    assert view(student).code == ""
    assert sign(student)["text"] == "In the class of Ms Curie"
    # The teacher leads and has opened no page yet; students once read "Nobody leads yet".
    assert "Ms Curie is leading. Every page that Ms Curie opens" in text(student)
    press(teacher, "Stop leading")
    assert "Ms Curie is not leading at the moment" in text(rerun(student))
    assert message(classroom, student.session_state["visitor"])["leads"] is False
    press(teacher, "class-lead-here")
    assert message(classroom, student.session_state["visitor"])["leads"] is True
    assert "Ms Curie is leading. Every page" in text(rerun(student))
    rerun(teacher)
    assert "1 joined" in text(teacher)
    assert "Zoë" in text(teacher)
    press(student, "Leave the class")
    assert "The class has ended" in text(student)
    assert classroom.members() == ()
    assert sign(student) == {}


@pytest.mark.usefixtures("token")
def test_a_wrong_token_or_code_is_one_sentence(visit: Visit) -> None:
    app = somebody(visit(CLASS))
    field(app, "Token").input("not the token")
    press(app, "Open a class")
    assert [message.split(".")[0] for message in messages(app)] == [
        "This is not the teacher's token"
    ]
    assert live_classes.current_class() is None
    field(app, "Code").input("hello")
    press(app, "Join")
    assert messages(app)[0].startswith("A class's code has 6 letters and digits, like K7F A2P")
    press(joined(visit, (opened(visit), only_class())[1], "Ann"), "Leave the class")
    field(app, "Code").input(only_class().code)
    field(app, "First name").input("<b>Ann</b>")
    press(app, "Join")
    assert messages(app)[0].startswith("A name has at most 24 letters")
    assert only_class().members() == ()


def test_a_browser_without_cookies_is_told(visit: Visit, token: str) -> None:
    classroom = live_classes.classes().open(token, new_id())
    app = visit(CLASS, code=classroom.code)
    press(app, "Join")  # an id for the session alone: it follows no news, but may guess
    assert len(classroom.members()) == 1


def test_a_broken_file_of_limits_is_said_on_this_page_alone(
    visit: Visit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "limits.toml").write_text('teacher_token = "short"')
    monkeypatch.setenv("HEADS_UP_LIMITS", str(tmp_path / "limits.toml"))
    assert "teacher_token must have 12 to 200 signs" in messages(visit(CLASS))[0]
    assert messages(visit("pages/glossary.py")) == []


@pytest.mark.usefixtures("token")
def test_students_follow_wander_and_come_back(visit: Visit) -> None:
    teacher = opened(visit, "pages/attention.py")
    classroom = only_class()
    assert sign(teacher)["standing"] == "leads"
    student = joined(visit, classroom, "Ann")
    assert heading(student) == "Attention"
    teacher.text_input[0].set_value("Who gave you that red umbrella?")
    rerun(teacher)
    lead = classroom.lead
    assert lead is not None
    assert lead.params["text"] == "Who gave you that red umbrella?"
    rerun(student)  # as the browser asks for it, when it hears of the news
    assert view(student).text == lead.params["text"]
    assert sign(student)["number"] == lead.number
    assert sign(student)["text"] == "Following Ms Curie"
    # Asked for because of the news, and with what stood in the field before it was told another.
    student.text_input[0].set_value("I am a student.")
    student.session_state["class_heard"] = True
    rerun(student)
    assert view(student).text == student.text_input[0].value == lead.params["text"]
    turned(teacher, "pages/inside.py")
    rerun(student)
    assert heading(student) == "Inside"
    assert classroom.follows(student.session_state["visitor"])

    turned(student, "pages/positions.py")
    assert not classroom.follows(student.session_state["visitor"])
    assert sign(student)["text"] == "Exploring on your own; Ms Curie is at Inside"
    turned(teacher, "pages/translate.py")
    rerun(student)
    assert heading(student) == "Positions"
    press(student, "Follow again")
    assert heading(student) == "Translate"
    press(student, "Stop following")
    assert sign(student)["standing"] == "away"
    press(teacher, "Stop leading")
    rerun(student)
    assert sign(student)["text"] == "In the class of Ms Curie"
    turned(teacher, "pages/why.py")
    assert classroom.lead is None
    press(teacher, "Lead the class")
    assert classroom.lead is not None
    assert classroom.lead.page == "why"


@pytest.mark.usefixtures("token")
def test_everybody_looks_in_their_own_way(visit: Visit) -> None:
    teacher = opened(visit, "pages/attention.py")
    student = joined(visit, only_class())
    rerun(student).toggle[0].set_value(True)
    rerun(student)
    assert view(student).exact == 1
    assert sign(student)["text"] == "Following Ms Curie"  # that is no going away
    teacher.text_input[0].set_value("She has never seen the sea.")
    rerun(teacher)
    rerun(student)
    assert view(student).text == "She has never seen the sea."
    assert view(student).exact == 1
    lead = only_class().lead
    assert lead is not None
    assert "exact" not in lead.params


@pytest.mark.usefixtures("token")
def test_a_second_class_is_led_anew(visit: Visit) -> None:
    teacher = opened(visit, "pages/attention.py")
    student = joined(visit, only_class())
    assert heading(student) == "Attention"
    live_classes.classes().end(teacher.session_state["visitor"])
    classroom = live_classes.classes().open(TOKEN, teacher.session_state["visitor"])
    live_classes.classes().join(classroom.code, student.session_state["visitor"])
    rerun(teacher)
    assert classroom.lead is not None
    assert classroom.lead.page == "attention"
    turned(teacher, "pages/why.py")
    rerun(student)  # which has not looked meanwhile
    assert heading(student) == "Why self-attention"


@pytest.mark.usefixtures("token")
def test_an_address_without_end_is_not_led_to(visit: Visit) -> None:
    teacher = opened(visit, "pages/attention.py")
    before = only_class().lead
    teacher.text_input[0].set_value("boat " * 5000)
    rerun(teacher)
    assert not teacher.exception
    assert only_class().lead == before


@pytest.mark.usefixtures("token")
def test_the_news_is_small_and_says_no_more_than_is_the_visitors(visit: Visit) -> None:
    teacher = opened(visit, "pages/attention.py")
    classroom, me = only_class(), teacher.session_state["visitor"]
    student = joined(visit, classroom, "Ann")
    assert message(classroom, me) == {
        "following": 0,
        "members": 1,
    }  # no socket of theirs is open here
    sent = json.dumps(message(classroom, student.session_state["visitor"]))
    assert len(sent) < 300
    assert "Ann" not in sent
    assert me not in sent


@pytest.mark.usefixtures("token")
def test_a_question_is_answered_together(visit: Visit) -> None:
    name = "umbrella"
    question = prepared(BY_NAME[name], AvailableModels({"en-fr": SHIPPED / "en-fr"}, "")).question
    assert question is not None
    labels = [option.label for option in question.options]
    wrong = (question.correct + 1) % len(labels)
    teacher = opened(visit, folder=SHIPPED)
    classroom = only_class()
    ann = joined(visit, classroom, "Ann", folder=SHIPPED)
    turned(teacher, "app.py")
    press(teacher, "begin")
    assert classroom.lead is not None
    assert classroom.lead.params["lesson"] == name
    assert "**0 of 1** have answered" in progress_texts(teacher)
    assert not [
        element for element in teacher.button if element.key and element.key.startswith("guess-")
    ]

    rerun(ann)
    assert view(ann).lesson == name
    press(ann, f"guess-{name}-{wrong}")
    assert "Your answer" in text(ann)
    assert question.answer not in text(ann)
    assert classroom.answers(name) == {wrong: 1}
    bob = joined(visit, classroom, folder=SHIPPED)
    press(bob, f"guess-{name}-{question.correct}")
    rerun(teacher)
    assert "**2 of 2** have answered" in progress_texts(teacher)
    # The class sees the teacher's screen: how many have answered, but not yet what.
    assert not [bar for bar in progress(teacher) if bar.text.split(" · ")[0] in labels]
    assert all(f"- {label}" in text(teacher) for label in labels)
    assert "Bob" not in text(teacher)

    press(teacher, "Show the answers")
    bars = [bar for bar in progress(teacher) if " · " in bar.text]
    assert [bar.value for bar in bars] == [
        50 if number in (wrong, question.correct) else 0 for number in range(len(labels))
    ]
    assert question.answer in text(teacher)
    assert heading(teacher) == PAGES[BY_NAME[name].page].title
    for app in (ann, bob):
        rerun(app)
        assert heading(app) == heading(teacher)
        assert question.answer in text(app)
    assert f"Not quite: {labels[wrong]}" in text(ann)
    assert "**Correct.**" in text(bob)
    assert f"**{labels[wrong]}**" not in text(bob)


@pytest.mark.usefixtures("token")
def test_who_waits_when_the_class_ends_learns_the_answer(visit: Visit) -> None:
    teacher = opened(visit, folder=SHIPPED)
    student = joined(visit, only_class(), folder=SHIPPED)
    press(turned(teacher, "app.py"), "begin")
    rerun(student)
    press(student, "guess-umbrella-0")
    assert "Your answer" in text(student)
    teacher.switch_page(CLASS).run()
    press(teacher, "End the class")
    assert len(live_classes.classes()) == 0
    for _ in range(2):  # the browser may ask again before it has shown the first
        rerun(student)
        assert "The class has ended" in text(student)
    assert "Your answer" not in text(student)
    assert "Lesson 1 of" in text(student)
    assert not [
        element for element in student.button if element.key and element.key.startswith("guess-")
    ]
    assert "in no class" not in text(turned(student, "pages/translate.py"))


def test_the_picture_is_as_large_as_its_code() -> None:
    """A code of version v has 4v + 17 modules a side (ISO/IEC 18004), and four of quiet around."""
    link = "http://192.168.1.20:8501/class?code=K7FA2P"
    image = Image.open(io.BytesIO(membership.qr_code(link)))
    side, rest = divmod(image.width, membership.QR_MODULE_PIXELS)
    assert (image.width, rest, (side - 8 - 17) % 4) == (image.height, 0, 0)
    grey = image.convert("L")
    assert {grey.getpixel((at, at)) for at in range(4 * membership.QR_MODULE_PIXELS)} == {255}
    assert (
        grey.getpixel((4 * membership.QR_MODULE_PIXELS, 4 * membership.QR_MODULE_PIXELS)) == 0
    )  # the finder's corner


def test_the_token_of_a_start_is_made_once_and_told(
    visit: Visit, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HEADS_UP_LIMITS", raising=False)
    token = live_classes.generated_token()
    assert token == live_classes.generated_token()
    assert isinstance(live_classes.classes(), Classes)
    assert live_classes.classes().open(token, new_id()).code
