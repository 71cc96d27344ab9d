"""Limits of the gate on what a browser sends: messages of a session, and the time of a body."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from transformer.api.message_budget import MessageBudget

UNSUPPORTED_DATA = 1003
POLICY_VIOLATION = 1008
"""Close codes of a WebSocket: for a kind of message that is not accepted, and for too many
messages (RFC 6455)."""
SOCKET_PER_SECOND, SOCKET_BURST = 20, 100
"""Messages of one socket of Streamlit's sessions: on average, and at once. A rerun costs the
server's one event loop about 2 ms before the page's script even begins."""
ADDRESS_PER_SECOND, ADDRESS_BURST = 150, 300
"""The same for all sockets of one address, such as a class behind one router."""
MAX_ADDRESSES = 1000
MAX_QUEUED_BYTES = 1_000_000
"""Bytes of the messages of a socket from which no further one is read."""
BODY_PART_SECONDS, BODY_SECONDS = 20, 120
"""Maximum seconds until the next part of a request's body, and until its end."""


class StreamGuard:
    """Passes on the messages of Streamlit's sessions, and closes sockets that send texts or too
    many messages.

    Messages are counted when they arrive, before Streamlit handles the first of them: reruns of a
    few sessions keep its event loop so busy that it would notice a flood late.
    """

    def __init__(self) -> None:
        self._by_address: OrderedDict[str, MessageBudget] = OrderedDict()

    async def serve(
        self, app: ASGIApp, address: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Let `app` answer a WebSocket from this address."""
        messages = _Messages()

        async def send_if_open(message: Message) -> None:
            if not messages.is_closed:
                await send(message)

        reading = asyncio.create_task(self._read(messages, address, receive, send))
        try:
            await app(scope, messages.get, send_if_open)
        finally:
            reading.cancel()

    async def _read(self, messages: _Messages, address: str, receive: Receive, send: Send) -> None:
        budget = MessageBudget(SOCKET_PER_SECOND, SOCKET_BURST)
        while True:
            message = await receive()
            if message["type"] == "websocket.receive":
                # Streamlit expects bytes only, and logs a traceback for each text.
                if message.get("bytes") is None:
                    return await messages.close(UNSUPPORTED_DATA, send)
                if not (budget.take() and self._budget(address).take()):
                    return await messages.close(POLICY_VIOLATION, send)
            await messages.put(message)

    def _budget(self, address: str) -> MessageBudget:
        budget = self._by_address.pop(address, None)
        if budget is None:
            budget = MessageBudget(ADDRESS_PER_SECOND, ADDRESS_BURST)
        self._by_address[address] = budget
        while len(self._by_address) > MAX_ADDRESSES:
            self._by_address.popitem(last=False)
        return budget


class _Messages:
    """Messages of a socket that have arrived and wait for Streamlit."""

    def __init__(self) -> None:
        self.is_closed = False
        self._queue: asyncio.Queue[Message] = asyncio.Queue()
        self._bytes, self._has_room = 0, asyncio.Event()

    async def put(self, message: Message) -> None:
        """Add a message; wait while those before are large."""
        while self._bytes > MAX_QUEUED_BYTES:
            self._has_room.clear()
            await self._has_room.wait()
        self._bytes += len(message.get("bytes") or b"")
        self._queue.put_nowait(message)

    async def get(self) -> Message:
        message = await self._queue.get()
        self._bytes -= len(message.get("bytes") or b"")
        self._has_room.set()
        return message

    async def close(self, code: int, send: Send) -> None:
        """Close the socket; what has arrived is forgotten."""
        self.is_closed = True
        while not self._queue.empty():
            self._queue.get_nowait()
        self._queue.put_nowait({"type": "websocket.disconnect", "code": code})
        await send({"type": "websocket.close", "code": code})


class LateBody(Exception):
    """The body of a request did not arrive in time."""


def body_in_time(receive: Receive) -> Receive:
    """Return the function that receives a request; it raises LateBody for a body that stops
    arriving. Waiting for the end of the connection, after the body, has no limit."""
    has_ended, until = False, time.monotonic() + BODY_SECONDS

    async def receive_in_time() -> Message:
        nonlocal has_ended
        if has_ended:
            return await receive()
        try:
            async with asyncio.timeout(min(BODY_PART_SECONDS, until - time.monotonic())):
                message = await receive()
        except TimeoutError:
            raise LateBody from None
        has_ended = not message.get("more_body", False)
        return message

    return receive_in_time
