"""Many visitors while runs train: how long pages take, and thirty who press Train at once.

    python -m benchmarks.visitors [CHECKPOINTS]

CHECKPOINTS is a folder of checkpoints, `checkpoints` if left out. A real server with a run that
trains all the time, then with as many as it trains at once. Page reruns are measured by visitors
without a browser (`sessions.py`), so that no browser takes the cores that are measured: from
sending the widget's new value to the last message of the page.
"""

from __future__ import annotations

import itertools
import json
import re
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Browser, Page
from streamlit.proto.WidgetStates_pb2 import WidgetState

from benchmarks.browser import ROOT, chromium, served, wait_until
from benchmarks.sessions import Session
from transformer.jobs import Jobs, Limits
from transformer.jobs.folder import JobFolder
from transformer.jobs.info import read_run_info
from transformer.training.recipe import make_run_config

AT_ONCE = 30  # visitors who press Train
BROWSERS = 6  # of them in a real browser
READERS = 4  # visitors who look at pages at the same time
CHOICES = 40  # of each of them
PAUSE = 0.25  # seconds between two choices of one visitor
AIM = 100.0  # ms
_NUMBERS = itertools.count(11)


def busy(runs: Path, address: str) -> None:
    """Put a long run in line, a new one each time, and wait until it takes steps."""
    config = make_run_config("addition", settings={"steps": 1_000_000, "minutes": 20}, title="Busy")
    jobs = Jobs(runs, Limits(), executor=lambda queue, limits: _Nobody())
    name = jobs.submit(config, "benchmark")
    with Session(address, "train"):  # the first visitor of the page starts the workers
        deadline = time.monotonic() + 120
        while jobs.run(name).step < 5:
            if time.monotonic() > deadline:
                sys.exit(f"The run does not train: {jobs.run(name).reason}.")
            time.sleep(0.1)


class _Nobody:
    """Takes no runs: the server's workers do."""

    def start(self) -> None: ...
    def wake(self) -> None: ...
    def close(self) -> None: ...
    def warm_workers(self) -> int:
        return 0

    def watched(self) -> set[str]:
        return set()

    def startup_error(self) -> str:
        return ""


def choose_heads(address: str) -> list[float]:
    """Another head of another layer, again and again; what the explorer tells the page."""
    with Session(address, "attention") as session:
        explorer = session.elements["bidi_component", "heads_up.explorer"]
        found = []
        for number in range(CHOICES):
            state = {"state": {"layer": number % 2, "head": number % 4, "view": "heatmap"}}
            widget = WidgetState(id=explorer.id, json_value=json.dumps(state))
            found.append(session.rerun(widget))
            time.sleep(PAUSE)
        if "view=heatmap" not in session.query:
            sys.exit(f"The page does not follow: its address is {session.query!r}.")
    return found


def move_a_slider(address: str) -> list[float]:
    """The length penalty; the first half of the choices translate anew, and nobody else has the
    same sentence."""
    text = f"The {next(_NUMBERS)} boats of my neighbour were sold."
    with Session(address, "translate", f"method=beam&text={quote(text)}") as session:
        found = []
        for number in range(CHOICES):
            found.append(session.slide("Length penalty", (number % 20 + 1) / 10))
            time.sleep(PAUSE)
    return found


def together(visit: Callable[[str], list[float]], address: str) -> list[float]:
    """What all readers measured at the same time."""
    with ThreadPoolExecutor(READERS) as pool:
        return [ms for found in pool.map(visit, [address] * READERS) for ms in found]


def report(what: str, times: list[float]) -> None:
    p95 = statistics.quantiles(times, n=20)[-1]
    print(
        f"{what:<52} {statistics.median(times):8.0f} {p95:8.0f} {max(times):8.0f}   "
        f"(at most {AIM:.0f} wanted at the 95th percentile)",
        flush=True,
    )


