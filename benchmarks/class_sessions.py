"""A class without browsers: a teacher, students who follow, and a student who works alone, all as
sessions (`sessions.py`)."""

from __future__ import annotations

import json
import random
import threading
import time
from contextlib import ExitStack
from typing import Any
from urllib.parse import parse_qsl, urlencode

from streamlit.proto.WidgetStates_pb2 import WidgetState

from benchmarks.sessions import Session, joined
from transformer.figures.state import DEFAULTS
from transformer.ui.shell.class_news import PATH
from transformer.ui.shell.visitor import new_id

TOKEN = "a token for the benchmark"
# Seconds that explorer.js waits before it reports a head that the teacher opened.
QUIET, SPREAD = 0.15, 3.0


class Teacher:
    """Opens a class and leads it."""

    def __init__(self, address: str) -> None:
        self.session = Session(address, "class", "", new_id())
        self.session.fill("Token", TOKEN)
        self.session.click("Open a class")
        lines = self.session.text.splitlines()
        code = next(line for line in lines if len(line) == 7 and line[3] == " ")
        self.code = code.replace(" ", "")
        self.params: dict[str, str] = {}

    def go(self, page: str, **params: object) -> float:
        """Open another view; return the time of the request in seconds since 1970."""
        if page != self.session.page:
            self.session.page, self.session.widgets, self.params = page, {}, {}
        self.params |= {name: str(value) for name, value in params.items()}
        self.session.query = urlencode(self.params)
        at = time.time()
        self.session.rerun()
        return at

    def close(self) -> None:
        self.session.__exit__(None, None, None)


class Student:
    """A student without a browser, who follows the teacher in a thread."""

    def __init__(self, address: str, code: str, number: int) -> None:
        visitor = new_id()
        self.session = Session(address, "class", f"code={code}", visitor)
        self.session.fill("First name (optional)", f"Student no {number}")
        self.session.click("Join")
        self._open = ExitStack()
        self.news = self._open.enter_context(joined(address, PATH, visitor))
        self.at: dict[str, Any] = {"number": 0, "page": "class", "params": {}}
        self.drawn: dict[int, float] = {}  # time when each change was on screen, by its number
        self.wrong: list[str] = []
        self._report = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        while not self._over.is_set():
            try:
                message = json.loads(self.news.recv(timeout=0.05))
            except TimeoutError:
                if self._report and time.time() > self._report:
                    self._report = 0.0
                    self._tell()
                continue
            if message["state"] == "follows" and message["number"] > self.at["number"]:
                self._go(message)

    def _go(self, message: dict[str, Any]) -> None:
        same_view = (
            message["page"] == self.at["page"] == "attention" and "head" in message["params"]
        )
        if same_view and _rest(message["params"]) == _rest(self.at["params"]):
            self.drawn[message["number"]] = time.time()
            self._report = time.time() + QUIET + random.random() * SPREAD
        else:
            self.session.rerun()
            self.drawn[message["number"]] = time.time()
            if message["page"] != self.session.page:
                self.session.page, self.session.widgets = message["page"], {}
            self._compare(message)
        self.at = message

    def _tell(self) -> None:
        """The explorer reports the head that it was led to."""
        state = {name: self.at["params"].get(name, value) for name, value in DEFAULTS.items()}
        explorer = self.session.elements["bidi_component", "heads_up.explorer"]
        self.session.rerun(WidgetState(id=explorer.id, json_value=json.dumps({"state": state})))
        self._compare(self.at)

    def _compare(self, message: dict[str, Any]) -> None:
        drawn = dict(parse_qsl(self.session.query))
        if drawn != message["params"]:
            self.wrong.append(f"was led to {message['params']} and shows {drawn}")

    def close(self) -> None:
        self._over.set()
        self._thread.join(30)
        self._open.close()
        self.session.__exit__(None, None, None)


def _rest(params: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in params.items() if name not in DEFAULTS}


class Outsider(threading.Thread):
    """A student on their own, who looks at one head after the other."""

    def __init__(self, address: str, code: str) -> None:
        super().__init__(daemon=True)
        visitor = new_id()
        with Session(address, "class", f"code={code}", visitor) as session:
            session.click("Join")
            session.page = "inside"  # the class was led there
            session.click("Stop following")
        self._session = Session(address, "attention", "", visitor)
        self._over = threading.Event()
        self.times: list[float] = []

    def run(self) -> None:
        number = 0
        while not self._over.wait(1.0):
            number += 1
            explorer = self._session.elements["bidi_component", "heads_up.explorer"]
            state = {"state": {"layer": number % 6, "head": number % 8, "view": "heatmap"}}
            widget = WidgetState(id=explorer.id, json_value=json.dumps(state))
            self.times.append(self._session.rerun(widget))

    def close(self) -> None:
        self._over.set()
        self.join(30)
        self._session.__exit__(None, None, None)
