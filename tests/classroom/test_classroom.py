"""What happens in one class: following, answers, news, and many threads at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from transformer.classroom import Classroom, ClassroomError
from transformer.classroom.classroom import MAX_QUESTIONS, MAX_RECENT_VIEWS, MAX_URL_LENGTH


@pytest.fixture
def room() -> Classroom:
    made = Classroom("K7FA2P", "teacher", "", max_members=60)
    for name in ("ann", "bob"):
        made.join(name, name.title())
    return made


def test_the_newest_view_is_the_one_to_follow(room: Classroom) -> None:
    assert room.lead is None
    room.lead_to("attention", {"head": "3"})
    first = room.lead
    assert first is not None
    assert (first.page, first.params) == ("attention", {"head": "3"})
    room.lead_to("attention", {"head": "3"})  # the same again is no news
    assert room.lead is first
    room.lead_to("attention", {})
    assert room.lead is not None
    assert room.lead.number > first.number
    assert room.was_led_to("attention", {"head": "3"})
    assert room.was_led_to("attention", {})
    assert not room.was_led_to("inside", {})
    for number in range(MAX_RECENT_VIEWS):
        room.lead_to("inside", {"row": f"{number}"})
    assert not room.was_led_to("attention", {})
    room.stop_leading()
    assert room.lead is None
    assert not room.was_led_to("inside", {"row": "1"})
    room.lead_to("inside", {"row": "1"})  # is not heard: nobody leads
    assert room.lead is None
    room.begin_leading()
    room.lead_to("inside", {"row": "1"})
    assert room.lead is not None
    assert room.lead.number > first.number + MAX_RECENT_VIEWS


def test_an_address_has_an_end(room: Classroom) -> None:
    with pytest.raises(ClassroomError, match="exceeds 20,000 characters"):
        room.lead_to("attention", {"text": "x" * MAX_URL_LENGTH})
    assert room.lead is None


def test_who_follows_is_counted_while_they_are_here(room: Classroom) -> None:
    assert room.follows("ann")
    assert not room.follows("teacher")
    assert room.following() == 0
    stop = room.listen("ann", lambda on: None, limit=3)
    room.listen("bob", lambda on: None, limit=3)
    room.listen("bob", lambda on: None, limit=3)  # another tab
    room.listen("teacher", lambda on: None, limit=3)
    assert room.following() == 2
    room.follow("bob", False)
    assert room.following() == 1
    assert not room.follows("bob")
    room.follow("bob", True)
    stop()
    assert room.following() == 1
    room.leave("bob")
    assert room.following() == 0
    room.follow("eve", False)  # who is none of us changes nothing
    assert not room.follows("eve")


def test_the_first_answer_counts_and_nobody_knows_whose_it_is(room: Classroom) -> None:
    room.answer("ann", "umbrella", 2)
    room.answer("ann", "umbrella", 0)
    room.answer("bob", "umbrella", 2)
    room.answer("eve", "umbrella", 1)  # none of us
    room.answer("teacher", "umbrella", 1)
    assert room.answers("umbrella") == {2: 2}
    assert room.answers("row") == {}
    room.leave("ann")
    room.join("ann")
    room.answer("ann", "umbrella", 1)  # not once more
    assert room.answers("umbrella") == {2: 2}
    assert not room.are_shown("umbrella")
    room.show_answers("umbrella")
    assert room.are_shown("umbrella")
    assert room.questions_shown() == {"umbrella"}
    room.join("cleo")
    room.answer("cleo", "umbrella", 0)  # it is known by now
    assert room.answers("umbrella") == {2: 2}
    room.answers("umbrella")[2] = 99  # a copy
    assert room.answers("umbrella") == {2: 2}


def test_questions_are_bounded(room: Classroom) -> None:
    for number in range(2 * MAX_QUESTIONS):
        room.answer("ann", f"question {number}", 0)
        room.show_answers(f"shown {number}")
    assert (
        sum(bool(room.answers(f"question {n}")) for n in range(2 * MAX_QUESTIONS)) == MAX_QUESTIONS
    )
    assert len(room.questions_shown()) == MAX_QUESTIONS


def test_every_change_is_heard_once(room: Classroom) -> None:
    heard: list[str] = []
    stop = room.listen("ann", lambda on: heard.append("x"), limit=3)
    changes = [
        lambda: room.lead_to("why", {}),
        lambda: room.follow("bob", False),
        lambda: room.answer("bob", "row", 1),
        lambda: room.show_answers("row"),
        lambda: room.stop_leading(),
        lambda: room.leave("bob"),
    ]
    for number, change in enumerate(changes, 2):  # its own coming was heard
        change()
        assert len(heard) == number
    stop()
    stop()
    room.begin_leading()
    assert len(heard) == 1 + len(changes)


def test_the_oldest_of_too_many_listeners_goes(room: Classroom) -> None:
    heard: list[tuple[int, bool]] = []

    def listener(number: int) -> Callable[[bool], None]:
        return lambda on: heard.append((number, on))

    for number in range(4):
        room.listen("ann", listener(number), limit=3)
    assert [one for one in heard if not one[1]] == [(0, False)]
    heard.clear()
    room.lead_to("why", {})
    assert heard == [(1, True), (2, True), (3, True)]
    heard.clear()
    room.end()
    assert heard == [(1, False), (2, False), (3, False)]
    room.listen("ann", listener(9), limit=3)
    assert heard[-1] == (9, False)


def test_threads(room: Classroom) -> None:
    """Joining, answering and leading at once: every answer is counted once, in whatever order."""
    everybody = [f"student {number}" for number in range(50)]
    begin = threading.Barrier(8)

    def visit(part: int) -> None:
        begin.wait()
        for number, who in enumerate(everybody[part::8]):
            room.join(who)
            stop = room.listen(who, lambda on: None, limit=1)
            room.lead_to("attention", {"head": f"{part}{number}"})
            room.answer(who, "row", number % 3)
            room.answer(who, "row", (number + 1) % 3)
            room.following()
            stop()

    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(visit, part) for part in range(8)]:
            done.result()
    assert room.answers("row").total() == 50
    assert len(room.members()) == 52
    numbers = [one.number for one in room.members()]
    assert numbers == sorted(set(numbers))
