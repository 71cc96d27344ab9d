"""A class of thirty: how soon pages follow their teacher's, and what another head costs meanwhile.

    python -m benchmarks.classroom [--students 30] [--minutes 10] [--checkpoints FOLDER]

The teacher and two students have a real browser; what counts there is the time from the teacher's
click until the student's page shows it. The other students speak to the server as the page's
script does (`sessions.py`), for thirty browsers would be what is measured: theirs is the time until
the news has come where the page draws it itself, or else until the page has run to its end. One
more student is on their own, and looks at one head after the other.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import psutil
from playwright.sync_api import Browser, Locator, Page
from streamlit.proto.WidgetStates_pb2 import WidgetState

from benchmarks.browser import ROOT, chromium, served, settled, unfold
from benchmarks.sessions import Session, joined
from transformer.figures.state import DEFAULTS
from transformer.ui.server.class_news import PATH
from transformer.ui.server.visitor import new_id

BROWSERS = 2
TOKEN = "a token for the benchmark"
PAUSE = 4.0  # seconds between two changes of the teacher's
QUIET, SPREAD = (
    0.15,
    3.0,
)  # seconds: as explorer.js waits before it reports a head that it was led to
FOLLOW, HEAD = 500.0, 100.0  # ms that are wanted at the 95th percentile
MEMORY = 1_000  # MB that are wanted
SEEN = """() => {
  const deep = (root, what) => {
    for (const one of root.querySelectorAll("*")) {
      if (one.matches(what)) return one;
      const inner = one.shadowRoot && deep(one.shadowRoot, what);
      if (inner) return inner;
    }
  };
  const typed = () => [...document.querySelectorAll("input, textarea")].map((field) => field.value);
  const title = () => deep(document, ".hu-title")?.textContent;
  const now = () => [document.querySelector("h1")?.innerText, title(), ...typed()].join(" | ");
  window.seen = [];
  setInterval(() => {
    if (now() !== window.seen.at(-1)?.[1]) window.seen.push([Date.now(), now()]);
  }, 10);
}"""
"""Keeps when a page showed what: its heading, the head's title and the sentence."""


class Student:
    """One of the class without a browser, on a thread of its own."""

    def __init__(self, address: str, code: str, number: int) -> None:
        visitor = new_id()
        self.session = Session(address, "class", f"code={code}", visitor)
        self.session.fill("First name (if you like)", f"Student no {number}")
        self.session.click("Join")
        self._open = ExitStack()
        self.news = self._open.enter_context(joined(address, PATH, visitor))
        self.at: dict[str, Any] = {"number": 0, "page": "class", "params": {}}
        self.drawn: dict[int, float] = {}  # by the lead's number, when it was on the screen
        self.wrong: list[str] = []
        self._report = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        while not self._over.is_set():
            try:
                told = json.loads(self.news.recv(timeout=0.05))
            except TimeoutError:
                if self._report and time.time() > self._report:
                    self._report = 0.0
                    self._tell()
                continue
            if told["state"] == "follows" and told["number"] > self.at["number"]:
                self._go(told)

    def _go(self, told: dict[str, Any]) -> None:
        here = told["page"] == self.at["page"] == "attention" and "head" in told["params"]
        if here and _rest(told["params"]) == _rest(self.at["params"]):
            self.drawn[told["number"]] = time.time()
            self._report = time.time() + QUIET + random.random() * SPREAD
        else:
            self.session.rerun()
            self.drawn[told["number"]] = time.time()
            if told["page"] != self.session.page:
                self.session.page, self.session.widgets = told["page"], {}
            self._compare(told)
        self.at = told

    def _tell(self) -> None:
        """The explorer reports the head that it was led to."""
        state = {name: self.at["params"].get(name, value) for name, value in DEFAULTS.items()}
        explorer = self.session.elements["bidi_component", "heads_up.explorer"]
        self.session.rerun(WidgetState(id=explorer.id, json_value=json.dumps({"state": state})))
        self._compare(self.at)

    def _compare(self, told: dict[str, Any]) -> None:
        shown = dict(parse_qsl(self.session.query))
        if shown != told["params"]:
            self.wrong.append(f"was led to {told['params']} and shows {shown}")

    def close(self) -> None:
        self._over.set()
        self._thread.join(30)
        self._open.close()
        self.session.__exit__(None, None, None)


def _rest(params: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in params.items() if name not in DEFAULTS}


class Wanderer(threading.Thread):
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


def open_class(browser: Browser, address: str) -> tuple[Page, str]:
    page = browser.new_context().new_page()
    page.set_default_timeout(120_000)
    page.goto(f"{address}/class")
    unfold(page, "I am the teacher")
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Open a class").click()
    return page, page.locator(".st-key-class-code").inner_text().replace(" ", "").strip()


def join(browser: Browser, address: str, code: str) -> Page:
    page = browser.new_context().new_page()
    page.set_default_timeout(120_000)
    page.goto(f"{address}/class?code={code}")
    page.get_by_role("button", name="Join").click()
    page.get_by_text("You are in the class of").wait_for()
    return page


