"""Memory of the app after many visits: python -m benchmarks.memory [--visits 50 500]

Opens page after page of the app as new sessions in this process, each with a sentence of its own
and every page's parts in turn, and prints the resident memory after the first and the last count
of visits. What is kept for later is bounded, so the second is to be within a tenth of the first.
"""

from __future__ import annotations

import argparse
import gc
import os
import tempfile
import time
from pathlib import Path

import psutil
from streamlit.testing.v1 import AppTest

from transformer.figures.views import EXPLORER
from transformer.jobs import services
from transformer.ui.pages import PAGES

ROOT = Path(__file__).resolve().parents[1]
VISITS: list[tuple[str, dict[str, str]]] = [
    *((file, {}) for file in PAGES),
    ("pages/translate.py", {"method": "beam", "beam_size": "4"}),
    *(("pages/attention.py", {"view": view}) for view in EXPLORER),
    ("pages/attention.py", {"view": "compare", "force": "1:100"}),
    *(("pages/lab.py", {"lab": lab}) for lab in ("switch", "moves", "matter")),
    ("pages/lab.py", {"lab": "switch", "off": "c5,e3.2", "paint": "c5.1.1:0x70"}),
    ("pages/inside.py", {"box": "decoder.cross_attn.softmax", "layer": "3"}),
    ("pages/inside.py", {"section": "lens"}),
    ("pages/inside.py", {"section": "training"}),
]
WORDS = (
    *("the", "a", "cat", "student", "house", "sees", "finds", "old", "red", "we", "they"),
    "never",
)


def sentence(number: int) -> str:
    """Another for every number, of 4 to 40 words."""
    count = 4 + (7 * number) % 37
    return " ".join(WORDS[(number * 5 + at * (1 + number % 7)) % len(WORDS)] for at in range(count))


def visit(number: int) -> None:
    """One session: a page opened by its address, and nothing left of it but what the app keeps."""
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


def measured(counts: list[int]) -> list[tuple[int, float, float]]:
    """(visits, MB resident, seconds a visit since the last line) at each of `counts`."""
    found, process = [], psutil.Process()
    began, done = time.perf_counter(), 0
    for number in range(max(counts)):
        visit(number)
        if number + 1 in counts:
            gc.collect()
            seconds = (time.perf_counter() - began) / (number + 1 - done)
            found.append((number + 1, process.memory_info().rss / 1e6, seconds))
            print(f"{number + 1:6,} visits {found[-1][1]:8.0f} MB {seconds:7.2f} s a visit")
            began, done = time.perf_counter(), number + 1
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visits", type=int, nargs="+", default=[50, 500])
    counts = sorted(parser.parse_args().visits)
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as runs:
        os.environ["HEADS_UP_RUNS"] = runs
        found = measured(counts)
        services.close_all()  # before the folder that its worker looks into is gone
    print(f"the last is {found[-1][1] / found[0][1]:.2f} of the first")


if __name__ == "__main__":
    main()
