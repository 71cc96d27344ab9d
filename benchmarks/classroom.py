"""A class of thirty: how soon the students' screens follow the teacher, and how long a student's
own choice of a head takes meanwhile.

    python -m benchmarks.classroom [--students 30] [--minutes 10] [--checkpoints FOLDER]

The teacher and two students have browsers on the same cores as the server. The other students are
sessions without a browser (`tests/websocket_session.py`), one of whom does not follow and opens one
head after another. A time runs from the teacher's click to the change on a student's screen. The
exit status is 1 if a change did not reach a screen.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from playwright.sync_api import Browser, Locator, Page
from streamlit.proto.WidgetStates_pb2 import WidgetState

from benchmarks.harness import option_parser, report
from tests.live_app import ROOT, app_server, chromium
from tests.websocket_session import Session, open_socket
from transformer.api.visitors import new_id
from transformer.ui.services.class_updates import PATH

BROWSERS = 2
TEACHER_TOKEN = "a token for the benchmark"
REPORT_SPREAD = 3.0
"""Seconds within which explorer.js reports a head that the teacher opened, at random."""
PAUSE = 4.0  # seconds between two changes by the teacher
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


@dataclass
class Lecture:
    """Where the students without a browser are, and what they wait for."""

    address: str
    code: str
    joined: threading.Barrier
    ended: threading.Event = field(default_factory=threading.Event)


def follow(lecture: Lecture, number: int) -> None:
    """Join the class and rerun the page after each change by the teacher, until the lesson ends."""
    visitor, query = new_id(), f"code={lecture.code}"
    with ExitStack() as stack:
        session = stack.enter_context(Session(lecture.address, "class", query, visitor))
        session.fill("First name (optional)", f"Student no {number}")
        session.click("Join")
        updates = stack.enter_context(open_socket(lecture.address, PATH, visitor))
        lecture.joined.wait()
        seen = 0
        while not lecture.ended.is_set():
            try:
                message = json.loads(updates.recv(timeout=0.5))
            except TimeoutError:
                continue
            if message["state"] != "follows" or message["number"] <= seen:
                continue
            seen = message["number"]
            if message["page"] == session.page == "":
                time.sleep(random.random() * REPORT_SPREAD)
            session.rerun()
            if message["page"] != session.page:
                session.page, session.widgets = message["page"], {}


def choose_heads(lecture: Lecture, times: list[float]) -> None:
    """Open one head after another in a session that does not follow; add the milliseconds."""
    visitor = new_id()
    with Session(lecture.address, "class", f"code={lecture.code}", visitor) as session:
        session.click("Join")
        session.page = "inside"  # where the teacher is
        session.click("Stop following")
    with Session(lecture.address, "", "depth=heads", visitor) as session:
        lecture.joined.wait()
        number = 0
        while not lecture.ended.wait(1.0):
            number += 1
            explorer = session.elements["bidi_component", "heads_up.explorer"]
            state = {"state": {"layer": number % 6, "head": number % 8, "view": "heatmap"}}
            widget = WidgetState(id=explorer.id, json_value=json.dumps(state))
            times.append(session.rerun(widget))


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


class Lesson:
    """A lesson that measures how soon the students' screens show the teacher's changes.

    Attributes:
        times: milliseconds by kind of change.
        late: changes that did not reach a student's screen within `PAUSE`.
    """

    def __init__(self, teacher: Page, screens: list[Page]) -> None:
        self.teacher, self.screens = teacher, screens
        for page in [teacher, *screens]:
            page.evaluate(RECORD_CHANGES)
        self.times: dict[str, list[float]] = {}
        self.late: list[str] = []

    def change(self, kind: str, target: Locator) -> None:
        """Click and record when the screens show what the teacher's screen shows then."""
        clicked_at = target.evaluate("(node) => { const at = Date.now(); node.click(); return at }")
        self.teacher.wait_for_timeout(1000 * PAUSE)
        [changed_at, shown] = self.teacher.evaluate("window.changes.at(-1)")
        if changed_at < clicked_at:
            raise SystemExit(f"the click on another {kind} changed nothing on the teacher's screen")
        for page in self.screens:
            changes = page.evaluate("window.changes")
            arrivals = [at for at, content in changes if content == shown and at >= clicked_at]
            if arrivals:
                self.times.setdefault(kind, []).append(arrivals[0] - clicked_at)
            else:
                self.late.append(f"another {kind}: {changes[-1][1]!r} instead of {shown!r}")

    def round(self) -> None:
        """Change the page, sentences and heads, as in a lesson."""
        page = self.teacher
        self.change("page", page.get_by_role("link", name="Try", exact=True))
        # Not a change: from the second round on, this depth is open already.
        page.get_by_role("button", name="All heads", exact=True).click()
        page.wait_for_timeout(1000 * PAUSE)
        for number in (1, 2):
            self.change("sentence", page.locator(".hu-glance-examples button").nth(number))
            for _ in range(4):
                cells = page.locator(".hu-mosaic [role=radio][aria-checked=false]")
                self.change("head", cells.nth(random.randrange(cells.count())))
        self.change("page", page.get_by_role("link", name="Look inside", exact=True))

    def report(self) -> None:
        for kind, times in self.times.items():
            report(f"another {kind}, from the click to a student's screen", times, "p95 500")
        report("changes that did not arrive within the pause", [len(self.late)], "0", unit="")
        for text in self.late[:5]:
            print(f"  {text}")


