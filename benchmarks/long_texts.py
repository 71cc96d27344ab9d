"""Processor time of every page for a text of hundreds of digits.

    python -m benchmarks.long_texts [--digits 300 500 800] [--only lab]

Each digit is a token, and each page, tab and view that takes a text is opened with it in a new
session (AppTest, nothing kept from the page before). A rerun has a budget of processor time
(`trace_cache.SECONDS`), checked at every model pass and decoding step; "ended" marks reruns that
reached it and showed its message, "refused" texts of more tokens than the model takes. The counts
are those checks. Processor time is that of the whole process, so a busy machine changes it little.
"""

from __future__ import annotations

import argparse
import gc
import os
import tempfile
import time
from unittest.mock import patch

from streamlit.testing.v1 import AppTest

from benchmarks.memory import ROOT
from transformer.figures.views import EXPLORER
from transformer.jobs import services
from transformer.ui.pages.inside import SECTIONS
from transformer.ui.pages.lab import EXPERIMENTS
from transformer.ui.pages.positions import TOPICS
from transformer.ui.services import memory_cache, trace_cache
from transformer.ui.shell.registry import HOME
from transformer.ui.streamlit_fixes import install

PARTS: list[tuple[str, dict[str, str]]] = [
    (HOME, {}),
    ("pages/translate.py", {}),
    ("pages/translate.py", {"method": "beam", "beam_size": "4"}),
    ("pages/translate.py", {"method": "beam", "beam_size": "16"}),
    ("pages/translate.py", {"method": "sample"}),
    *(("pages/attention.py", {"view": view}) for view in EXPLORER),
    ("pages/attention.py", {"view": "compare", "force": "1:100"}),
    *(("pages/lab.py", {"lab": lab}) for lab in EXPERIMENTS),
    ("pages/lab.py", {"lab": "switch", "off": "c5,e3.2", "paint": "c5.1.1:0x70"}),
    ("pages/lab.py", {"lab": "switch", "away": "0,3"}),
    *(("pages/lab.py", {"lab": "sweep", "swept": part, "other": "{other}"})
      for part in ("stream", "heads")),
    *(("pages/inside.py", {"section": section}) for section in SECTIONS),
    *(("pages/positions.py", {"topic": topic}) for topic in TOPICS),
    ("pages/why.py", {}),
]  # fmt: skip


def digits(count: int) -> str:
    """Return a number with this many digits and no obvious pattern."""
    return "".join(str((7 * at + at * at // 3) % 10) for at in range(count))


class Checked(trace_cache.RerunCancellation):
    """Counts how often a rerun asks whether to stop."""

    total = 0

    def __call__(self) -> None:
        Checked.total += 1
        super().__call__()


def opened(page: str, params: dict[str, str], text: str) -> tuple[float, int, str]:
    """Open a page; return the processor time in seconds, the number of checks, and what ended the
    rerun early."""
    trace_cache._traces.clear()
    memory_cache.results.clear()
    gc.collect()
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=3000)
    if page != HOME:
        app.switch_page(page)
    changed = text[:-1] + str((int(text[-1]) + 1) % 10)
    for name, value in {"text": text, **params}.items():
        app.query_params[name] = value.format(other=changed)
    Checked.total, began = 0, time.process_time()
    app.run()
    spent = time.process_time() - began
    if app.exception:
        raise RuntimeError(f"{page} {params}: {app.exception[0].message}")
    page_text = "\n".join(box.value for box in [*app.warning, *app.error, *app.info])
    page_text += "\n".join(component.proto.json for component in app.get("bidi_component"))
    ended = "ended" if "seconds of processor time" in page_text else ""
    refused = "refused" if "can be translated at once" in page_text else ""
    return spent, Checked.total, ended or refused


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--digits", type=int, nargs="+", default=[300, 500, 800])
    parser.add_argument("--only", default="", help="pages whose file name contains this")
    chosen = parser.parse_args()
    os.chdir(ROOT)
    install()
    print(f"{'page':<52}", *(f"{count:>7} digits      " for count in chosen.digits))
    with (
        tempfile.TemporaryDirectory() as runs,
        patch("transformer.ui.shell.page.RerunCancellation", Checked),
        patch("transformer.ui.pages.home.glance.RerunCancellation", Checked),
    ):
        os.environ["HEADS_UP_RUNS"] = runs
        opened(HOME, {}, "A first sentence 1")  # loads the model
        for page, params in PARTS:
            if chosen.only not in page:
                continue
            settings = (f"{name}={value}" for name, value in params.items() if "{" not in value)
            print(f"{' '.join([page.removeprefix('pages/'), *settings]):<52}", end="", flush=True)
            for count in chosen.digits:
                spent, checks, ended = opened(page, params, digits(count))
                print(f" {spent:6.1f} s {checks:5} {ended:<7}", end="", flush=True)
            print(flush=True)
        services.close_all()


if __name__ == "__main__":
    main()
