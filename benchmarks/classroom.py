"""A class of thirty: how soon the students' pages follow the teacher, and how long a student's own
choice of a head takes meanwhile.

    python -m benchmarks.classroom [--students 30] [--minutes 10] [--checkpoints FOLDER]

First, all students are sessions without a browser (`class_sessions.py`). A time runs from the
teacher's request to the end of the student's script run or, for a change that the browser draws
itself, to the arrival of the message. Then the teacher and two students have browsers on the same
two cores, where drawing takes several times as long as the server's work; a time runs from the
teacher's click to the change in the student's page. One more student does not follow and opens one
head after another.
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

from benchmarks.class_sessions import TEACHER_TOKEN, IndependentStudent, Student, Teacher
from tests.live_app import ROOT, app_server, chromium, open_expander
from transformer.ui.base.address import EXAMPLES

BROWSERS = 2
PAUSE = 4.0  # seconds between two changes by the teacher
SCREENS = {
    "sessions": "the sessions",
    "teacher": "the teacher's own screen",
    "browser": "a student's screen",
}
FOLLOW_GOAL_MS, HEAD_GOAL_MS = 500.0, 100.0  # for the 95th percentile
MEMORY_GOAL_MB = 1_000
RECORD_CHANGES = """() => {
  const values = () => [...document.querySelectorAll("input, textarea")].map((area) => area.value);
  const title = () => {
    for (const node of document.querySelectorAll(".st-key-explorer *")) {
      const heading = node.shadowRoot?.querySelector(".hu-title");
      if (heading) return heading.textContent;
    }
  };
  const content = () => [document.querySelector("h1")?.innerText, title(), ...values()].join(" | ");
  window.changes = [];
  setInterval(() => {
    if (content() !== window.changes.at(-1)?.[1]) window.changes.push([Date.now(), content()]);
  }, 10);
}"""
"""Records every change of the page's heading, the head's title and the sentence, with its time."""


def open_class(browser: Browser, address: str) -> tuple[Page, str]:
    page = browser.new_context().new_page()
    page.set_default_timeout(120_000)
    page.goto(f"{address}/class")
    open_expander(page, "For teachers: open a class")
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


class MeasuredLesson:
    """A lesson that measures how soon everyone sees the teacher's changes.

    Attributes:
        times: milliseconds by kind of change and by place, a key of `SCREENS`.
        late: number of changes that a student did not see within `PAUSE`.
    """

    def __init__(self, students: list[Student]) -> None:
        self.students = students
        self.times: dict[str, dict[str, list[float]]] = {}
        self.late = 0

    def change(
        self, kind: str, action: Callable[[], float]
    ) -> tuple[float, dict[str, list[float]]]:
        """Make a change; return its time in seconds since 1970, and `times` of this kind."""
        before = {id(student): len(student.shown_at) for student in self.students}
        changed_at = action()
        self.wait()
        times = self.times.setdefault(kind, {"sessions": []})
        for student in self.students:
            run_times = [*student.shown_at.values()][before[id(student)] :]
            times["sessions"] += [1000 * (run_times[-1] - changed_at)] if run_times else []
            self.late += not run_times
        return changed_at, times

    def wait(self) -> None:
        time.sleep(PAUSE)

    def round(self) -> None:
        """Change the page, sentences and heads, as in a lesson."""
        raise NotImplementedError

    def warm_up(self) -> None:
        """Run one round without measuring it, so that the sentences are cached."""
        self.round()
        self.times.clear()
        self.late = 0


class SessionLesson(MeasuredLesson):
    """A lesson in which nobody has a browser."""

    def __init__(self, teacher: Teacher, students: list[Student]) -> None:
        super().__init__(students)
        self.teacher, self.head = teacher, 0

    def round(self) -> None:
        open_view = self.teacher.open_view
        self.change("page", lambda: open_view("", depth="heads"))
        for text in EXAMPLES[1:3]:
            self.change("sentence", partial(open_view, "", text=text))
            for _ in range(4):
                self.head = (self.head + random.randrange(1, 48)) % 48  # always another head
                layer, head = divmod(self.head, 8)
                self.change("head", partial(open_view, "", layer=layer, head=head))
        self.change("page", lambda: open_view("inside"))


class BrowserLesson(MeasuredLesson):
    """A lesson in which the teacher and some students have browsers."""

    def __init__(self, teacher: Page, browsers: list[Page], students: list[Student]) -> None:
        super().__init__(students)
        self.teacher, self.browsers = teacher, browsers
        for page in [teacher, *browsers]:
            page.evaluate(RECORD_CHANGES)

    def wait(self) -> None:
        self.teacher.wait_for_timeout(1000 * PAUSE)

    def change(
        self, kind: str, action: Callable[[], float]
    ) -> tuple[float, dict[str, list[float]]]:
        changed_at, times = super().change(kind, action)
        [_, screen] = self.teacher.evaluate("window.changes.at(-1)")
        for page in [self.teacher, *self.browsers]:
            changes = page.evaluate("window.changes")
            seconds = [
                changed_ms / 1e3 - changed_at
                for changed_ms, content in changes
                if content == screen
            ]
            arrivals = [time for time in seconds if time >= 0]
            place_times = times.setdefault("teacher" if page is self.teacher else "browser", [])
            place_times += [1000 * arrivals[0]] if arrivals else []
            self.late += not arrivals
        return changed_at, times

    def round(self) -> None:
        page = self.teacher
        self.change("page", lambda: press(page.get_by_role("link", name="Try", exact=True)))
        self.change("page", lambda: press(page.get_by_role("button", name="All heads", exact=True)))
        for number in (1, 2):
            sentence_button = page.locator(".hu-glance-examples button").nth(number)
            self.change("sentence", partial(press, sentence_button))
            for _ in range(4):
                cells = page.locator(".hu-mosaic [role=radio][aria-checked=false]")
                self.change("head", partial(press, cells.nth(random.randrange(cells.count()))))
        self.change("page", lambda: press(page.get_by_role("link", name="Look inside", exact=True)))


def report(label: str, times: list[float], goal: float) -> None:
    if len(times) < 2:
        return print(f"{label:<58} {'too few':>8}")
    p95 = statistics.quantiles(times, n=20)[-1]
    print(
        f"{label:<58} {statistics.median(times):8.0f} {p95:8.0f} {max(times):8.0f} {len(times):6d}"
        f"   (goal: p95 at most {goal:.0f})",
        flush=True,
    )


def join_students(address: str, code: str, count: int) -> list[Student]:
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(lambda number: Student(address, code, number), range(count)))


def run_lesson(lesson: MeasuredLesson, address: str, code: str, minutes: float) -> None:
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
            report(f"another {kind}, from the click to {SCREENS[screen]}", times, FOLLOW_GOAL_MS)
    report("another head, a student alone (script run)", independent_student.times, HEAD_GOAL_MS)
    errors = [text for student in lesson.students for text in student.errors]
    print(f"{'changes that did not arrive within the pause':<58} {lesson.late:8d}")
    print(f"{'pages that showed another view than the teacher':<58} {len(errors):8d}")
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
            print(f"{students} students, {minutes:g} minutes each; ms", end="")
            print(f"{'median':>39} {'p95':>8} {'max':>8} {'times':>6}")
            print("Without browsers:")
            teacher_session = Teacher(address)
            students_joined = join_students(address, teacher_session.code, students)
            lesson: MeasuredLesson = SessionLesson(teacher_session, students_joined)
            lesson.warm_up()
            start_mb = memory().rss / 1e6
            run_lesson(lesson, address, teacher_session.code, minutes)
            teacher_session.close()
            print(f"With {1 + BROWSERS} browsers on the same cores:")
            with chromium() as browser:
                teacher, code = open_class(browser, address)
                pages = [join(browser, address, code) for _ in range(min(BROWSERS, students))]
                students_joined = join_students(address, code, students - len(pages))
                lesson = BrowserLesson(teacher, pages, students_joined)
                lesson.warm_up()
                run_lesson(lesson, address, code, minutes)
            end_mb = memory().rss / 1e6
    label = "server, MB at the start and at the end"
    print(f"{label:<58} {start_mb:8.0f} {end_mb:8.0f}   (goal: less than {MEMORY_GOAL_MB})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--students", type=int, default=30)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--checkpoints", type=Path, default=ROOT / "checkpoints")
    options = parser.parse_args()
    main(options.students, options.minutes, options.checkpoints)
