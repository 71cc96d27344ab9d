"""News and messages of a class over a real WebSocket, which only its members may use."""

from __future__ import annotations

import json
from contextlib import ExitStack, suppress
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from tests.ui.conftest import TEACHER_TOKEN
from tests.websocket_session import Session, open_socket
from transformer.api.visitors import COOKIE, new_id
from transformer.ui.services.class_updates import (
    CLASS_OVER_CODE,
    MAX_TABS,
    MESSAGE_BURST,
    PATH,
    REFUSED_CODE,
    REPLACED_CODE,
)


def open_class(address: str) -> tuple[str, str]:
    """Open a class; return its teacher's id and its code."""
    teacher = new_id()
    with Session(address, "class", "", teacher) as page:
        page.fill("Token", TEACHER_TOKEN)
        page.click("Open a class")
        code = next(line for line in page.text.splitlines() if len(line) == 7 and line[3] == " ")
    return teacher, code.replace(" ", "")


def join_class(address: str, code: str) -> str:
    visitor_id = new_id()
    with Session(address, "class", f"code={code}", visitor_id) as page:
        page.click("Join")
        assert "You are in the class of" in page.text
    return visitor_id


def receive(socket: ClientConnection) -> dict[str, Any]:
    return dict(json.loads(socket.recv(timeout=30)))


def close_code(socket: ClientConnection) -> int:
    with suppress(ConnectionClosed):
        for _ in range(200):
            socket.recv(timeout=30)
    assert socket.close_code is not None
    return socket.close_code


def send(socket: ClientConnection, **message: Any) -> None:
    socket.send(json.dumps(message))


def test_the_teachers_place_is_one_small_message_to_each_student(address: str) -> None:
    teacher, code = open_class(address)
    ann, bob = join_class(address, code), join_class(address, code)
    with (
        open_socket(address, PATH, ann) as ann_socket,
        open_socket(address, PATH, bob) as bob_socket,
        open_socket(address, PATH, teacher) as teacher_socket,
    ):
        assert receive(ann_socket)["state"] == receive(bob_socket)["state"] == "alone"
        first = receive(teacher_socket)
        assert (first["role"], first["state"], first["members"]) == ("teacher", "leads", 2)
        send(teacher_socket, lead={"page": "inside", "params": {"head": "3", "exact": "1"}})
        status = receive(ann_socket)
        assert (status["state"], status["page"]) == ("follows", "inside")
        assert status["params"] == {"head": "3"}  # "exact" is each student's own choice
        assert receive(bob_socket) == status
        send(teacher_socket, lead={"page": "inside", "params": {"head": "3"}})  # no change
        send(teacher_socket, lead={"page": "class", "params": {}})  # the teacher's own page
        send(teacher_socket, lead={"page": "glossary", "params": {}})
        message_text = ann_socket.recv(timeout=30)
        assert json.loads(message_text)["page"] == "glossary"
        assert len(message_text) < 300
        assert not [visitor for visitor in (teacher, ann, bob) if visitor in message_text]

        send(bob_socket, follow=False)
        while receive(teacher_socket)["following"] != 1:
            pass
        assert receive(bob_socket)["page"] == "glossary"
        assert receive(bob_socket)["state"] == "away"
        send(teacher_socket, leading=False)
        assert (receive(ann_socket)["state"], receive(bob_socket)["state"]) == ("alone", "alone")


def test_answers_to_a_lesson_are_sealed_until_the_teacher_shows_them(address: str) -> None:
    teacher, code = open_class(address)
    ann = join_class(address, code)
    with (
        open_socket(address, PATH, ann) as ann_socket,
        open_socket(address, PATH, teacher) as teacher_socket,
    ):
        assert receive(ann_socket)["answers"] == {}
        receive(teacher_socket)
        invented = {"lesson": "umbrella", "sentence": "Nobody asked this.", "option": 1}
        send(ann_socket, answer=invented)  # a sentence that is not the teacher's
        send(ann_socket, answer={"lesson": "umbrella", "option": 1})
        send(ann_socket, answer={"lesson": "umbrella", "option": 0})  # only the first one counts
        sealed = {"umbrella": {"shown": False, "answered": True}}
        assert receive(ann_socket)["answers"] == sealed
        assert receive(teacher_socket)["answers"] == {
            "umbrella": {"shown": False, "answered": False, "count": 1}
        }
        send(teacher_socket, show={"lesson": "umbrella", "options": ["her", "his"]})
        shown = {"shown": True, "answered": True, "count": 1, "counts": {"1": 1}}
        assert receive(ann_socket)["answers"] == {"umbrella": shown}


