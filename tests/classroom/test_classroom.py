"""One class: the teacher's view that students follow, answers, events, and concurrent calls."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from transformer.classroom import Classroom
from transformer.classroom.lesson_answers import MAX_QUESTIONS


@pytest.fixture
def classroom() -> Classroom:
    new_class = Classroom("K7FA2P", "teacher", "", max_members=60)
    for name in ("ann", "bob"):
        new_class.join(name, name.title())
    return new_class


def test_the_newest_view_is_the_one_to_follow(classroom: Classroom) -> None:
    assert classroom.view_to_follow is None
    classroom.set_view_to_follow("teacher", "positions", {"head": "3"})
    first = classroom.view_to_follow
    assert first is not None
    assert (first.page, first.params) == ("positions", {"head": "3"})
    # An unchanged view is not sent again.
    classroom.set_view_to_follow("teacher", "positions", {"head": "3"})
    assert classroom.view_to_follow is first
    classroom.set_view_to_follow("teacher", "positions", {})
    assert classroom.view_to_follow is not None
    assert classroom.view_to_follow.number > first.number
    classroom.stop_leading("teacher")
    assert classroom.view_to_follow is None
    # This view is ignored, because the teacher is not leading.
    classroom.set_view_to_follow("teacher", "inside", {"row": "1"})
    assert classroom.view_to_follow is None
    classroom.begin_leading("ann")  # a student never leads
    assert not classroom.is_leading
    classroom.begin_leading("teacher")
    classroom.set_view_to_follow("ann", "inside", {"row": "1"})
    assert classroom.view_to_follow is None
    classroom.set_view_to_follow("teacher", "inside", {"row": "1"})
    assert classroom.view_to_follow is not None
    assert classroom.view_to_follow.number > first.number + 1


def test_followers_are_counted_while_connected(classroom: Classroom) -> None:
    assert classroom.follows("ann")
    assert not classroom.follows("teacher")
    assert classroom.following() == 0
    stop = classroom.listen("ann", lambda is_connected: None, limit=3)
    classroom.listen("bob", lambda is_connected: None, limit=3)
    classroom.listen("bob", lambda is_connected: None, limit=3)  # another tab of the same student
    classroom.listen("teacher", lambda is_connected: None, limit=3)
    assert classroom.following() == 2
    classroom.follow("bob", False)
    assert classroom.following() == 1
    assert not classroom.follows("bob")
    classroom.follow("bob", True)
    stop()
    assert classroom.following() == 1
    classroom.leave("bob")
    assert classroom.following() == 0
    classroom.follow("eve", False)  # other visitors change nothing
    assert not classroom.follows("eve")


def test_only_the_first_answer_counts_and_answers_are_anonymous(classroom: Classroom) -> None:
    classroom.lessons.answer("ann", "umbrella", 2)
    classroom.lessons.answer("ann", "umbrella", 0)
    classroom.lessons.answer("bob", "umbrella", 2)
    classroom.lessons.answer("eve", "umbrella", 1)  # not a member
    classroom.lessons.answer("teacher", "umbrella", 1)
    assert classroom.lessons.counts("umbrella") == {2: 2}
    assert classroom.lessons.counts("row") == {}
    classroom.leave("ann")
    classroom.join("ann")
    classroom.lessons.answer("ann", "umbrella", 1)  # not a second time
    assert classroom.lessons.counts("umbrella") == {2: 2}
    assert not classroom.lessons.shown()
    classroom.lessons.show("umbrella")
    assert classroom.lessons.shown() == {"umbrella"}
    classroom.join("cleo")
    classroom.lessons.answer("cleo", "umbrella", 0)  # too late: the answers are displayed
    assert classroom.lessons.counts("umbrella") == {2: 2}
    classroom.lessons.counts("umbrella")[2] = 99  # a copy
    assert classroom.lessons.counts("umbrella") == {2: 2}


def test_questions_are_limited(classroom: Classroom) -> None:
    for number in range(2 * MAX_QUESTIONS):
        classroom.lessons.answer("ann", f"question {number}", 0)
        classroom.lessons.show(f"shown {number}")
    assert (
        sum(bool(classroom.lessons.counts(f"question {n}")) for n in range(2 * MAX_QUESTIONS))
        == MAX_QUESTIONS
    )
    assert len(classroom.lessons.shown()) == MAX_QUESTIONS


def test_every_change_is_sent_once(classroom: Classroom) -> None:
    events: list[str] = []
    stop = classroom.listen("ann", lambda is_connected: events.append("x"), limit=3)
    changes = [
        lambda: classroom.set_view_to_follow("teacher", "why", {}),
        lambda: classroom.follow("bob", False),
        lambda: classroom.lessons.answer("bob", "row", 1),
        lambda: classroom.lessons.show("row"),
        lambda: classroom.stop_leading("teacher"),
        lambda: classroom.leave("bob"),
    ]
    for number, change in enumerate(changes, 2):  # after the event of its own registration
        change()
        assert len(events) == number
    stop()
    stop()
    classroom.begin_leading("teacher")
    assert len(events) == 1 + len(changes)


def test_the_oldest_excess_listener_is_removed(classroom: Classroom) -> None:
    events: list[tuple[int, bool]] = []

    def listener(number: int) -> Callable[[bool], None]:
        return lambda is_connected: events.append((number, is_connected))

    for number in range(4):
        classroom.listen("ann", listener(number), limit=3)
    assert [event for event in events if not event[1]] == [(0, False)]
    events.clear()
    classroom.set_view_to_follow("teacher", "why", {})
    assert events == [(1, True), (2, True), (3, True)]
    events.clear()
    classroom.end()
    assert events == [(1, False), (2, False), (3, False)]
    classroom.listen("ann", listener(9), limit=3)
    assert events[-1] == (9, False)


def test_concurrent_calls_keep_the_state_consistent(classroom: Classroom) -> None:
    """Students join and answer while the teacher leads; each student's answer is counted once."""
    students = [f"student {number}" for number in range(50)]
    barrier = threading.Barrier(8)

    def visit(part: int) -> None:
        barrier.wait()
        for number, student in enumerate(students[part::8]):
            classroom.join(student)
            stop = classroom.listen(student, lambda is_connected: None, limit=1)
            classroom.set_view_to_follow("teacher", "positions", {"head": f"{part}{number}"})
            classroom.lessons.answer(student, "row", number % 3)
            classroom.lessons.answer(student, "row", (number + 1) % 3)
            classroom.following()
            stop()

    with ThreadPoolExecutor(8) as pool:
        for future in [pool.submit(visit, part) for part in range(8)]:
            future.result()
    assert classroom.lessons.counts("row").total() == 50
    assert len(classroom.members()) == 52
    numbers = [member.number for member in classroom.members()]
    assert numbers == sorted(set(numbers))
