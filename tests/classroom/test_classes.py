"""Opening and joining a class, limits on guessing codes, and deletion of all data at the end."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hostile import TEXTS, check_message
from transformer.classroom import Classes, ClassroomError
from transformer.classroom.classes import IDLE_SECONDS
from transformer.classroom.classroom import JOINS_PER_SEAT
from transformer.classroom.codes import (
    new_code,
    read_name,
)
from transformer.classroom.joins import JOIN_SECONDS

TOKEN = "a token of the teacher's"


class Clock:
    """A clock that the test advances."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def classes(clock: Clock) -> Classes:
    return Classes(TOKEN, max_members=3, clock=clock)


def test_a_class_is_opened_and_joined(classes: Classes) -> None:
    opened = classes.open(f"  {TOKEN}\n", "teacher", name="Ms  Curie ")
    assert (opened.teacher_name, opened.members()) == ("Ms Curie", ())
    typed = f" {opened.code[:3].lower()} - {opened.code[3:]}"
    assert classes.join(typed, "ann", name="Ann") is opened
    classes.join(opened.code, "bob")
    assert [(member.visitor, member.label) for member in opened.members()] == [
        ("ann", "Ann"),
        ("bob", "Student 2"),
    ]
    assert classes.class_of("ann") is classes.class_of("teacher") is opened
    assert classes.class_of("unknown") is None
    assert classes.class_of("") is None
    assert opened.is_teacher("teacher")
    assert not opened.is_teacher("ann")
    assert opened.member("teacher") is None
    classes.join(opened.code, "ann", name="Anna")  # again, to change the name
    assert [member.label for member in opened.members()] == ["Anna", "Student 2"]
    assert "ann'" not in repr(opened.members())  # the id is never displayed


def test_only_the_token_opens_a_class(classes: Classes) -> None:
    for wrong in ("", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "\udcff", "x" * 10**6):
        with pytest.raises(ClassroomError, match="not the teacher's token"):
            classes.open(wrong, "eve")
    with pytest.raises(ClassroomError, match="not the teacher's token"):
        Classes("").open("", "another user")  # without a token no class opens


def test_leaving_and_ending_delete_everything(classes: Classes) -> None:
    opened = classes.open(TOKEN, "teacher", name="Ms Curie")
    classes.join(opened.code, "ann", name="Ann")
    classes.join(opened.code, "bob", name="Bob")
    classes.leave("bob")
    assert classes.class_of("bob") is None
    assert [member.name for member in opened.members()] == ["Ann"]
    classes.leave("teacher")  # no effect: the only teacher can end the class, but not leave it
    assert classes.class_of("teacher") is opened
    opened.set_view_to_follow("teacher", "positions", {"text": "A secret."})
    opened.lessons.answer("ann", "umbrella", 1)
    events: list[bool] = []
    opened.listen("ann", events.append, limit=3)
    classes.end("ann")  # a student cannot end the class
    assert not opened.ended
    classes.end("teacher")
    assert opened.ended
    assert events == [True, False]
    assert classes.class_of("ann") is classes.class_of("teacher") is None
    assert (opened.members(), opened.view_to_follow, opened.lessons.counts("umbrella")) == (
        (),
        None,
        {},
    )
    content = str([vars(classes), vars(opened)])
    assert not any(word in content for word in ("ann", "Ann", "Curie", "secret", "umbrella"))
    with pytest.raises(ClassroomError, match="no class with this code"):
        classes.join(opened.code, "ann")
    with pytest.raises(ClassroomError, match="has ended"):
        opened.join("ann")


def test_wrong_tokens_and_codes_keep_nobody_out(classes: Classes) -> None:
    for _ in range(100):
        with pytest.raises(ClassroomError, match="not the teacher's token"):
            classes.open("a wrong token", "teacher")
    code = classes.open(TOKEN, "teacher").code
    wrong = next(other_code for other_code in iter(new_code, "") if other_code != code)
    for _ in range(100):
        with pytest.raises(ClassroomError, match="no class with this code"):
            classes.join(wrong, "eve", "E")
    assert classes.join(code, "eve", "E").code == code


