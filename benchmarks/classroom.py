"""A class of thirty: how soon pages follow their teacher's, and what another head costs meanwhile.

    python -m benchmarks.classroom [--students 30] [--minutes 10] [--checkpoints FOLDER]

First all of them speak to the server as the page's script does (`class_sessions.py`): theirs is the
time from the teacher's asking until the news has come where the page draws it itself, or else until
the page has run to its end. Then the teacher and two students have a real browser on the same two
cores, where drawing costs several times what the server does: what counts there is the time from
the teacher's click until the student's page shows it. One more student is on their own, and looks
at one head after the other.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import psutil
from playwright.sync_api import Browser, Locator, Page

from benchmarks.browser import ROOT, chromium, served, unfold
from benchmarks.class_sessions import TOKEN, Student, Teacher, Wanderer
from transformer.ui.address import EXAMPLES

BROWSERS = 2
PAUSE = 4.0  # seconds between two changes of the teacher's
SCREENS = {
    "sessions": "the sessions'",
    "teacher": "the teacher's own screen",
    "browser": "a student's screen",
}
FOLLOW, HEAD = 500.0, 100.0  # ms that are wanted at the 95th percentile
MEMORY = 1_000  # MB that are wanted
SEEN = """() => {
  const typed = () => [...document.querySelectorAll("input, textarea")].map((field) => field.value);
  const title = () => {
    for (const one of document.querySelectorAll(".st-key-explorer *")) {
      const found = one.shadowRoot?.querySelector(".hu-title");
      if (found) return found.textContent;
    }
  };
  const now = () => [document.querySelector("h1")?.innerText, title(), ...typed()].join(" | ");
  window.seen = [];
  setInterval(() => {
    if (now() !== window.seen.at(-1)?.[1]) window.seen.push([Date.now(), now()]);
  }, 10);
}"""
"""Keeps when a page showed what: its heading, the head's title and the sentence."""


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
    at = what.evaluate("(node) => { const at = Date.now(); node.click(); return at; }")
    return float(at) / 1e3


class Watched:
    """How soon everybody sees what a teacher does."""

    def __init__(self, students: list[Student]) -> None:
        self.students = students
        self.times: dict[str, dict[str, list[float]]] = {}
        self.late = 0

    def change(self, kind: str, act: Callable[[], float]) -> tuple[float, dict[str, list[float]]]:
        """When `act` was done, and where the times of such changes are kept."""
        before = {id(one): len(one.drawn) for one in self.students}
        at = act()
        self.wait()
        found = self.times.setdefault(kind, {"sessions": []})
        for one in self.students:
            drawn = [*one.drawn.values()][before[id(one)] :]
            found["sessions"] += [1000 * (drawn[-1] - at)] if drawn else []
            self.late += not drawn
        return at, found

    def wait(self) -> None:
        time.sleep(PAUSE)

    def round(self) -> None:
        """A page, sentences and heads, as in a lesson."""
        raise NotImplementedError

    def warm(self) -> None:
        """Once without counting: the sentences are translated."""
        self.round()
        self.times.clear()
        self.late = 0


class Lesson(Watched):
    """Led by sessions alone."""

    def __init__(self, teacher: Teacher, students: list[Student]) -> None:
        super().__init__(students)
        self.teacher, self.head = teacher, 0

    def round(self) -> None:
        go = self.teacher.go
        self.change("page", lambda: go("attention"))
        for text in EXAMPLES[1:3]:
            self.change("sentence", partial(go, "attention", text=text))
            for _ in range(4):
                self.head = (self.head + random.randrange(1, 48)) % 48  # never the same
                layer, head = divmod(self.head, 8)
                self.change("head", partial(go, "attention", layer=layer, head=head))
        self.change("page", lambda: go("inside"))


