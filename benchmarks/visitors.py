"""Time of page reruns while runs train, and thirty visitors who click Train at once.

    python -m benchmarks.visitors [CHECKPOINTS]

CHECKPOINTS is a folder of checkpoints, by default `checkpoints`. The server trains no run at first,
then one, then as many as it can at once. Reruns are measured by sessions without a browser
(`sessions.py`), which leave the cores to the server: from sending the new value of a widget to the
last message of the page.
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

from benchmarks.browser import ROOT, app_server, chromium, wait_until
from benchmarks.sessions import Session
from transformer.jobs import Jobs, Limits
from transformer.jobs.folder import JobFolder
from transformer.jobs.info import read_run_info
from transformer.training.recipe import make_run_config

N_TRAINING_VISITORS = 30  # visitors who click Train
BROWSERS = 6  # visitors among them with a real browser
N_PAGE_VISITORS = 4  # visitors who use pages at the same time
CHOICES = 40  # widget changes per visitor
PAUSE = 0.25  # seconds between two changes of one visitor
GOAL_MS = 100.0
RUN_STATUS = "in the queue|Step |Preparing the text"
"""Texts of a page that shows where its run is."""
_NUMBERS = itertools.count(11)


def start_long_run(runs: Path, address: str) -> None:
    """Queue a new long run and wait until it trains."""
    config = make_run_config("addition", settings={"steps": 1_000_000, "minutes": 20}, title="Busy")
    jobs = Jobs(runs, Limits(), executor=lambda queue, limits: _NoExecutor())
    name = jobs.submit(config, "benchmark")
    with Session(address, "train"):  # the first visitor of the page starts the workers
        deadline = time.monotonic() + 120
        while jobs.run(name).step < 5:
            if time.monotonic() > deadline:
                sys.exit(f"The run does not train: {jobs.run(name).reason}.")
            time.sleep(0.1)


class _NoExecutor:
    """An executor that takes no runs: they are left to the server's workers."""

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
    """Choose one head after another, as the explorer reports it; return the times."""
    with Session(address, "attention") as session:
        explorer = session.elements["bidi_component", "heads_up.explorer"]
        times = []
        for number in range(CHOICES):
            state = {"state": {"layer": number % 2, "head": number % 4, "view": "heatmap"}}
            widget = WidgetState(id=explorer.id, json_value=json.dumps(state))
            times.append(session.rerun(widget))
            time.sleep(PAUSE)
        if "view=heatmap" not in session.query:
            sys.exit(f"The page does not show the new view: its query is {session.query!r}.")
    return times


def move_a_slider(address: str) -> list[float]:
    """Move the length penalty slider; return the times. The first half of the values need a new
    translation, and no other session has the same sentence."""
    text = f"The {next(_NUMBERS)} boats of my neighbour were sold."
    with Session(address, "translate", f"method=beam&text={quote(text)}") as session:
        times = []
        for number in range(CHOICES):
            times.append(session.slide("Length penalty", (number % 20 + 1) / 10))
            time.sleep(PAUSE)
    return times


def visit_at_once(visit: Callable[[str], list[float]], address: str) -> list[float]:
    """Call `visit` for all visitors of pages at the same time; return all their times."""
    with ThreadPoolExecutor(N_PAGE_VISITORS) as pool:
        return [ms for times in pool.map(visit, [address] * N_PAGE_VISITORS) for ms in times]


def report(label: str, times: list[float]) -> None:
    p95 = statistics.quantiles(times, n=20)[-1]
    print(
        f"{label:<52} {statistics.median(times):8.0f} {p95:8.0f} {max(times):8.0f}   "
        f"(goal: p95 at most {GOAL_MS:.0f})",
        flush=True,
    )


def click_train(session: Session, start: threading.Barrier) -> tuple[str, str, float]:
    """Click Train; return the run's name, the page's text and the milliseconds since the click."""
    start.wait()
    milliseconds = session.click("Train")
    name = re.search(r"run=([\w.-]+)", session.query)
    return name[1] if name else "", session.text, milliseconds


