"""The connection of a class: a WebSocket that sends news of the class to its pages and takes what
the teacher and the students do.

Server-sent events would not work: a browser opens at most six requests to a server, so a student's
seventh tab would never load, and when the server stops it waits for open requests but closes
WebSockets.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from transformer.api.message_budget import MessageBudget
from transformer.api.visitors import sent_id
from transformer.classroom import Classroom, ClassroomError
from transformer.classroom.lesson_answers import question_key
from transformer.classroom.plan import MAX_OPTION_LENGTH, MAX_SENTENCE_LENGTH, MAX_STATIONS
from transformer.classroom.plan_progress import PlanProgress
from transformer.text.door import (
    Refusal,
    accepts,
    flag,
    read,
    record,
    several,
    table,
    text,
    title,
    whole,
)
from transformer.ui.base.address import PERSONAL_FIELDS
from transformer.ui.base.registry import BY_PATH, CLASS
from transformer.ui.services import live_classes

PATH = "/_class/news"
CLASS_OVER_CODE, REPLACED_CODE = 4001, 4002
"""Close codes after which a browser should not connect again: the visitor is in the class no
longer, or has opened too many tabs."""
RESTART_CODE = 1012
"""Close code when the server stops (RFC 6455, registry of IANA: service restart)."""
REFUSED_CODE = 1008
"""Close code after a message that is not accepted (RFC 6455: policy violation)."""
MAX_TABS = 4
"""Maximum connections of one visitor at the same time; a further one replaces the oldest."""
MESSAGES_PER_SECOND, MESSAGE_BURST = 20, 40
"""Messages that one connection may send: on average, and at once."""
MAX_OPTION = 20
"""Greatest index of an option of a lesson's question."""


@dataclass(frozen=True, kw_only=True)
class TeacherPlace:
    """The teacher's place: a page's path, and the fields of its address."""

    page: str = accepts(title(60))
    params: Mapping[str, str] = accepts(table(text(), 60))


@dataclass(frozen=True, kw_only=True)
class LessonQuestion:
    """The question of a lesson, on a sentence of the teacher's own if it has one."""

    lesson: str = accepts(title(60))
    sentence: str = accepts(title(MAX_SENTENCE_LENGTH), "")

    @property
    def key(self) -> str:
        return question_key(self.lesson, self.sentence)


@dataclass(frozen=True, kw_only=True)
class LessonAnswer(LessonQuestion):
    """A student's answer to a lesson's question."""

    option: int = accepts(whole(0, MAX_OPTION))


@dataclass(frozen=True, kw_only=True)
class ShownLesson(LessonQuestion):
    """A lesson's question whose answers the teacher shows, with its options."""

    options: tuple[str, ...] = accepts(several(title(MAX_OPTION_LENGTH), MAX_OPTION), ())
    correct: int = accepts(whole(0, MAX_OPTION), 0)


@dataclass(frozen=True, kw_only=True)
class ClassMessage:
    """A message of a class's page; it has one of these fields.

    Attributes:
        lead: the teacher has come to this place.
        leading: the teacher leads the class from now on, or no longer.
        show: the teacher shows the answers to this lesson's question.
        station: the teacher goes to this station of the plan, from 0.
        follow: the student follows the teacher from now on, or no longer.
        answer: the student answers a lesson's question.
    """

    lead: TeacherPlace | None = accepts(record(TeacherPlace), None)  # noqa: RUF009 - frozen
    leading: bool | None = accepts(flag(), None)
    show: ShownLesson | None = accepts(record(ShownLesson), None)  # noqa: RUF009 - frozen
    station: int | None = accepts(whole(0, MAX_STATIONS), None)
    follow: bool | None = accepts(flag(), None)
    answer: LessonAnswer | None = accepts(record(LessonAnswer), None)  # noqa: RUF009 - frozen


def route(prefix: str, lessons: Collection[str]) -> WebSocketRoute:
    """Return the route below the app's own path; `lessons` are the names of all lessons."""

    async def connect(socket: WebSocket) -> None:
        await _serve(socket, lessons)

    return WebSocketRoute(f"{prefix}{PATH}", connect)


