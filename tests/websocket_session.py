"""Streamlit sessions without a browser: they send the messages of a browser, so that benchmarks
measure only the server."""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Any, Self

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio import client as async_client
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from transformer.api.visitors import COOKIE, new_id

MAX_MESSAGE_BYTES = 64 * 2**20


def open_socket(address: str, path: str, visitor: str = "") -> ClientConnection:
    """Open a WebSocket of the app with the cookie of this visitor."""
    url = address.replace("http", "ws", 1) + path
    headers = {"Cookie": f"{COOKIE}={visitor}"} if visitor else None
    return connect(url, max_size=MAX_MESSAGE_BYTES, compression=None, additional_headers=headers)


def flood(address: str, sockets: int, messages: int) -> list[int | None]:
    """Send so many reruns on each of some sockets as fast as they can; return the codes with which
    the server closes them, None for a socket that stays open."""
    message = BackMsg()
    message.rerun_script.page_name = "glossary"
    content = message.SerializeToString()
    url = f"{address.replace('http', 'ws', 1)}/_stcore/stream"

    async def flood_one() -> int | None:
        cookie = {"Cookie": f"{COOKIE}={new_id()}"}
        async with async_client.connect(
            url, max_size=MAX_MESSAGE_BYTES, max_queue=None, additional_headers=cookie
        ) as connection:
            with suppress(ConnectionClosed):
                for _ in range(messages):
                    await connection.send(content)
            with suppress(TimeoutError):
                await asyncio.wait_for(connection.wait_closed(), 60)
            return connection.close_code

    async def flood_all() -> list[int | None]:
        return await asyncio.gather(*(flood_one() for _ in range(sockets)))

    return asyncio.run(flood_all())


class Session:
    """One visitor's connection to a page of the app.

    Attributes:
        elements: elements of the page by kind and label, or by a component's name or key.
        text: all text of the page after the last script run.
        received: bytes of all messages so far.
        query: the part of the URL after "?".
        socket: the connection, to send other messages.
    """

    def __init__(self, address: str, page: str, query: str = "", visitor: str = "") -> None:
        """Connect and run the page once. `page` is "" or a name such as "inside"; `visitor` is
        the id in the visitor's cookie."""
        self._connections = ExitStack()
        self.socket = self._connections.enter_context(
            open_socket(address, "/_stcore/stream", visitor)
        )
        self.address, self.page, self.query = address, page, query
        self.widgets: dict[str, WidgetState] = {}
        self.elements: dict[tuple[str, str], Any] = {}
        self.text = ""
        self.received = 0
        self.rerun()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._connections.close()

    def rerun(self, *changed: WidgetState, trigger: bool = False) -> float:
        """Rerun the page with these widget changes; return the milliseconds of the script run.

        Args:
            trigger: whether the change is a click, whose value lasts for one rerun.
        """
        for widget in changed:
            self.widgets[widget.id] = widget
        message = BackMsg()
        message.rerun_script.query_string = self.query
        message.rerun_script.page_name = self.page
        message.rerun_script.widget_states.widgets.extend(self.widgets.values())
        start = time.perf_counter()
        self.socket.send(message.SerializeToString())
        self._receive()
        milliseconds = 1000 * (time.perf_counter() - start)
        if trigger:
            for widget in changed:
                del self.widgets[widget.id]
        return milliseconds

    def click(self, label: str) -> float:
        """Press a button; return the milliseconds of the script run."""
        button = self.elements["button", label]
        return self.rerun(WidgetState(id=button.id, trigger_value=True), trigger=True)

    def fill(self, label: str, text: str) -> None:
        """Type into a field of a form; the next click sends it."""
        element = self.elements["text_input", label]
        self.widgets[element.id] = WidgetState(id=element.id, string_value=text)

    def data(self, key: str) -> dict[str, Any]:
        """Return the data of the component with this key, from the last script run."""
        data: dict[str, Any] = json.loads(self.elements["bidi_component", key].json)
        return data

    def _receive(self) -> None:
        """Receive messages until the script run ends, and update the elements and the text.

        Raises RuntimeError if the script raised an error.
        """
        texts: list[str] = []
        while True:
            raw = self.socket.recv(timeout=120)
            self.received += len(raw)
            message = ForwardMsg.FromString(raw)
            kind = message.WhichOneof("type")
            if kind == "page_info_changed":
                self.query = message.page_info_changed.query_string
            elif kind == "delta":
                element = message.delta.new_element
                name = element.WhichOneof("type")
                value = getattr(element, name) if name else None
                if name == "exception":
                    raise RuntimeError(element.exception.message)
                if value is not None:
                    label = getattr(value, "label", "") or getattr(value, "component_name", "")
                    self.elements[name, label] = value
                    if name == "bidi_component":  # its id ends with its key
                        self.elements[name, value.id.rpartition("-")[2]] = value
                    texts.append(getattr(value, "body", "") or getattr(value, "label", ""))
            elif kind == "script_finished":
                if message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                    self.text = "\n".join(texts)
                    return
                if message.script_finished == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
                    raise RuntimeError(f"the page {self.page!r} cannot be compiled")