class SeenLesson(Watched):
    """Led and seen in browsers, by some of the class."""

    def __init__(self, teacher: Page, browsers: list[Page], students: list[Student]) -> None:
        super().__init__(students)
        self.teacher, self.browsers = teacher, browsers
        for page in [teacher, *browsers]:
            page.evaluate(SEEN)

    def wait(self) -> None:
        self.teacher.wait_for_timeout(1000 * PAUSE)

    def change(self, kind: str, act: Callable[[], float]) -> tuple[float, dict[str, list[float]]]:
        at, found = super().change(kind, act)
        [_, shown] = self.teacher.evaluate("window.seen.at(-1)")
        for page in [self.teacher, *self.browsers]:
            seen = [when for when, what in page.evaluate("window.seen") if what == shown]
            first = [when / 1e3 - at for when in seen if when / 1e3 >= at]
            where = found.setdefault("teacher" if page is self.teacher else "browser", [])
            where += [1000 * first[0]] if first else []
            self.late += not first
        return at, found

    def round(self) -> None:
        page = self.teacher
        self.change("page", lambda: press(page.get_by_role("link", name="Attention", exact=True)))
        for number in (1, 2):
            pill = page.locator("[data-testid=stButtonGroup] button").nth(number)
            self.change("sentence", partial(press, pill))
            for _ in range(4):
                cells = page.locator(".hu-mosaic [role=radio][aria-checked=false]")
                self.change("head", partial(press, cells.nth(random.randrange(cells.count()))))
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


def joined_by(address: str, code: str, count: int) -> list[Student]:
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(lambda number: Student(address, code, number), range(count)))


def hold(lesson: Watched, address: str, code: str, minutes: float) -> None:
    """The lesson, and what was measured. Its students leave."""
    alone = Wanderer(address, code)
    alone.start()
    end = time.monotonic() + 60 * minutes
    while time.monotonic() < end:
        lesson.round()
    alone.close()
    for one in lesson.students:
        one.close()
    for kind, found in lesson.times.items():
        for where, times in found.items():
            report(f"another {kind}, from the click to {SCREENS[where]}", times, FOLLOW)
    report("another head of one's own, meanwhile (the page's run)", alone.times, HEAD)
    wrong = [text for one in lesson.students for text in one.wrong]
    print(f"{'changes that did not come within the pause':<58} {lesson.late:8d}")
    print(f"{'pages that showed something else than they were led to':<58} {len(wrong):8d}")
    for text in wrong[:3]:
        print(f"  {text}")


def main(students: int, minutes: float, checkpoints: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        limits = Path(folder) / "limits.toml"
        limits.write_text(f'teacher_token = "{TOKEN}"\nclass_members = {students + 1}\n')
        given = {"HEADS_UP_RUNS": f"{folder}/runs", "HEADS_UP_LIMITS": str(limits)}
        with served(checkpoints, **given) as (address, server):
            memory = psutil.Process(server.pid).memory_info
            print(f"{students} students, {minutes:g} minutes each; ms", end="")
            print(f"{'median':>39} {'p95':>8} {'most':>8} {'of':>6}")
            print("The server has the machine's two cores; nobody has a browser there:")
            leads = Teacher(address)
            others = joined_by(address, leads.code, students)
            lesson: Watched = Lesson(leads, others)
            lesson.warm()
            first = memory().rss / 1e6
            hold(lesson, address, leads.code, minutes)
            leads.close()
            print(f"It shares them with {1 + BROWSERS} browsers:")
            with chromium() as browser:
                teacher, code = open_class(browser, address)
                pages = [join(browser, address, code) for _ in range(min(BROWSERS, students))]
                others = joined_by(address, code, students - len(pages))
                lesson = SeenLesson(teacher, pages, others)
                lesson.warm()
                hold(lesson, address, code, minutes)
            last = memory().rss / 1e6
    said = "server, MB at the start and at the end"
    print(f"{said:<58} {first:8.0f} {last:8.0f}   (less than {MEMORY} wanted)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--students", type=int, default=30)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--checkpoints", type=Path, default=ROOT / "checkpoints")
    given = parser.parse_args()
    main(given.students, given.minutes, given.checkpoints)
