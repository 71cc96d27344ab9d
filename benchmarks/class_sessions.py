"""A class without browsers: a teacher, students who follow, and a student who does not, all as
sessions (`tests/websocket_session.py`)."""

from __future__ import annotations

import json
import random
import threading
import time
from contextlib import ExitStack
from typing import Any
from urllib.parse import parse_qsl, urlencode

from streamlit.proto.WidgetStates_pb2 import WidgetState

from tests.websocket_session import Session, open_socket
from transformer.figures.state import DEFAULTS
from transformer.ui.base.visitor import new_id
from transformer.ui.services.class_updates import PATH

TEACHER_TOKEN = "a token for the benchmark"
# Seconds that explorer.js waits before it reports a head that the teacher opened: a fixed time and
# the maximum of a random one.
REPORT_DELAY, REPORT_SPREAD = 0.15, 3.0


class Teacher:
    """Opens a class and leads it."""

    def __init__(self, address: str) -> None:
        self.session = Session(address, "class", "", new_id())
        self.session.fill("Token", TEACHER_TOKEN)
        self.session.click("Open a class")
        lines = self.session.text.splitlines()
        code = next(line for line in lines if len(line) == 7 and line[3] == " ")
        self.code = code.replace(" ", "")
        self.params: dict[str, str] = {}

    def open_view(self, page: str, **params: object) -> float:
        """Open a view; return the time of the request in seconds since 1970."""
        if page != self.session.page:
            self.session.page, self.session.widgets, self.params = page, {}, {}
        self.params |= {name: str(value) for name, value in params.items()}
        self.session.query = urlencode(self.params)
        requested_at = time.time()
        self.session.rerun()
        return requested_at

    def close(self) -> None:
        self.session.__exit__(None, None, None)


class Student:
    """A student who follows the teacher in a thread.

    Attributes:
        message: the last message about the teacher's view.
        shown_at: time at which each change was on screen, by the number of its message.
        errors: sentences about pages that showed another view.
    """

    def __init__(self, address: str, code: str, number: int) -> None:
        visitor = new_id()
        self.session = Session(address, "class", f"code={code}", visitor)
        self.session.fill("First name (optional)", f"Student no {number}")
        self.session.click("Join")
        self._connections = ExitStack()
        self.updates = self._connections.enter_context(open_socket(address, PATH, visitor))
        self.message: dict[str, Any] = {"number": 0, "page": "class", "params": {}}
        self.shown_at: dict[int, float] = {}
        self.errors: list[str] = []
        self._report_at = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        while not self._stop.is_set():
            try:
                message = json.loads(self.updates.recv(timeout=0.05))
            except TimeoutError:
                if self._report_at and time.time() > self._report_at:
                    self._report_at = 0.0
                    self._report_head()
                continue
            if message["state"] == "follows" and message["number"] > self.message["number"]:
                self._follow_message(message)

    def _follow_message(self, message: dict[str, Any]) -> None:
        previous, params = self.message, message["params"]
        same_page = message["page"] == previous["page"] == "" and "head" in params
        if same_page and _outside_explorer(params) == _outside_explorer(previous["params"]):
            self.shown_at[message["number"]] = time.time()
            self._report_at = time.time() + REPORT_DELAY + random.random() * REPORT_SPREAD
        else:
            self.session.rerun()
            self.shown_at[message["number"]] = time.time()
            if message["page"] != self.session.page:
                self.session.page, self.session.widgets = message["page"], {}
            self._check_view(message)
        self.message = message

    def _report_head(self) -> None:
        """Report the head that the teacher opened, as the explorer does."""
        params = self.message["params"]
        state = {name: params.get(name, value) for name, value in DEFAULTS.items()}
        explorer = self.session.elements["bidi_component", "heads_up.explorer"]
        self.session.rerun(WidgetState(id=explorer.id, json_value=json.dumps({"state": state})))
        self._check_view(self.message)

    def _check_view(self, message: dict[str, Any]) -> None:
        actual = dict(parse_qsl(self.session.query))
        if actual != message["params"]:
            self.errors.append(f"the page shows {actual} instead of {message['params']}")

    def close(self) -> None:
        self._stop.set()
        self._thread.join(30)
        self._connections.close()
        self.session.__exit__(None, None, None)


def _outside_explorer(params: dict[str, str]) -> dict[str, str]:
    """Return the parameters that are not part of the explorer's state."""
    return {name: value for name, value in params.items() if name not in DEFAULTS}


class IndependentStudent(threading.Thread):
    """A student who does not follow the teacher and opens one head after another."""

    def __init__(self, address: str, code: str) -> None:
        super().__init__(daemon=True)
        visitor = new_id()
        with Session(address, "class", f"code={code}", visitor) as session:
            session.click("Join")
            session.page = "inside"  # where the teacher is
            session.click("Stop following")
        self._session = Session(address, "", "depth=heads", visitor)
        self._stop_event = threading.Event()
        self.times: list[float] = []

    def run(self) -> None:
        number = 0
        while not self._stop_event.wait(1.0):
            number += 1
            explorer = self._session.elements["bidi_component", "heads_up.explorer"]
            state = {"state": {"layer": number % 6, "head": number % 8, "view": "heatmap"}}
            widget = WidgetState(id=explorer.id, json_value=json.dumps(state))
            self.times.append(self._session.rerun(widget))

    def close(self) -> None:
        self._stop_event.set()
        self.join(30)
        self._session.__exit__(None, None, None)
