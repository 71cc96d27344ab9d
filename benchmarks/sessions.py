"""Visitors without a browser: they speak to the server as the page's script does, and nothing is
drawn, so that what is measured is the server."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.sync.client import ClientConnection, connect

from transformer.ui.shell.visitor import COOKIE

LARGEST = 64 * 2**20  # bytes of a message


def joined(address: str, path: str, visitor: str = "") -> ClientConnection:
    """A WebSocket of the app, as a browser of this visitor's opens it."""
    url = address.replace("http", "ws", 1) + path
    sent = {"Cookie": f"{COOKIE}={visitor}"} if visitor else None
    return connect(url, max_size=LARGEST, compression=None, additional_headers=sent)


class Session:
    """One visitor's connection to a page of the app.

    Attributes:
        elements: what is on the page, by kind and label, or a component's name or key: the last.
        text: everything that is written there, of the last run.
        received: bytes of all messages so far.
        query: the address's part after "?".
        socket: the connection, to send anything else by.
    """

    def __init__(self, address: str, page: str, query: str = "", visitor: str = "") -> None:
        """`page` is "" or a name such as "attention"; `visitor` the id that their cookie has. Runs
        the page once."""
        self._open = ExitStack()
        self.socket = self._open.enter_context(joined(address, "/_stcore/stream", visitor))
        self.page, self.query = page, query
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
        self._open.close()

    def rerun(self, *changed: WidgetState, trigger: bool = False) -> float:
        """Send the widgets with these changes; milliseconds until the page has run to its end.

        Args:
            trigger: the change is a click, which is not kept.
        """
        for widget in changed:
            self.widgets[widget.id] = widget
        message = BackMsg()
        message.rerun_script.query_string = self.query
        message.rerun_script.page_name = self.page
        message.rerun_script.widget_states.widgets.extend(self.widgets.values())
        began = time.perf_counter()
        self.socket.send(message.SerializeToString())
        self._receive()
        spent = 1000 * (time.perf_counter() - began)
        if trigger:
            for widget in changed:
                del self.widgets[widget.id]
        return spent

    def click(self, label: str) -> float:
        """Press a button; milliseconds until the page has run to its end."""
        button = self.elements["button", label]
        return self.rerun(WidgetState(id=button.id, trigger_value=True), trigger=True)

    def slide(self, label: str, value: float) -> float:
        """Move a slider; milliseconds until the page has run to its end."""
        widget = WidgetState(id=self.elements["slider", label].id)
        widget.double_array_value.data.append(value)
        return self.rerun(widget)

    def fill(self, label: str, text: str) -> None:
        """Type into a field of a form; the next click tells the page."""
        element = self.elements["text_input", label]
        self.widgets[element.id] = WidgetState(id=element.id, string_value=text)

    def data(self, key: str) -> dict[str, Any]:
        """What the component of this key was given, of the last run."""
        data: dict[str, Any] = json.loads(self.elements["bidi_component", key].json)
        return data

    def _receive(self) -> None:
        """Take messages until the script has run to its end; the page is what they say. Raises
        RuntimeError if the script raised."""
        texts: list[str] = []
        while True:
            written = self.socket.recv(timeout=120)
            self.received += len(written)
            message = ForwardMsg.FromString(written)
            kind = message.WhichOneof("type")
            if kind == "page_info_changed":
                self.query = message.page_info_changed.query_string
            elif kind == "delta":
                element = message.delta.new_element
                name = element.WhichOneof("type")
                found = getattr(element, name) if name else None
                if name == "exception":
                    raise RuntimeError(element.exception.message)
                if found is not None:
                    called = getattr(found, "label", "") or getattr(found, "component_name", "")
                    self.elements[name, called] = found
                    if name == "bidi_component":  # its id ends with its key
                        self.elements[name, found.id.rpartition("-")[2]] = found
                    texts.append(getattr(found, "body", "") or getattr(found, "label", ""))
            elif kind == "script_finished":
                if message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                    self.text = "\n".join(texts)
                    return
                if message.script_finished == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
                    raise RuntimeError(f"the page {self.page!r} cannot be compiled")
