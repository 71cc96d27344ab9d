"""Classes continue after the server was killed or restarted; their files do not outlive them."""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.classroom.plans import changed
from transformer.classroom import Classes, Classroom, ClassroomError, MeasuredQuestion
from transformer.classroom.plan import read_plan
from transformer.classroom.stored import KEEP_SECONDS

TOKEN = "a token of the teacher's"
QUESTION = MeasuredQuestion("What is 1 + 1?", ("1", "2"), 1)


Start = Callable[[Path], Classes]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "runs" / ".classes"


@pytest.fixture
def start() -> Iterator[Start]:
    """Start a server with its classes in a folder."""
    started: list[Classes] = []

    def start_server(folder: Path) -> Classes:
        started.append(Classes(TOKEN, folder=folder))
        return started[-1]

    yield start_server
    for classes in started:
        classes.close()


def taught_class(classes: Classes) -> Classroom:
    """Return a class with three students, votes on two questions and on a lesson."""
    opened = classes.open(TOKEN, "teacher", "Ms Curie")
    for student in ("ann", "bob", "cleo", "eve"):
        classes.join(opened.code, student, student.title())
    classes.remove("teacher", [4])
    opened.follow("bob", False)
    opened.set_own_engines("ann", True)  # only the teacher can
    assert not opened.own_engines
    opened.set_own_engines("teacher", True)
    opened.progress.set(read_plan(changed()))
    opened.progress.go_to(1)
    opened.lessons.answer("ann", "umbrella", 2)
    opened.lessons.answer("ann", "row", 1)
    opened.lessons.show("row", ("1", "8"), 0)
    shown = opened.measured.ask(QUESTION)
    opened.measured.answer("ann", shown, 0, 1)
    opened.measured.ask_again(shown)
    opened.measured.answer("ann", shown, 1, 1)
    opened.measured.answer("bob", shown, 1, 0)
    opened.measured.show(shown)
    sealed = opened.measured.ask(QUESTION)
    opened.measured.answer("ann", sealed, 0, 1)
    return opened


def left_by_kill(folder: Path) -> Path:
    """Return a copy of the folder as it would be if its server were killed now."""
    return Path(shutil.copytree(folder, folder.with_name(".classes-after-kill")))


def test_a_killed_server_loses_no_seat_question_or_vote(folder: Path, start: Start) -> None:
    before = taught_class(start(folder))
    classes = start(left_by_kill(folder))
    after = classes.class_of("ann")
    assert after is not None
    assert (after.code, after.teacher_name) == (before.code, "Ms Curie")
    assert after.members() == before.members()
    assert after.is_teacher("teacher")
    assert (after.is_leading, after.own_engines) == (True, True)
    assert (after.follows("ann"), after.follows("bob")) == (True, False)
    assert after.lessons.counts("umbrella") == {2: 1}
    assert after.lessons.results() == before.lessons.results()
    assert after.lessons.results()[0].votes == ((0, 1),)
    assert (after.progress.plan, after.progress.station) == (before.progress.plan, 1)
    assert after.progress.elapsed()[0] < 60
    assert classes.departure("eve") == "removed"
    with pytest.raises(ClassroomError, match="has removed this browser"):
        classes.join(after.code, "eve")

    assert after.measured.results() == before.measured.results()
    current = after.measured.current
    assert current == before.measured.current
    assert current is not None
    after.lessons.answer("ann", "umbrella", 0)  # a second answer still does not count
    assert after.lessons.counts("umbrella") == {2: 1}
    with pytest.raises(ClassroomError, match="only the first answer counts"):
        after.measured.answer("ann", current.number, 0, 0)
    after.measured.answer("bob", current.number, 0, 0)
    after.measured.show(current.number)
    result = after.measured.result(current.number)
    assert result is not None
    assert result.votes == ((1, 1),)
    assert classes.join(after.code, "dan").members()[-1].number == 5


def test_a_server_that_is_stopped_continues_its_classes(folder: Path, start: Start) -> None:
    classes = start(folder)
    code = taught_class(classes).code
    events: list[bool] = []
    taught = classes.class_of("ann")
    assert taught is not None
    taught.listen("ann", events.append, limit=1)
    classes.close()
    assert (events[-1], taught.ended) == (False, False)
    after = start(folder).class_of("ann")
    assert after is not None
    assert after.code == code


def test_the_files_end_with_the_class_and_with_its_answers(folder: Path, start: Start) -> None:
    classes = start(folder)
    opened = taught_class(classes)
    [file] = folder.glob("*/*.json")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    sealed, number = json.loads(file.read_text())["measured"]["questions"], opened.measured.current
    assert [(bool(q["key"]), len(q["rounds"])) for q in sealed] == [(False, 0), (True, 1)]
    assert number is not None
    opened.measured.show(number.number)
    shown = json.loads(file.read_text())["measured"]["questions"]
    assert not any(question["key"] or question["rounds"] for question in shown)
    classes.leave("ann")
    assert "Ann" not in file.read_text()
    classes.end("teacher")
    assert not [*folder.glob("*/*.json")]
    assert start(left_by_kill(folder)).departure("bob") == ""  # then the page says "lost"


def test_old_and_foreign_files_are_deleted(folder: Path, start: Start) -> None:
    code = taught_class(start(folder)).code
    file = folder / "0" / f"{code}.json"
    (folder / "0" / "ABCDEF.json").write_bytes(file.read_bytes())  # has another code
    old = file.stat().st_mtime - KEEP_SECONDS - 1
    os.utime(file, (old, old))
    after_kill = left_by_kill(folder)
    assert len(start(after_kill)) == 0
    assert not [*after_kill.glob("*/*.json")]


def test_two_servers_share_a_folder(folder: Path, start: Start) -> None:
    first, second = start(folder), start(folder)
    taught_class(first)
    assert second.class_of("ann") is None
    taught_class(second)
    first.close()
    again = start(folder)
    assert len(again) == len(second) == 1


def test_a_class_works_without_a_folder_that_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    classes = Classes(TOKEN, folder=tmp_path / "file" / ".classes")
    assert taught_class(classes).members()


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


def paths(values: Any, start: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values inside JSON values."""
    items = values.items() if isinstance(values, dict) else enumerate(values)
    found = []
    for name, value in items:
        found.append((*start, name))
        if isinstance(value, dict | list):
            found += paths(value, (*start, name))
    return found


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_a_damaged_file_stops_no_server(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("classes")
    with closing(Classes(TOKEN, folder=folder)) as classes:
        code = taught_class(classes).code
    file = folder / "0" / f"{code}.json"
    values = json.loads(file.read_text())
    *parents, name = data.draw(st.sampled_from(paths(values)))
    target = values
    for parent in parents:
        target = target[parent]
    target[name] = data.draw(VALUES)
    content = json.dumps(values).encode()
    file.write_bytes(content[: data.draw(st.sampled_from((len(content), len(content) // 2, 0)))])
    with closing(Classes(TOKEN, folder=folder)) as classes:
        for visitor in ("teacher", "ann", "bob"):
            if classroom := classes.class_of(visitor):
                for status in classroom.measured.all():
                    classroom.measured.show(status.number)
                assert classroom.stored() is not None
