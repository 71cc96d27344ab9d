"""A class of thirty: how soon the students' screens follow the teacher, and how long a student's
own translation takes meanwhile.

    python -m benchmarks.classroom [--students 30] [--minutes 10] [--own-engines]
        [--checkpoints FOLDER]

The teacher and two students have browsers on the same cores as the server. The other students are
sessions without a browser (`tests/websocket_session.py`), one of whom does not follow and
translates one sentence after another. A time runs from the teacher's click to the change on a
student's screen. The exit status is 1 if a change did not reach a screen.

With `--own-engines` the students' browsers run the model. The one who does not follow is then a
third browser, whose time runs from a keystroke to the picture, and the others load the model's
files and ask for no translation.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from playwright.sync_api import Browser, Locator, Page

from benchmarks.harness import MEASURE_KEYSTROKE, option_parser, report
from tests.live_app import ROOT, app_server, chromium
from tests.websocket_session import Session, open_socket
from transformer.api.visitors import COOKIE, new_id
from transformer.ui.services.class_updates import PATH

BROWSERS = 2
TEACHER_TOKEN = "a token for the benchmark"
PAUSE = 4.0  # seconds between two changes by the teacher
RECORD_CHANGES = """() => {
  const inView = (selector) => {
    for (const node of document.querySelectorAll(".st-key-try *")) {
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
TYPE = f"""() => {{
  window.times = [];
  const measure = {MEASURE_KEYSTROKE};
  const type = async (number) => {{
    times.push(await measure([`She has ${{number}} books.`, ".hu-glance-row:last-child button"]));
    setTimeout(type, 1000, number + 1);
  }};
  type(1);
}}"""
"""Types a sentence a second after the picture of the last one; `times` has the milliseconds."""


@dataclass
class Lecture:
    """Where the students without a browser are, and what they wait for."""

    address: str
    code: str
    own_engines: bool
    joined: threading.Barrier
    ended: threading.Event = field(default_factory=threading.Event)


def follow(lecture: Lecture) -> None:
    """Join the class and open each place of the teacher, until the lesson ends. On the page Try the
    browser draws the place itself and asks for the sentence."""
    visitor, query = new_id(), f"code={lecture.code}"
    with ExitStack() as stack:
        session = stack.enter_context(Session(lecture.address, "class", query, visitor))
        session.click("Join")
        updates = stack.enter_context(open_socket(lecture.address, PATH, visitor))
        if lecture.own_engines:
            load_model(lecture.address, visitor)
        lecture.joined.wait()
        seen = 0
        while not lecture.ended.is_set():
            try:
                message = json.loads(updates.recv(timeout=0.5))
            except TimeoutError:
                continue
            if message["state"] != "follows" or message["number"] <= seen:
                continue
            seen, text = message["number"], message["params"].get("text")
            if message["page"] == "" and text and not lecture.own_engines:
                ask_glance(lecture.address, visitor, text)
            if message["page"] != session.page:
                session.page, session.widgets = message["page"], {}
                session.rerun()


def ask_glance(address: str, visitor: str, text: str) -> float:
    """Ask for the translation of a sentence as the page Try does; return the milliseconds."""
    request = urllib.request.Request(
        f"{address}/api/ask/glance",
        json.dumps({"model": "", "text": text}).encode(),
        {"Cookie": f"{COOKIE}={visitor}", "Content-Type": "application/json"},
    )
    start = time.perf_counter()
    with urllib.request.urlopen(request, timeout=60) as response:
        response.read()
    return 1000 * (time.perf_counter() - start)


def load_model(address: str, visitor: str) -> None:
    """Load the files of the first model as a student's browser does."""

    def get(path: str) -> bytes:
        request = urllib.request.Request(
            f"{address}/{path}", headers={"Cookie": f"{COOKIE}={visitor}"}
        )
        with urllib.request.urlopen(request, timeout=300) as response:
            content: bytes = response.read()
        return content

    first, *_ = json.loads(get("api/models"))["models"].values()
    for file in first["files"]:
        assert len(get(f"{file['path']}?{file['sha256'][:12]}")) == file["bytes"]


class OwnEngines:
    """Students whose browsers run the model; the first of them types without following.

    Attributes:
        requests: addresses of the requests for translations that these browsers have sent.
    """

    def __init__(self, typist: Page, *others: Page) -> None:
        self._typist, self.requests = typist, list[str]()
        for page in (typist, *others):
            page.get_by_text("Your browser computes by itself").wait_for()
            page.on("request", lambda request: self._record(request.url))

    def _record(self, url: str) -> None:
        if "/api/ask/" in url and not url.endswith("/load"):
            self.requests.append(url)

    def begin_typing(self) -> None:
        page = self._typist
        page.get_by_role("button", name="Stop following").click()
        page.get_by_role("link", name="Try", exact=True).click()
        page.get_by_role("button", name="Bands", exact=True).click()  # the teacher was at All heads
        page.locator(".hu-glance-row").first.wait_for()
        page.evaluate(TYPE)

    def report(self) -> None:
        report("a keystroke to the picture, a student alone", self._typist.evaluate("times"))
        report("requests for translations to the server", [len(self.requests)], "0", unit="")


def translate_alone(lecture: Lecture, times: list[float]) -> None:
    """Translate one sentence after another without following; add the milliseconds."""
    visitor = new_id()
    with Session(lecture.address, "class", f"code={lecture.code}", visitor) as session:
        session.click("Join")
        with open_socket(lecture.address, PATH, visitor) as updates:
            updates.send(json.dumps({"follow": False}))
            lecture.joined.wait()
            number = 0
            while not lecture.ended.wait(1.0):
                number += 1
                times.append(ask_glance(lecture.address, visitor, f"She has {number} books."))


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
def other_students(address: str, code: str, count: int, own_engines: bool) -> Iterator[list[float]]:
    """Students without a browser; yields the times of the one who does not follow."""
    n_waiting = count + (1 if own_engines else 2)
    lecture = Lecture(address, code, own_engines, threading.Barrier(n_waiting, timeout=300))
    times: list[float] = []
    with ThreadPoolExecutor(count + 1) as pool:
        runs = [pool.submit(follow, lecture) for _ in range(count)]
        if not own_engines:
            runs.append(pool.submit(translate_alone, lecture, times))
        try:
            lecture.joined.wait()
            yield times
        finally:
            lecture.ended.set()
    for run in runs:
        run.result()


def run_class(
    address: str,
    megabytes: Callable[[], float],
    students: int,
    minutes: float,
    own_engines: bool,
) -> bool:
    """Hold a lesson and print the times; return whether every change arrived."""
    with chromium() as browser:
        teacher, code = open_class(browser, address)
        if own_engines:
            teacher.get_by_text("Students' browsers compute by themselves").click()
        screens = [join(browser, address, code) for _ in range(min(BROWSERS, students))]
        own = OwnEngines(join(browser, address, code), *screens) if own_engines else None
        lesson = Lesson(teacher, screens)
        lesson.round()  # so that the sentences are cached
        lesson.times.clear()
        lesson.late.clear()
        n_others = students - len(screens) - own_engines
        with other_students(address, code, n_others, own_engines) as own_times:
            if own:
                own.begin_typing()
            start_mb, end = megabytes(), time.monotonic() + 60 * minutes
            while time.monotonic() < end:
                lesson.round()
        lesson.report()
        if own:
            own.report()
        else:
            report("another sentence, a student alone", own_times, "p95 400")
    report("server at the start", [start_mb], unit="MB")
    report("server at the end", [megabytes()], "1000", unit="MB")
    return not lesson.late


def main() -> None:
    parser = option_parser(__doc__)
    parser.add_argument("--students", type=int, default=30)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--own-engines", action="store_true")
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
                options.own_engines,
            )
    sys.exit(not complete)


if __name__ == "__main__":
    main()