def press_train(session: Session, start: threading.Barrier) -> tuple[str, str, float]:
    """The run's name, what the page says of its place, milliseconds from the click."""
    start.wait()
    spent = session.click("Train")
    name = re.search(r"run=([\w.-]+)", session.query)
    return name[1] if name else "", session.text, spent


def press_in_browsers(pages: list[Page]) -> list[tuple[str, str]]:
    for page in pages:
        page.evaluate(
            "() => [...document.querySelectorAll('button')]"
            ".find((button) => button.innerText.trim().endsWith('Train')).click()"
        )
    found = []
    for page in pages:
        wait_until(page, "location.search.includes('run=')")
        page.get_by_text(
            re.compile("in line|First in the queue|Step |Getting ready")
        ).first.wait_for()
        name = re.search(r"run=([\w.-]+)", page.url)
        found.append((name[1] if name else "", page.locator("body").inner_text()))
    return found


def thirty(browser: Browser, address: str, runs: Path) -> None:
    """All press Train at the same moment: whoever asks for the same has the same run."""
    pages = [browser.new_context().new_page() for _ in range(BROWSERS)]
    for page in pages:
        page.set_default_timeout(120_000)
        page.goto(f"{address}/train")
        page.get_by_role("button", name="Train").first.wait_for()
    sessions = [Session(address, "train") for _ in range(AT_ONCE - BROWSERS)]
    start = threading.Barrier(len(sessions) + 1)
    with ThreadPoolExecutor(len(sessions)) as pool:
        waiting = [pool.submit(press_train, session, start) for session in sessions]
        start.wait()
        shown = press_in_browsers(pages)
        pressed = [one.result() for one in waiting]
    names = [name for name, *_ in pressed] + [name for name, _ in shown]
    texts = [text for _, text, _ in pressed] + [text for _, text in shown]
    made = [info for name in set(names) - {""} if (info := read_run_info(JobFolder(runs / name)))]
    placed = sum(bool(re.search(r"in line|Its turn|Step |Getting ready", text)) for text in texts)
    print(f"{'pressed Train at once':<52} {AT_ONCE:8d}   ({BROWSERS} in a browser)")
    print(f"{'runs that were made, one for all who asked for the same':<52} {len(made):8d}")
    print(f"{'visitors who have one of them':<52} {sum(len(one.holders) for one in made):8d}")
    print(f"{'visitors who see their place, or that it trains':<52} {placed:8d}")
    print(f"{'from the click to the page, median, ms':<52} {_median(pressed):8.0f}")
    for session in sessions:
        session.__exit__(None, None, None)


def _median(pressed: list[tuple[str, str, float]]) -> float:
    return statistics.median(ms for *_, ms in pressed)


def main(checkpoints: Path) -> None:
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        runs, limits = Path(folder) / "runs", Path(folder) / "limits.toml"
        # Said, so that all are there for runs that no page has put in line.
        limits.write_text(f"workers = {Limits().processes}\n")
        given = {"HEADS_UP_RUNS": str(runs), "HEADS_UP_LIMITS": str(limits)}
        with served(checkpoints, **given) as (address, _):
            with Session(address, "attention"), Session(address, "translate"):
                pass  # the model is loaded
            print(f"{f'{READERS} visitors, ms':<52} {'median':>8} {'p95':>8} {'most':>8}")
            report("choose another head, nothing trains", together(choose_heads, address))
            report("move a slider (translates), nothing trains", together(move_a_slider, address))
            for number in range(1, Limits().processes + 1):
                busy(runs, address)
                beside = "a run trains" if number == 1 else f"{number} runs train"
                report(f"choose another head, while {beside}", together(choose_heads, address))
                report(
                    f"move a slider (translates), while {beside}", together(move_a_slider, address)
                )
            thirty(browser, address, runs)
        while any(JobFolder(path).is_held for path in runs.iterdir() if path.is_dir()):
            time.sleep(0.1)  # the workers save what they train


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "checkpoints")
