"""Messages of a class over a real WebSocket, which only its members receive."""

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
from transformer.ui.services.class_updates import CLASS_OVER_CODE, MAX_TABS, PATH


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
        for _ in range(20):
            socket.recv(timeout=30)
    assert socket.close_code is not None
    return socket.close_code


def test_a_change_sends_one_small_message_to_each_member(address: str) -> None:
    teacher, code = open_class(address)
    ann, bob = join_class(address, code), join_class(address, code)
    with (
        open_socket(address, PATH, ann) as ann_socket,
        open_socket(address, PATH, bob) as bob_socket,
    ):
        assert receive(ann_socket)["state"] == receive(bob_socket)["state"] == "alone"
        with Session(address, "inside", "", teacher) as page:
            status = receive(ann_socket)
            assert (status["state"], status["page"]) == ("follows", "inside")
            assert receive(bob_socket) == status
            page.page = "train"
            page.rerun()
            assert receive(ann_socket)["page"] == "train"
            page.rerun()  # nothing has changed
            page.page = "glossary"
            page.rerun()
            message_text = ann_socket.recv(timeout=30)
            assert json.loads(message_text)["page"] == "glossary"
            assert len(message_text) < 300
            assert not [visitor for visitor in (teacher, ann, bob) if visitor in message_text]
        with open_socket(address, PATH, teacher) as teacher_socket:
            update = receive(teacher_socket)
            assert (update["state"], update["following"], update["members"]) == ("leads", 2, 2)
            ann_socket.close()
            assert receive(teacher_socket) == {**update, "following": 1}


def test_a_late_message_of_the_page_before_does_not_end_following(address: str) -> None:
    """While a browser has not displayed the teacher's page yet, it sends messages of the page
    before, whose callbacks the session no longer knows."""
    teacher, code = open_class(address)
    ann = join_class(address, code)
    with (
        Session(address, "glossary", "", teacher),
        Session(address, "glossary", "", ann) as ann_page,
        Session(address, "", "text=Hello.", teacher),
        open_socket(address, PATH, ann) as ann_socket,
    ):
        ann_page.displayed = "glossary"
        for _ in range(3):
            ann_page.rerun()
            assert "Type a sentence and see" in ann_page.text
        ann_page.page = ann_page.displayed = ""
        ann_page.rerun()
        assert receive(ann_socket)["state"] == "follows"
        ann_page.page = "inside"  # a click on a link
        ann_page.rerun()
        assert receive(ann_socket)["state"] == "away"


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


def test_a_socket_that_sends_is_closed(address: str) -> None:
    ann = join_class(address, open_class(address)[1])
    with open_socket(address, PATH, ann) as socket:
        receive(socket)
        socket.send("x" * 100_000)
        assert close_code(socket) == CLASS_OVER_CODE


def test_with_too_many_tabs_the_oldest_is_disconnected(address: str) -> None:
    ann = join_class(address, open_class(address)[1])
    with ExitStack() as sockets:
        tabs = [sockets.enter_context(open_socket(address, PATH, ann)) for _ in range(MAX_TABS)]
        for socket in tabs:
            receive(socket)
        receive(sockets.enter_context(open_socket(address, PATH, ann)))
        assert close_code(tabs[0]) == CLASS_OVER_CODE


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
