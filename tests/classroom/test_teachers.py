"""Several teachers: the teaching code, which teacher leads, leaving and ending the class."""

from __future__ import annotations

import pytest

from transformer.classroom import Classes, Classroom, ClassroomError
from transformer.classroom.classroom import MAX_TEACHERS
from transformer.classroom.codes import TEACHING_CODE_LENGTH, new_code, show_code

TOKEN = "a token of the teacher's"


@pytest.fixture
def classes() -> Classes:
    return Classes(TOKEN, max_classes=2, max_members=3)


@pytest.fixture
def classroom(classes: Classes) -> Classroom:
    opened = classes.open(TOKEN, "curie", name="Ms Curie")
    classes.join(opened.code, "ann", name="Ann")
    classes.join(show_code(opened.teaching_code).lower(), "bohr", name="Mr Bohr")
    return opened


def test_the_teaching_code_makes_a_teacher(classes: Classes, classroom: Classroom) -> None:
    assert len(classroom.teaching_code) == TEACHING_CODE_LENGTH
    assert classroom.is_teacher("bohr")
    assert classes.class_of("bohr") is classroom
    assert classroom.teacher_names() == ("Ms Curie", "Mr Bohr")
    assert [member.label for member in classroom.members()] == ["Ann"]
    classes.join(classroom.teaching_code, "ann", name="Anna")  # a student becomes a teacher
    assert classroom.members() == ()
    assert classroom.is_teacher("ann")
    with pytest.raises(ClassroomError, match="leave that one first"):
        classes.join(classroom.code, "bohr")
    with pytest.raises(ClassroomError, match="no class with this code"):
        classes.join(new_code(TEACHING_CODE_LENGTH), "eve")
    other_class = classes.open(TOKEN, "darwin")
    with pytest.raises(ClassroomError, match="You are in a class already"):
        classes.join(other_class.teaching_code, "bohr")


def test_the_last_teacher_who_clicks_leads(classroom: Classroom) -> None:
    classroom.set_view_to_follow("curie", "positions", {})
    classroom.set_view_to_follow("bohr", "why", {})  # does not lead yet
    assert classroom.view_to_follow is not None
    assert classroom.view_to_follow.page == "positions"
    assert (classroom.teacher_name, classroom.is_leader("curie")) == ("Ms Curie", True)
    classroom.begin_leading("bohr")
    classroom.set_view_to_follow("curie", "inside", {})  # no longer leads
    assert classroom.view_to_follow.page == "positions"
    classroom.set_view_to_follow("bohr", "why", {})
    assert classroom.view_to_follow.page == "why"
    assert (classroom.teacher_name, classroom.is_leader("curie")) == ("Mr Bohr", False)
    classroom.begin_leading("curie")
    classroom.begin_leading("ann")  # a student never leads
    classroom.begin_leading("eve")
    assert classroom.is_leader("curie")
    classroom.stop_leading()
    assert not classroom.is_leader("curie")
    assert classroom.teacher_name == "Ms Curie"


def test_a_teacher_with_a_colleague_may_leave(classes: Classes, classroom: Classroom) -> None:
    classroom.set_view_to_follow("curie", "positions", {})
    classes.leave("curie")  # the one who leads
    assert classes.class_of("curie") is None
    assert (classroom.teacher_names(), classroom.is_leading) == (("Mr Bohr",), False)
    assert classroom.view_to_follow is None
    classroom.begin_leading("curie")
    assert not classroom.is_leading
    classes.leave("bohr")  # no effect: the last teacher can end the class, but not leave it
    assert classes.class_of("bohr") is classroom
    classes.end("bohr")
    assert classes.class_of("ann") is None
    assert "Bohr" not in str(vars(classroom))


def test_the_teaching_code_ends_with_the_class(classes: Classes, classroom: Classroom) -> None:
    code = classroom.teaching_code
    classes.end("bohr")  # a colleague may do all that the first teacher may
    assert classroom.ended
    with pytest.raises(ClassroomError, match="no class with this code"):
        classes.join(code, "bohr")
    with pytest.raises(ClassroomError, match="has ended"):
        classroom.join_as_teacher("bohr")
    assert code not in str([vars(classes), vars(classroom)])


def test_the_number_of_teachers_is_limited(classes: Classes, classroom: Classroom) -> None:
    for number in range(MAX_TEACHERS - 2):
        classes.join(classroom.teaching_code, f"colleague {number}")
    with pytest.raises(ClassroomError, match=f"has {MAX_TEACHERS} teachers"):
        classes.join(classroom.teaching_code, "one more")
    assert classes.class_of("one more") is None
    classes.join(classroom.teaching_code, "bohr", name="Niels")  # a change of name
    assert "Niels" in classroom.teacher_names()