def click_in_browsers(pages: list[Page]) -> list[tuple[str, str]]:
    """Click Train in all browsers; return the run's name and the page's text of each."""
    for page in pages:
        page.evaluate(
            "() => [...document.querySelectorAll('button')]"
            ".find((button) => button.innerText.trim().endsWith('Train')).click()"
        )
    results = []
    for page in pages:
        wait_until(page, "location.search.includes('run=')")
        page.get_by_text(re.compile(RUN_STATUS)).first.wait_for()
        name = re.search(r"run=([\w.-]+)", page.url)
        results.append((name[1] if name else "", page.locator("body").inner_text()))
    return results


def train_at_once(browser: Browser, address: str, runs: Path) -> None:
    """Let all visitors click Train at the same moment. Equal requests share one run."""
    pages = [browser.new_context().new_page() for _ in range(BROWSERS)]
    for page in pages:
        page.set_default_timeout(120_000)
        page.goto(f"{address}/train")
        page.get_by_role("button", name="Train").first.wait_for()
    sessions = [Session(address, "train") for _ in range(N_TRAINING_VISITORS - BROWSERS)]
    start = threading.Barrier(len(sessions) + 1)
    with ThreadPoolExecutor(len(sessions)) as pool:
        futures = [pool.submit(click_train, session, start) for session in sessions]
        start.wait()
        in_browsers = click_in_browsers(pages)
        clicked = [future.result() for future in futures]
    names = [name for name, *_ in clicked] + [name for name, _ in in_browsers]
    texts = [text for _, text, _ in clicked] + [text for _, text in in_browsers]
    folders = [JobFolder(runs / name) for name in set(names) - {""}]
    runs_created = [info for folder in folders if (info := read_run_info(folder))]
    n_informed = sum(bool(re.search(RUN_STATUS, text)) for text in texts)
    print(f"{'clicked Train at once':<52} {N_TRAINING_VISITORS:8d}   ({BROWSERS} in a browser)")
    n_owners = sum(len(info.holders) for info in runs_created)
    print(f"{'runs created (equal requests share one)':<52} {len(runs_created):8d}")
    print(f"{'visitors who own one of them':<52} {n_owners:8d}")
    print(f"{'visitors who see their queue position or a step':<52} {n_informed:8d}")
    print(f"{'from the click to the page, median, ms':<52} {_median(clicked):8.0f}")
    for session in sessions:
        session.__exit__(None, None, None)


def _median(clicked: list[tuple[str, str, float]]) -> float:
    return statistics.median(ms for *_, ms in clicked)


def main(checkpoints: Path) -> None:
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        runs, limits = Path(folder) / "runs", Path(folder) / "limits.toml"
        # With an explicit number all workers start, also for runs that no page has queued.
        limits.write_text(f"workers = {Limits().processes}\n")
        environment = {"HEADS_UP_RUNS": str(runs), "HEADS_UP_LIMITS": str(limits)}
        with app_server(checkpoints, **environment) as (address, _):
            with Session(address, "attention"), Session(address, "translate"):
                pass  # load the model
            print(f"{f'{N_PAGE_VISITORS} visitors, ms':<52} {'median':>8} {'p95':>8} {'max':>8}")
            report("choose another head, no run trains", visit_at_once(choose_heads, address))
            report(
                "move a slider (translates), no run trains", visit_at_once(move_a_slider, address)
            )
            for number in range(1, Limits().processes + 1):
                start_long_run(runs, address)
                condition = "a run trains" if number == 1 else f"{number} runs train"
                report(
                    f"choose another head, while {condition}", visit_at_once(choose_heads, address)
                )
                report(
                    f"move a slider (translates), while {condition}",
                    visit_at_once(move_a_slider, address),
                )
            train_at_once(browser, address, runs)
        while any(JobFolder(path).is_held for path in runs.iterdir() if path.is_dir()):
            time.sleep(0.1)  # the workers are saving


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "checkpoints")