@pytest.mark.parametrize(
    "message",
    [
        "",
        "no JSON",
        "[]",
        "{}",
        '{"follow": 1}',
        '{"follow": true, "answer": {"lesson": "umbrella", "option": 0}}',
        '{"leading": true}',
        '{"lead": {"page": "inside", "params": {}}}',
        '{"show": {"lesson": "umbrella"}}',
        '{"station": 0}',
        '{"answer": {"lesson": "no such lesson", "option": 0}}',
        '{"answer": {"lesson": "umbrella", "option": -1}}',
        '{"answer": {"lesson": "umbrella", "option": NaN}}',
        '{"answer": {"lesson": "\\ud800", "option": 0}}',
        '{"answer": ' * 10_000,
        "x" * 100_000,
        b"\xff",
    ],
    ids=range(17),
)
def test_a_student_who_sends_anything_else_is_disconnected(
    address: str, message: str | bytes
) -> None:
    ann = join_class(address, open_class(address)[1])
    with open_socket(address, PATH, ann) as socket:
        before = receive(socket)
        socket.send(message)
        assert close_code(socket) == REFUSED_CODE
    with open_socket(address, PATH, ann) as socket:
        assert receive(socket) == before


@pytest.mark.parametrize(
    "message",
    [
        '{"lead": {"page": "https://evil.example", "params": {}}}',
        '{"lead": {"page": "inside", "params": {"text": 1}}}',
        '{"lead": {"page": "inside"}}',
        '{"follow": true}',
    ],
)
def test_a_teacher_leads_to_pages_of_this_app_only(address: str, message: str) -> None:
    teacher, _ = open_class(address)
    with open_socket(address, PATH, teacher) as socket:
        receive(socket)
        socket.send(message)
        assert close_code(socket) == REFUSED_CODE


def test_too_many_messages_end_the_connection(address: str) -> None:
    ann = join_class(address, open_class(address)[1])
    with open_socket(address, PATH, ann) as socket:
        receive(socket)
        with suppress(ConnectionClosed):
            for number in range(4 * MESSAGE_BURST):
                send(socket, follow=bool(number % 2))
        assert close_code(socket) == REFUSED_CODE


@pytest.mark.parametrize(
    "visitor", ["", "nobody", new_id()], ids=["no id", "invalid id", "in no class"]
)
def test_visitors_outside_a_class_get_no_messages(address: str, visitor: str) -> None:
    with open_socket(address, PATH, visitor) as socket:
        assert close_code(socket) == CLASS_OVER_CODE


def test_a_page_of_another_site_gets_no_messages(address: str) -> None:
    ann = join_class(address, open_class(address)[1])
    url = address.replace("http", "ws", 1) + PATH
    cookie = {"Cookie": f"{COOKIE}={ann}"}
    other_site = Origin("https://evil.example")
    with pytest.raises(InvalidStatus), connect(url, origin=other_site, additional_headers=cookie):
        pass
    with connect(url, origin=Origin(address), additional_headers=cookie) as socket:
        assert receive(socket)["state"] == "alone"


def test_with_too_many_tabs_the_oldest_is_disconnected(address: str) -> None:
    ann = join_class(address, open_class(address)[1])
    with ExitStack() as sockets:
        tabs = [sockets.enter_context(open_socket(address, PATH, ann)) for _ in range(MAX_TABS)]
        for socket in tabs:
            receive(socket)
        receive(sockets.enter_context(open_socket(address, PATH, ann)))
        assert close_code(tabs[0]) == REPLACED_CODE


def test_closing_the_class_is_sent_and_former_members_get_nothing(address: str) -> None:
    teacher, code = open_class(address)
    ann, bob = join_class(address, code), join_class(address, code)
    with (
        open_socket(address, PATH, ann) as ann_socket,
        open_socket(address, PATH, bob) as bob_socket,
    ):
        receive(ann_socket)
        receive(bob_socket)
        with Session(address, "class", "", bob) as page:
            page.click("Leave the class")
        assert close_code(bob_socket) == CLASS_OVER_CODE
        with Session(address, "class", "", teacher) as page:
            page.click("End the class")
        assert close_code(ann_socket) == CLASS_OVER_CODE