def press(what: Locator) -> float:
    """A click, and when it was made: seconds since 1970."""
    return (
        float(what.evaluate("(node) => { const at = Date.now(); node.click(); return at; }")) / 1e3
    )


class Lesson:
    """What the teacher does, and how soon everybody sees it."""

    def __init__(self, teacher: Page, browsers: list[Page], students: list[Student]) -> None:
        self.teacher, self.browsers, self.students = teacher, browsers, students
        self.times: dict[str, dict[str, list[float]]] = {}
        self.late = 0

    def change(self, kind: str, act: Callable[[], float]) -> None:
        before = {id(one): len(one.drawn) for one in self.students}
        at = act()
        self.teacher.wait_for_timeout(1000 * PAUSE)
        [_, shown] = self.teacher.evaluate("window.seen.at(-1)")
        found = self.times.setdefault(kind, {"teacher": [], "browser": [], "server": []})
        for page in [self.teacher, *self.browsers]:
            seen = [when for when, what in page.evaluate("window.seen") if what == shown]
            first = [when / 1e3 - at for when in seen if when / 1e3 >= at]
            where = found["teacher" if page is self.teacher else "browser"]
            where += [1000 * first[0]] if first else []
            self.late += not first
        for one in self.students:
            drawn = [*one.drawn.values()][before[id(one)] :]
            found["server"] += [1000 * (drawn[-1] - at)] if drawn else []
            self.late += not drawn

    def round(self) -> None:
        """A page, sentences and heads, as in a lesson."""
        page = self.teacher
        self.change("page", lambda: press(page.get_by_role("link", name="Attention", exact=True)))
        for number in (1, 2):
            pill = page.locator("[data-testid=stButtonGroup] button").nth(number)
            self.change("sentence", lambda pill=pill: press(pill))  # type: ignore[misc]
            for _ in range(4):
                cells = page.locator(".hu-mosaic [role=radio][aria-checked=false]")
                cell = cells.nth(random.randrange(cells.count()))
                self.change("head", lambda cell=cell: press(cell))  # type: ignore[misc]
        self.change("page", lambda: press(page.get_by_role("link", name="Inside", exact=True)))


def report(what: str, times: list[float], aim: float) -> None:
    if len(times) < 2:
        return print(f"{what:<58} {'too few':>8}")
    p95 = statistics.quantiles(times, n=20)[-1]
    print(
        f"{what:<58} {statistics.median(times):8.0f} {p95:8.0f} {max(times):8.0f} {len(times):6d}"
        f"   (at most {aim:.0f} wanted at the 95th percentile)",
        flush=True,
    )


def main(students: int, minutes: float, checkpoints: Path) -> None:
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        limits = Path(folder) / "limits.toml"
        limits.write_text(f'teacher_token = "{TOKEN}"\nclass_members = {students + 1}\n')
        given = {"HEADS_UP_RUNS": f"{folder}/runs", "HEADS_UP_LIMITS": str(limits)}
        with served(checkpoints, **given) as (address, server):
            teacher, code = open_class(browser, address)
            pages = [join(browser, address, code) for _ in range(min(BROWSERS, students))]
            with ThreadPoolExecutor(4) as pool:
                numbers = range(students - len(pages))
                others = list(pool.map(lambda number: Student(address, code, number), numbers))
            for page in [teacher, *pages]:
                page.evaluate(SEEN)
            lesson = Lesson(teacher, pages, others)
            lesson.round()  # the sentences are translated, and everything is warm
            lesson.times.clear()
            lesson.late = 0
            memory = psutil.Process(server.pid).memory_info
            first = memory().rss / 1e6
            alone = Wanderer(address, code)
            alone.start()
            end = time.monotonic() + 60 * minutes
            while time.monotonic() < end:
                lesson.round()
            last = memory().rss / 1e6
            settled(teacher)
            said = re.findall(r"\d+", teacher.locator(".hu-follow").inner_text())
            alone.close()
            wrong = [text for one in others for text in one.wrong]
            for one in others:
                one.close()
    print(f"{students} students, {minutes:g} minutes; ms", end="")
    print(f"{'median':>44} {'p95':>8} {'most':>8} {'of':>6}")
    for kind, found in lesson.times.items():
        report(
            f"another {kind}, from the click to the teacher's own screen", found["teacher"], FOLLOW
        )
        report(f"another {kind}, from the click to a student's screen", found["browser"], FOLLOW)
        report(f"another {kind}, from the click to the others", found["server"], FOLLOW)
    report("another head of one's own, meanwhile (the page's run)", alone.times, HEAD)
    print(f"{'server, MB at the start and at the end':<58} {first:8.0f} {last:8.0f}")
    print(f"{'changes that did not come within the pause':<58} {lesson.late:8d}")
    print(f"{'pages that showed something else than they were led to':<58} {len(wrong):8d}")
    print(f"{'followed and members at the end, by the teacher’s page':<58} {' of '.join(said):>8}")
    for text in wrong[:3]:
        print(f"  {text}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--students", type=int, default=30)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--checkpoints", type=Path, default=ROOT / "checkpoints")
    given = parser.parse_args()
    main(given.students, given.minutes, given.checkpoints)