@pytest.mark.parametrize("seats", [30, 60, 200])
def test_whole_classes_join_at_once(clock: Clock, seats: int) -> None:
    """Also two classes behind one school router: joins are counted for each class."""
    classes = Classes(TOKEN, max_members=seats, clock=clock)
    for group in ("a", "b"):
        opened = classes.open(TOKEN, f"teacher {group}")
        for number in range(seats):
            classes.join(opened.code, f"{group} {number}")
        assert len(opened.members()) == seats
        assert opened.refused_joins() == {"rate": 0, "full": 0}


def test_joins_of_ever_new_browsers_are_limited_and_the_teacher_lets_them_in(clock: Clock) -> None:
    classes = Classes(TOKEN, max_members=3, clock=clock)
    opened, other = classes.open(TOKEN, "teacher"), classes.open(TOKEN, "other teacher")
    for number in range(1, 3 * JOINS_PER_SEAT + 1):
        classes.join(opened.code, f"eve {number}")
        if number > 1:
            classes.remove("teacher", [number])
    assert [member.number for member in opened.members()] == [1]
    changes: list[bool] = []
    opened.listen("teacher", changes.append, limit=1)
    changes.clear()
    for _ in range(2):  # the same browser again is one refused browser
        with pytest.raises(ClassroomError, match="your teacher sees this and can let you join"):
            classes.join(opened.code, "ann")
    assert (opened.refused_joins(), changes) == ({"rate": 1, "full": 0}, [True, True])
    classes.join(other.code, "cleo")  # another class
    classes.leave("eve 1")
    classes.join(opened.code, "eve 1")  # a browser that was in this class before
    opened.allow_joins("eve 1")  # only the teacher can
    assert opened.refused_joins()["rate"] == 1
    opened.allow_joins("teacher")
    classes.join(opened.code, "ann")
    assert opened.refused_joins() == {"rate": 0, "full": 0}
    clock.now += JOIN_SECONDS
    classes.join(opened.code, "bob")
    with pytest.raises(ClassroomError, match="3 students"):
        classes.join(opened.code, "dan")
    assert opened.refused_joins() == {"rate": 0, "full": 1}
    classes.leave("bob")
    assert opened.refused_joins() == {"rate": 0, "full": 0}


def test_former_members_learn_why_they_are_in_no_class(classes: Classes, clock: Clock) -> None:
    opened = classes.open(TOKEN, "teacher")
    for student in ("ann", "bob", "cleo"):
        classes.join(opened.code, student)
    assert classes.departure("ann") == ""
    during_removal: list[str] = []
    opened.listen("ann", lambda _: during_removal.append(classes.departure("ann")), limit=1)
    classes.remove("teacher", [1])
    assert during_removal[-1] == "removed"
    classes.leave("bob")
    clock.now += IDLE_SECONDS + 1
    departures = [classes.departure(visitor) for visitor in ("ann", "bob", "cleo", "dan")]
    assert departures == ["removed", "left", "ended", ""]
    classes.join(classes.open(TOKEN, "teacher").code, "cleo")
    assert classes.departure("cleo") == ""


def test_a_teacher_removes_students(classes: Classes) -> None:
    opened = classes.open(TOKEN, "teacher")
    for student in ("ann", "bob"):
        classes.join(opened.code, student)
    classes.remove("ann", [2])  # only a teacher can
    assert len(opened.members()) == 2
    classes.remove("teacher", [2, 99])
    assert [member.visitor for member in opened.members()] == ["ann"]
    assert classes.class_of("bob") is None
    with pytest.raises(ClassroomError, match="has removed this browser"):
        classes.join(opened.code, "bob")
    classes.join(opened.code, "cleo")


