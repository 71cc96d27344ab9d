"""CPU time of every page for a text of hundreds of digits.

    python -m benchmarks.long_texts [--digits 300 500 800] [--only lab]

Each digit is a token. Each page, tab and view that reads a text is opened with it in a new session
(AppTest, without cached results). A rerun has a limit of CPU time (`trace_cache.MAX_CPU_SECONDS`),
which is checked at every model pass and decoding step. "ended" marks reruns that reached it and
showed its message, "refused" texts with more tokens than the model accepts. The counts are the
numbers of checks. CPU time is that of the process, so other work on the machine changes it little.
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

PAGE_ADDRESSES: list[tuple[str, dict[str, str]]] = [
    (HOME, {}),
    ("pages/translate.py", {}),
    ("pages/translate.py", {"method": "beam", "beam_size": "4"}),
    ("pages/translate.py", {"method": "beam", "beam_size": "12"}),
    ("pages/translate.py", {"method": "sample"}),
    *(("pages/attention.py", {"view": view}) for view in EXPLORER),
    ("pages/attention.py", {"view": "compare", "force": "1:100"}),
    *(("pages/lab.py", {"lab": lab}) for lab in EXPERIMENTS),
    ("pages/lab.py", {"lab": "switch", "off": "c5,e3.2", "edited_row": "c5.1.1:0x70"}),
    ("pages/lab.py", {"lab": "switch", "removed_tokens": "0,3"}),
    *(("pages/lab.py", {"lab": "sweep", "patched_activations": part, "other": "{other}"})
      for part in ("stream", "heads")),
    *(("pages/inside.py", {"section": section}) for section in SECTIONS),
    *(("pages/positions.py", {"topic": topic}) for topic in TOPICS),
    ("pages/why.py", {}),
]  # fmt: skip


def digits(count: int) -> str:
    """Return a number with this many digits and no obvious pattern."""
    return "".join(str((7 * position + position * position // 3) % 10) for position in range(count))


class CountedCancellation(trace_cache.RerunCancellation):
    """Counts how often a rerun checks whether to stop."""

    total = 0

    def __call__(self) -> None:
        CountedCancellation.total += 1
        super().__call__()


def open_page(page: str, params: dict[str, str], text: str) -> tuple[float, int, str]:
    """Open a page; return the CPU time in seconds, the number of checks, and "ended", "refused" or
    ""."""
    trace_cache._traces.clear()
    memory_cache.results.clear()
    gc.collect()
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=3000)
    if page != HOME:
        app.switch_page(page)
    other_text = text[:-1] + str((int(text[-1]) + 1) % 10)
    for name, value in {"text": text, **params}.items():
        app.query_params[name] = value.format(other=other_text)
    CountedCancellation.total, start = 0, time.process_time()
    app.run()
    cpu_seconds = time.process_time() - start
    if app.exception:
        raise RuntimeError(f"{page} {params}: {app.exception[0].message}")
    page_text = "\n".join(box.value for box in [*app.warning, *app.error, *app.info])
    page_text += "\n".join(component.proto.json for component in app.get("bidi_component"))
    ended = "ended" if "seconds of CPU time, the limit for a page" in page_text else ""
    refused = "refused" if "can be translated at once" in page_text else ""
    return cpu_seconds, CountedCancellation.total, ended or refused


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--digits", type=int, nargs="+", default=[300, 500, 800])
    parser.add_argument("--only", default="", help="pages whose file name contains this")
    options = parser.parse_args()
    os.chdir(ROOT)
    install()
    print(f"{'page':<52}", *(f"{count:>7} digits      " for count in options.digits))
    with (
        tempfile.TemporaryDirectory() as runs,
        patch("transformer.ui.shell.page.RerunCancellation", CountedCancellation),
        patch("transformer.ui.pages.home.glance.RerunCancellation", CountedCancellation),
    ):
        os.environ["HEADS_UP_RUNS"] = runs
        open_page(HOME, {}, "A first sentence 1")  # loads the model
        for page, params in PAGE_ADDRESSES:
            if options.only not in page:
                continue
            settings = (f"{name}={value}" for name, value in params.items() if "{" not in value)
            print(f"{' '.join([page.removeprefix('pages/'), *settings]):<52}", end="", flush=True)
            for count in options.digits:
                cpu_seconds, checks, ended = open_page(page, params, digits(count))
                print(f" {cpu_seconds:6.1f} s {checks:5} {ended:<7}", end="", flush=True)
            print(flush=True)
        services.close_all()


if __name__ == "__main__":
    main()