def news(classroom: Classroom, visitor: str) -> dict[str, Any]:
    """Return the part of the class's state that this visitor's pages need."""
    lessons, view = classroom.lessons.all(), classroom.view_to_follow
    is_teacher = classroom.is_teacher(visitor)
    answers = {}
    for name, (counts, is_shown) in lessons.items():
        answers[name] = {
            "shown": is_shown,
            "answered": classroom.lessons.has_answered(visitor, name),
            **({"count": counts.total()} if is_teacher or is_shown else {}),
            **({"counts": dict(counts)} if is_shown else {}),  # the class sees the teacher's screen
        }
    common = {
        "questions": classroom.measured.changes,
        "leads": classroom.is_leading,
        "ownEngines": classroom.own_engines,
        "answers": answers,
        "plan": plan_news(classroom.progress, is_teacher=is_teacher),
    }
    if is_teacher:
        status = classroom.measured.current
        return {
            "role": "teacher",
            "state": teaching_state(classroom),
            "following": classroom.following(),
            "members": len(classroom.members()),
            "number": view.number if view else 0,
            "question": status and {"number": status.number, "answered": status.answered[-1]},
            **common,
        }
    return {
        "role": "student",
        "state": following_state(classroom, visitor),
        "number": view.number if view else 0,
        "page": view.page if view else "",
        "params": dict(view.params) if view else {},
        **common,
    }


def plan_news(progress: PlanProgress, *, is_teacher: bool) -> dict[str, Any] | None:
    """Return the stations of the plan and where the class is; None for students before it begins.
    The teacher also gets the places of the stations and the seconds since they were entered."""
    plan, current = progress.plan, progress.current
    if plan is None or (current is None and not is_teacher):
        return None
    stations: list[dict[str, Any]] = [
        {"title": station.title, "minutes": station.minutes} for station in plan.stations
    ]
    common = {
        "title": plan.title,
        "stations": stations,
        "station": progress.station,
        "text": current.text if current else "",
    }
    if not is_teacher:
        return common
    for station, entry in zip(plan.stations, stations, strict=True):
        if place := station.place():
            entry |= {"page": place[0], "params": place[1]}
    return {**common, "elapsed": progress.elapsed() if current else (0, 0)}


def following_state(classroom: Classroom, visitor: str) -> str:
    """Return "alone" while nobody leads, or whether the student "follows" or is "away"."""
    if classroom.view_to_follow is None:
        return "alone"
    return "follows" if classroom.follows(visitor) else "away"


def teaching_state(classroom: Classroom) -> str:
    """Return whether the teacher "leads" or lets the students explore "alone"."""
    return "leads" if classroom.is_leading else "alone"


def handle(classroom: Classroom, visitor: str, sent: bytes, lessons: Collection[str]) -> None:
    """Do what a message of this visitor says.

    Raises:
        Refusal: for a message of another shape, an unknown page or lesson, or one that only the
            teacher, or only a student, may send.
    """
    message = read(sent, ClassMessage)
    fields = [name for name, value in vars(message).items() if value is not None]
    if len(fields) != 1:
        raise Refusal(f"A message of a class has one field; this one has {len(fields)}.")
    [field] = fields
    is_for_teacher = field in ("lead", "leading", "show", "station")
    if is_for_teacher != classroom.is_teacher(visitor):
        sender = "the teacher" if is_for_teacher else "a student"
        raise Refusal(f"Only {sender} of a class may send {field}.", 403)
    question = message.show or message.answer
    if question and question.lesson not in lessons:
        raise Refusal("There is no such lesson.")
    if message.lead is not None:
        _lead(classroom, visitor, message.lead)
    elif message.leading is not None:
        set_leading = classroom.begin_leading if message.leading else classroom.stop_leading
        set_leading(visitor)
    elif message.show is not None:
        shown = message.show
        classroom.lessons.show(shown.key, shown.options, shown.correct)
    elif message.station is not None:
        with suppress(ClassroomError):  # too many questions: the class stays where it is
            classroom.progress.go_to(message.station)
    elif message.follow is not None:
        classroom.follow(visitor, message.follow)
    elif message.answer is not None:
        answer = message.answer
        if not answer.sentence or _is_asked(classroom, answer):
            classroom.lessons.answer(visitor, answer.key, answer.option)