def test_members_are_limited(classes: Classes) -> None:
    opened = classes.open(TOKEN, "teacher")
    for number in range(3):
        classes.join(opened.code, f"student {number}")
    with pytest.raises(ClassroomError, match="has 3 students, as many as this app allows"):
        classes.join(opened.code, "student 3")
    assert classes.class_of("student 3") is None
    classes.leave("student 0")
    classes.join(opened.code, "student 3")
    assert opened.members()[-1].number == 4  # numbers are not reused


def test_a_visitor_is_in_at_most_one_class(classes: Classes) -> None:
    first, second = classes.open(TOKEN, "teacher"), classes.open(TOKEN, "other")
    with pytest.raises(ClassroomError, match="close that one first"):
        classes.open(TOKEN, "teacher")
    with pytest.raises(ClassroomError, match="close that one first"):
        classes.join(second.code, "teacher")
    with pytest.raises(ClassroomError, match="close that one first"):
        classes.join(first.code, "teacher")
    classes.join(first.code, "ann")
    with pytest.raises(ClassroomError, match="leave that one first"):
        classes.join(second.code, "ann")
    with pytest.raises(ClassroomError, match="does not keep cookies"):
        classes.join(second.code, "")


def test_an_abandoned_class_ends(classes: Classes, clock: Clock) -> None:
    opened = classes.open(TOKEN, "teacher")
    classes.join(opened.code, "ann")
    clock.now += IDLE_SECONDS - 1
    assert classes.class_of("teacher") is opened  # this call counts as activity
    clock.now += IDLE_SECONDS - 1
    assert classes.class_of("ann") is opened
    clock.now += 2
    assert classes.class_of("ann") is None
    assert opened.ended


@pytest.mark.parametrize(
    "name",
    ["<b>", "a\u202eb", "a\x00b", "x" * 25, "**x**", "[x](http://x)", "42", ".", "😀", "a_b"],
)
def test_invalid_names_are_refused(name: str) -> None:
    with pytest.raises(ClassroomError, match="A name has at most 24 letters"):
        read_name(name)


VISITORS = st.sampled_from(("", "ann", "bob", "cleo", "dan", "teacher", "other teacher"))


@settings(max_examples=30)
@given(data=st.data())
def test_any_requests_keep_the_limits(data: st.DataObject) -> None:
    """Requests of strangers, students and teachers in any order succeed or give one sentence."""
    clock = Clock()
    classes = Classes(TOKEN, max_members=3, clock=clock)
    codes: list[str] = []
    for _ in range(data.draw(st.integers(1, 30))):
        clock.now += data.draw(st.sampled_from((0, 1, 700, 4 * 3600)))
        visitor, name = data.draw(VISITORS), data.draw(TEXTS)
        own_class = classes.class_of(visitor)
        action = data.draw(st.sampled_from(("open", "join", "leave", "end", "answer", "lead")))
        try:
            if action == "open":
                opened = classes.open(data.draw(st.just(TOKEN) | TEXTS), visitor, name=name)
                codes.append(opened.code)
            elif action == "join":
                classes.join(data.draw(st.sampled_from([*codes, name])), visitor, name=name)
            elif action == "leave":
                classes.leave(visitor)
            elif action == "end":
                classes.end(visitor)
            elif own_class and action == "answer":
                own_class.lessons.answer(visitor, name, data.draw(st.integers(-1, 5)))
            elif own_class:
                own_class.begin_leading(visitor)
                own_class.set_view_to_follow(visitor, name, {name: name})
        except ClassroomError as error:
            check_message(error)
        assert len(classes) <= 2
        for classroom in filter(None, map(classes.class_of, ("ann", "bob", "cleo", "dan"))):
            assert not classroom.ended
            assert len(classroom.members()) <= 3
            assert not any(classroom.is_teacher(member.visitor) for member in classroom.members())
        assert classes.class_of("") is None
    classes.close()
    assert not len(classes)
