"""A flood of messages on Streamlit's own WebSocket, and bodies that stop arriving."""

from __future__ import annotations

import asyncio
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
from starlette.types import Message, Receive, Scope, Send

from tests.websocket_session import Session, flood
from transformer.api.visitors import new_id
from transformer.ui.server import stream_guard
from transformer.ui.server.stream_guard import (
    ADDRESS_BURST,
    SOCKET_BURST,
    LateBody,
    StreamGuard,
    body_in_time,
)

SOCKETS, MESSAGES = 6, 1500
SECONDS = 60  # on a busy machine


def test_a_flood_is_closed_and_another_visitor_is_answered(address: str) -> None:
    """`benchmarks.flood` says how soon."""
    with Session(address, "glossary", "", new_id()) as other, ThreadPoolExecutor(1) as pool:
        flooding = pool.submit(flood, address, SOCKETS, MESSAGES)
        answered = 0
        while not flooding.done():
            other.rerun()
            answered += 1
            time.sleep(0.5)  # a flooded address lets everyone of it send less
        assert answered
        assert flooding.result() == [1008] * SOCKETS


def accepted(guard: StreamGuard, address: str, count: int) -> int:
    """Return how many of so many messages from an address an app gets, one at a time, until its
    socket is closed."""
    sent, closed, got = asyncio.Queue(), [], []

    async def receive() -> Message:
        return await sent.get()

    async def send(message: Message) -> None:
        closed.append(message)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        for _ in range(count):
            await sent.put({"type": "websocket.receive", "bytes": b"x"})
            got.append(await receive())
            if got.pop()["type"] == "websocket.disconnect":
                assert closed == [{"type": "websocket.close", "code": 1008}]
                return
            got.append("message")

    asyncio.run(guard.serve(app, address, {"type": "websocket"}, receive, send))
    return len(got)


def test_a_burst_is_noticed_before_its_messages_are_handled() -> None:
    handled = []

    async def receive() -> Message:
        return {"type": "websocket.receive", "bytes": b"x"}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive())["type"] != "websocket.disconnect":
            handled.append("message")
            await asyncio.sleep(0.2)

    async def send(message: Message) -> None:
        handled.append(message["code"])

    asyncio.run(StreamGuard().serve(app, "a", {"type": "websocket"}, receive, send))
    assert 1008 in handled
    assert len(handled) <= 3


def test_budgets_of_a_socket_and_of_an_address() -> None:
    guard = StreamGuard()
    assert accepted(guard, "a", SOCKET_BURST) == SOCKET_BURST
    few = range(SOCKET_BURST, SOCKET_BURST + 10)  # some more are allowed while the test runs
    assert accepted(guard, "a", 2 * SOCKET_BURST) in few
    passed = sum(accepted(guard, "a", 2 * SOCKET_BURST) for _ in range(10))
    assert passed < ADDRESS_BURST
    assert accepted(guard, "b", 2 * SOCKET_BURST) in few


def test_a_body_that_stops_arriving_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_guard, "BODY_PART_SECONDS", 0.05)
    parts: list[Message] = [{"type": "http.request", "body": b"x", "more_body": True}]

    async def receive() -> Message:
        if not parts:
            await asyncio.sleep(60)
        return parts.pop()

    async def run() -> None:
        receive_in_time = body_in_time(receive)
        assert (await receive_in_time())["body"] == b"x"
        with pytest.raises(LateBody):
            await receive_in_time()
        parts.append({"type": "http.request", "body": b"", "more_body": False})
        receive_in_time = body_in_time(receive)
        await receive_in_time()
        with pytest.raises(TimeoutError):  # afterwards a slow page may wait as long as it likes
            await asyncio.wait_for(receive_in_time(), 0.2)

    asyncio.run(run())


@pytest.mark.slow
def test_a_request_whose_body_never_comes_gets_408(address: str) -> None:
    url = urlsplit(address)
    with socket.create_connection((url.hostname, url.port), timeout=SECONDS) as connection:
        connection.sendall(
            f"POST /api/ask/glance HTTP/1.1\r\nHost: {url.netloc}\r\nContent-Length: 100\r\n"
            "Content-Type: application/json\r\n\r\n{".encode()
        )
        assert b" 408 " in connection.recv(1000)
