"""Memory of the app after many visits, one after another and several at once.

    python -m benchmarks.memory [--visits 50 500]
    python -m benchmarks.memory --at-once 8 [--visits 32 128]

Opens one page or view after another, each in a new session with a new sentence, and prints the
resident memory after each of these numbers of visits. Caches are bounded, so the last value should
differ from the first by at most a tenth.

Without `--at-once` all visits run in this process, one after another. With it, that many visitors
at a time use a server. Each script thread then has its own memory arena, and memory grows much more
unless the allocator is configured (`transformer/allocator.py`). The peak is printed too; it should
stay below 1,000 MB.
"""

from __future__ import annotations

import argparse
import gc
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlencode

import psutil
from streamlit.testing.v1 import AppTest

from benchmarks.browser import app_server
from benchmarks.sessions import Session
from transformer.figures.views import EXPLORER
from transformer.jobs import services
from transformer.ui.shell.registry import PAGES, path

ROOT = Path(__file__).resolve().parents[1]
VISITS: list[tuple[str, dict[str, str]]] = [
    *((file, {}) for file in PAGES),
    ("pages/translate.py", {"method": "beam", "beam_size": "4"}),
    *(("pages/attention.py", {"view": view}) for view in EXPLORER),
    ("pages/attention.py", {"view": "compare", "force": "1:100"}),
    *(("pages/lab.py", {"lab": lab}) for lab in ("switch", "attribution", "pruning")),
    ("pages/lab.py", {"lab": "switch", "off": "c5,e3.2", "edited_row": "c5.1.1:0x70"}),
    ("pages/inside.py", {"box": "decoder.cross_attn.softmax", "layer": "3"}),
    ("pages/inside.py", {"section": "lens"}),
    ("pages/inside.py", {"section": "training"}),
]
WORDS = (
    *("the", "a", "cat", "student", "house", "sees", "finds", "old", "red", "we", "they"),
    "never",
)


def sentence(number: int) -> str:
    """Return a different sentence for every number, of 4 to 40 words."""
    count = 4 + (7 * number) % 37
    return " ".join(
        WORDS[(number * 5 + position * (1 + number % 7)) % len(WORDS)] for position in range(count)
    )


def visit(number: int) -> None:
    """Open a page in a new session and discard the session; only the app's caches remain."""
    page, params = VISITS[number % len(VISITS)]
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=600)
    if page != "app.py":
        app.switch_page(page)
    for name, value in {"text": sentence(number), **params}.items():
        if page not in ("app.py", "pages/lessons.py", "pages/train.py"):
            app.query_params[name] = value
    app.run()
    if app.exception:
        raise RuntimeError(f"{page} {params}: {app.exception[0].message}")


def measure(counts: list[int]) -> list[tuple[int, float, float]]:
    """Return for each of `counts`: visits, resident MB, and seconds per visit since the last."""
    rows, process = [], psutil.Process()
    start, n_reported = time.perf_counter(), 0
    for number in range(max(counts)):
        visit(number)
        if number + 1 in counts:
            gc.collect()
            seconds = (time.perf_counter() - start) / (number + 1 - n_reported)
            rows.append((number + 1, process.memory_info().rss / 1e6, seconds))
            print(f"{number + 1:6,} visits {rows[-1][1]:8.0f} MB {seconds:7.2f} s per visit")
            start, n_reported = time.perf_counter(), number + 1
    return rows


def visit_server(address: str, number: int) -> None:
    """Open the page of `visit(number)` on a server, as a new session that is then closed."""
    page, params = VISITS[number % len(VISITS)]
    if page not in ("app.py", "pages/lessons.py", "pages/train.py"):
        params = {"text": sentence(number), **params}
    with Session(address, path(page), urlencode(params)):
        pass


@contextmanager
def peak_of(process: psutil.Process) -> Iterator[Callable[[], float]]:
    """Watch a process; yield a function that returns its peak resident memory so far, in MB."""
    highest, finished = [0.0], threading.Event()

    def watch() -> None:
        while not finished.wait(0.1):
            highest[0] = max(highest[0], process.memory_info().rss / 1e6)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield lambda: highest[0]
    finally:
        finished.set()
        watcher.join()


def visit_at_once(visitors: int, counts: list[int]) -> None:
    """Print a server's memory after each of these numbers of visits, and its peak so far."""
    with (
        tempfile.TemporaryDirectory() as runs,
        app_server(ROOT / "checkpoints", HEADS_UP_RUNS=runs) as (address, server),
        ThreadPoolExecutor(visitors) as pool,
        peak_of(psutil.Process(server.pid)) as peak,
    ):
        n_visits = 0
        for count in counts:
            for _ in pool.map(partial(visit_server, address), range(n_visits, count)):
                pass
            n_visits = count
            resident = psutil.Process(server.pid).memory_info().rss / 1e6
            print(f"{n_visits:6,} visits {resident:8.0f} MB, peak {peak():8.0f} MB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--visits", type=int, nargs="+")
    parser.add_argument("--at-once", type=int, default=0, help="visitors at the same time")
    options = parser.parse_args()
    os.chdir(ROOT)
    if options.at_once:
        return visit_at_once(options.at_once, sorted(options.visits or [32, 128]))
    counts = sorted(options.visits or [50, 500])
    with tempfile.TemporaryDirectory() as runs:
        os.environ["HEADS_UP_RUNS"] = runs
        rows = measure(counts)
        services.close_all()  # before the folder of runs is deleted
    print(f"ratio of the last to the first: {rows[-1][1] / rows[0][1]:.2f}")


if __name__ == "__main__":
    main()