def _is_asked(classroom: Classroom, question: LessonQuestion) -> bool:
    """Whether the teacher asks this question about a sentence of their own."""
    plan, view = classroom.progress.plan, classroom.view_to_follow
    asked = {(station.lesson, station.sentence) for station in (plan.stations if plan else ())}
    if view is not None:
        asked.add((view.params.get("lesson", ""), view.params.get("lesson_text", "")))
    return (question.lesson, question.sentence) in asked


def _lead(classroom: Classroom, teacher: str, place: TeacherPlace) -> None:
    file = BY_PATH.get(place.page)
    if file is None:
        raise Refusal("There is no such page.")
    if file == CLASS or "plan" in place.params:  # the teacher's own page, and a plan with answers
        return
    params = {name: value for name, value in place.params.items() if name not in PERSONAL_FIELDS}
    with suppress(ClassroomError):  # the address is too long: the class stays where it is
        classroom.set_view_to_follow(teacher, place.page, params)


async def _serve(socket: WebSocket, lessons: Collection[str]) -> None:
    """Send news and take messages until the visitor leaves the page or the class, or opens too
    many tabs."""
    visitor = sent_id(socket.scope["headers"])
    await socket.accept()
    classroom = live_classes.class_of(visitor)
    if classroom is None:
        await socket.close(CLASS_OVER_CODE)
        return
    sending = asyncio.ensure_future(_send_news(classroom, visitor, socket.send_text))
    receiving = asyncio.ensure_future(_receive(classroom, visitor, socket, lessons))
    try:
        await asyncio.wait({sending, receiving}, return_when=asyncio.FIRST_COMPLETED)
        with suppress(RuntimeError, WebSocketDisconnect):  # the browser has left
            if not receiving.done():
                await socket.close(sending.result())
            elif refused := receiving.result():
                await socket.close(REFUSED_CODE, refused)
    finally:
        for task in (sending, receiving):
            task.cancel()
        await asyncio.gather(sending, receiving, return_exceptions=True)


async def _send_news(
    classroom: Classroom, visitor: str, send: Callable[[str], Awaitable[None]]
) -> int:
    """Send the news at every change, until this connection ends; return its close code."""
    loop, changed, listening = asyncio.get_running_loop(), asyncio.Event(), True

    def on_change(still_listening: bool) -> None:
        nonlocal listening
        listening = listening and still_listening
        with suppress(RuntimeError):  # the server has ended
            loop.call_soon_threadsafe(changed.set)

    stop = classroom.listen(visitor, on_change, MAX_TABS)
    try:
        last_text = ""
        while listening and (classroom.is_teacher(visitor) or classroom.member(visitor)):
            changed.clear()
            sent = json.dumps(news(classroom, visitor))
            if sent != last_text:  # not every change in a class concerns this visitor
                await send(sent)
                last_text = sent
            await changed.wait()
        if classroom.ended or listening:
            return CLASS_OVER_CODE
        return RESTART_CODE if classroom.paused else REPLACED_CODE
    finally:
        stop()


async def _receive(
    classroom: Classroom, visitor: str, socket: WebSocket, lessons: Collection[str]
) -> str:
    """Do what the visitor's messages say, until the visitor disconnects; return why a message was
    refused, "" if none was."""
    budget = MessageBudget(MESSAGES_PER_SECOND, MESSAGE_BURST)
    while True:
        received = await socket.receive()
        if received["type"] == "websocket.disconnect":
            return ""
        if not budget.take():
            return "Too many messages."
        try:
            sent = received.get("text")
            handle(classroom, visitor, (sent or "").encode(), lessons)
        except Refusal as refusal:
            return str(refusal)[:100]
