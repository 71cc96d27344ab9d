"""A class of thirty: how soon the students' pages follow the teacher, and how long a student's own
choice of a head takes meanwhile.

    python -m benchmarks.classroom [--students 30] [--minutes 10] [--checkpoints FOLDER]

The teacher and two students have browsers on the same cores, where drawing takes several times as
long as the server's work; the others are sessions without a browser (`tests/websocket_session.py`).
A time runs from the teacher's click to the change in the student's page; for a session, to the end
of its script run or, for a change that a browser draws itself, to the arrival of the message. One
more student does not follow and opens one head after another.
"""

from __future__ import annotations

import json
import random
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import psutil
from playwright.sync_api import Browser, Locator, Page
from streamlit.proto.WidgetStates_pb2 import WidgetState

from benchmarks.harness import option_parser, report
from tests.live_app import ROOT, app_server, chromium
from tests.websocket_session import Session, open_socket
from transformer.api.visitors import new_id
from transformer.figures.state import DEFAULTS
from transformer.ui.services.class_updates import PATH

BROWSERS = 2
TEACHER_TOKEN = "a token for the benchmark"
# Seconds that explorer.js waits before it reports a head that the teacher opened: a fixed time and
# the maximum of a random one.
REPORT_DELAY, REPORT_SPREAD = 0.15, 3.0
PAUSE = 4.0  # seconds between two changes by the teacher
SCREENS = {
    "sessions": "the sessions",
    "teacher": "the teacher's own screen",
    "browser": "a student's screen",
}
FOLLOW_GOAL, HEAD_GOAL = "p95 500", "p95 100"
RECORD_CHANGES = """() => {
  const inView = (selector) => {
    for (const node of document.querySelectorAll(".st-key-explorer *, .st-key-glance *")) {
      const found = node.shadowRoot?.querySelector(selector);
      if (found) return found;
    }
  };
  const content = () => [
    document.querySelector("h1")?.innerText,
    inView(".hu-title")?.textContent,
    inView("textarea")?.value,
  ].join(" | ");
  window.changes = [];
  setInterval(() => {
    if (content() !== window.changes.at(-1)?.[1]) window.changes.push([Date.now(), content()]);
  }, 10);
}"""
"""Records every change of the page's heading, the head's title and the sentence, with its time."""


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


def open_class(browser: Browser, address: str) -> tuple[Page, str]:
    page = browser.new_context().new_page()
    page.set_default_timeout(120_000)
    page.goto(f"{address}/class")
    page.get_by_label("Token", exact=True).fill(TEACHER_TOKEN)
    page.get_by_role("button", name="Open a class").click()
    return page, page.locator(".st-key-class-code").inner_text().replace(" ", "").strip()


def join(browser: Browser, address: str, code: str) -> Page:
    page = browser.new_context().new_page()
    page.set_default_timeout(120_000)
    page.goto(f"{address}/class?code={code}")
    page.get_by_role("button", name="Join").click()
    page.get_by_text("You are in the class of").wait_for()
    return page


def press(target: Locator) -> float:
    """Click and return the time of the click in seconds since 1970."""
    clicked_ms = target.evaluate("(node) => { const at = Date.now(); node.click(); return at; }")
    return float(clicked_ms) / 1e3