@contextmanager
def other_students(address: str, code: str, count: int) -> Iterator[list[float]]:
    """Students without a browser; yields the times of the one who does not follow."""
    lecture = Lecture(address, code, threading.Barrier(count + 2, timeout=300))
    times: list[float] = []
    with ThreadPoolExecutor(count + 1) as pool:
        runs = [pool.submit(follow, lecture, number) for number in range(count)]
        runs.append(pool.submit(choose_heads, lecture, times))
        try:
            lecture.joined.wait()
            yield times
        finally:
            lecture.ended.set()
    for run in runs:
        run.result()


def run_class(address: str, megabytes: Callable[[], float], students: int, minutes: float) -> bool:
    """Hold a lesson and print the times; return whether every change arrived."""
    with chromium() as browser:
        teacher, code = open_class(browser, address)
        screens = [join(browser, address, code) for _ in range(min(BROWSERS, students))]
        lesson = Lesson(teacher, screens)
        lesson.round()  # so that the sentences are cached
        lesson.times.clear()
        lesson.late.clear()
        with other_students(address, code, students - len(screens)) as choice_times:
            start_mb, end = megabytes(), time.monotonic() + 60 * minutes
            while time.monotonic() < end:
                lesson.round()
    lesson.report()
    report("another head, a student alone (script run)", choice_times, "p95 100")
    report("server at the start", [start_mb], unit="MB")
    report("server at the end", [megabytes()], "1000", unit="MB")
    return not lesson.late


def main() -> None:
    parser = option_parser(__doc__)
    parser.add_argument("--students", type=int, default=30)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--checkpoints", type=Path, default=ROOT / "checkpoints")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        limits = Path(folder) / "limits.toml"
        n_members = options.students + 1
        limits.write_text(f'teacher_token = "{TEACHER_TOKEN}"\nclass_members = {n_members}\n')
        with app_server(
            options.checkpoints, HEADS_UP_RUNS=f"{folder}/runs", HEADS_UP_LIMITS=str(limits)
        ) as (address, server):
            process = psutil.Process(server.pid)
            print(f"{options.students} students, {options.minutes:g} minutes")
            complete = run_class(
                address,
                lambda: process.memory_info().rss / 1e6,
                options.students,
                options.minutes,
            )
    sys.exit(not complete)


if __name__ == "__main__":
    main()