class Lesson:
    """A lesson that measures how soon everyone sees the teacher's changes.

    Attributes:
        times: milliseconds by kind of change and by place, a key of `SCREENS`.
        late: number of changes that a student did not see within `PAUSE`.
    """

    def __init__(self, teacher: Page, browsers: list[Page], students: list[Student]) -> None:
        self.teacher, self.browsers, self.students = teacher, browsers, students
        for page in [teacher, *browsers]:
            page.evaluate(RECORD_CHANGES)
        self.times: dict[str, dict[str, list[float]]] = {}
        self.late = 0

    def change(self, kind: str, target: Locator) -> None:
        """Click and record when everyone sees the change."""
        before = [len(student.shown_at) for student in self.students]
        changed_at = press(target)
        self.teacher.wait_for_timeout(1000 * PAUSE)
        times = self.times.setdefault(kind, {screen: [] for screen in SCREENS})
        for student, n_before in zip(self.students, before, strict=True):
            self._add(times["sessions"], [*student.shown_at.values()][n_before:][-1:], changed_at)
        [_, screen] = self.teacher.evaluate("window.changes.at(-1)")
        for page in [self.teacher, *self.browsers]:
            changes = page.evaluate("window.changes")
            shown_at = [ms / 1e3 for ms, content in changes if content == screen]
            arrivals = [at for at in shown_at if at >= changed_at]
            self._add(times["teacher" if page is self.teacher else "browser"], arrivals, changed_at)

    def _add(self, times: list[float], arrivals: list[float], changed_at: float) -> None:
        times += [1000 * (arrival - changed_at) for arrival in arrivals[:1]]
        self.late += not arrivals

    def round(self) -> None:
        """Change the page, sentences and heads, as in a lesson."""
        page = self.teacher
        self.change("page", page.get_by_role("link", name="Try", exact=True))
        self.change("page", page.get_by_role("button", name="All heads", exact=True))
        for number in (1, 2):
            self.change("sentence", page.locator(".hu-glance-examples button").nth(number))
            for _ in range(4):
                cells = page.locator(".hu-mosaic [role=radio][aria-checked=false]")
                self.change("head", cells.nth(random.randrange(cells.count())))
        self.change("page", page.get_by_role("link", name="Look inside", exact=True))

    def warm_up(self) -> None:
        """Run one round without measuring it, so that the sentences are cached."""
        self.round()
        self.times.clear()
        self.late = 0


def join_students(address: str, code: str, count: int) -> list[Student]:
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(lambda number: Student(address, code, number), range(count)))


def run_lesson(lesson: Lesson, address: str, code: str, minutes: float) -> None:
    """Run the lesson for this long, close its sessions and print the times."""
    independent_student = IndependentStudent(address, code)
    independent_student.start()
    end = time.monotonic() + 60 * minutes
    while time.monotonic() < end:
        lesson.round()
    independent_student.close()
    for student in lesson.students:
        student.close()
    for kind, times_by_place in lesson.times.items():
        for screen, times in times_by_place.items():
            report(f"another {kind}, from the click to {SCREENS[screen]}", times, FOLLOW_GOAL)
    report("another head, a student alone (script run)", independent_student.times, HEAD_GOAL)
    errors = [text for student in lesson.students for text in student.errors]
    report("changes that did not arrive within the pause", [lesson.late], unit="")
    report("pages that showed another view than the teacher", [len(errors)], unit="")
    for text in errors[:3]:
        print(f"  {text}")


def main(students: int, minutes: float, checkpoints: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        limits = Path(folder) / "limits.toml"
        limits.write_text(f'teacher_token = "{TEACHER_TOKEN}"\nclass_members = {students + 1}\n')
        with app_server(
            checkpoints, HEADS_UP_RUNS=f"{folder}/runs", HEADS_UP_LIMITS=str(limits)
        ) as (address, server):
            memory = psutil.Process(server.pid).memory_info
            print(f"{students} students, {minutes:g} minutes")
            with chromium() as browser:
                teacher, code = open_class(browser, address)
                pages = [join(browser, address, code) for _ in range(min(BROWSERS, students))]
                lesson = Lesson(teacher, pages, join_students(address, code, students - len(pages)))
                lesson.warm_up()
                start_mb = memory().rss / 1e6
                run_lesson(lesson, address, code, minutes)
            end_mb = memory().rss / 1e6
    report("server at the start", [start_mb], unit="MB")
    report("server at the end", [end_mb], "1000", unit="MB")


if __name__ == "__main__":
    parser = option_parser(__doc__)
    parser.add_argument("--students", type=int, default=30)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--checkpoints", type=Path, default=ROOT / "checkpoints")
    options = parser.parse_args()
    main(options.students, options.minutes, options.checkpoints)
