"""The static site, whose model runs in the browser: response times and duration of visits.

    python -m benchmarks.site

Writes the site with the shipped checkpoints, serves it locally and uses it in Chromium. Prints
medians and, of at least 8 times, the 95th percentile. "From a keystroke" includes the time that the
field waits for further letters. The slow server sends at most 20 Mbit/s, with a latency of 40 ms.
"""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Page

from benchmarks.harness import MEASURE_KEYSTROKE, VIEWPORT, report
from tests.live_app import ROOT, chromium, http_server
from transformer import Translator
from transformer.ui.site.static_site import write_site

SENTENCES = (
    "The old man is reading a book in the park.",
    "They want to go home before it gets dark.",
    "She told me that she was very tired today.",
    "We did not know that you were here today.",
    "He says that he has bought a new house.",
    "The young man is reading a book in the park.",
    "We did not know that they were here today.",
    "He says that she has bought a new car.",
)
"""Sentences of 11 or 12 tokens; every second input changes a word, so that nothing is cached."""
ALTERNATIVES_MS = 230
"""How long after a translation a text must be typed to arrive while its alternatives are computed:
they begin 350 ms after it, and the field waits 100 ms for further letters."""
WORDS = ".hu-glance-words"
SLOW_MBIT = 20
"""Mbit/s of the slow server."""

# From a click until the view is drawn: nothing is loading, and a frame has passed.
MEASURE_CLICK = """(node) => new Promise((done) => {
  const start = performance.now();
  node.click();
  const look = () => {
    const notes = [...document.querySelectorAll(".hu-waiting")];
    const waiting = notes.some((p) => p.checkVisibility() && p.textContent.includes("Loading"));
    requestAnimationFrame(waiting ? look : () => done(performance.now() - start));
  };
  requestAnimationFrame(look);
})"""

# The time at which the page shows the translation of `text`, which is not stored in the site.
RECORD_TRANSLATION = """(() => {
  const text = new URLSearchParams(location.search).get("text");
  window.appearance = new Promise((done) => {
    const look = () => {
      const words = document.querySelector(".hu-glance-words");
      const drawn = words && [...words.children].map((word) => word.textContent).join(" ") === text;
      drawn ? done(performance.now()) : requestAnimationFrame(look);
    };
    look();
  });
})();"""

# One translation with its trace, as the worker computes it; with and without SIMD.
MEASURE_TRACES = """async ([texts, model, fast]) => {
  const module = new URL("scripts/model/translator.js", location.href);
  const { Translator, finish } = await import(module);
  const read = async (file) => (await fetch(`models/${model}/${file}`)).arrayBuffer();
  const files = await Promise.all(["model.safetensors", "vocabulary.model"].map(read));
  const { config } = JSON.parse(document.getElementById("hu-site").textContent).models[model];
  const translator = new Translator(config, ...files.map((file) => new Uint8Array(file)), fast);
  const times = [];
  for (const text of [texts[0], texts[0], ...texts]) {
    const start = performance.now();
    finish(translator.trace(text));
    times.push(performance.now() - start);
  }
  return times.slice(2);
}"""


class _RateLimit:
    """A rate limit that all responses share."""

    def __init__(self, mbit: float) -> None:
        self.bytes_per_second, self.free_at, self.lock = mbit * 125_000, 0.0, threading.Lock()

    def wait(self, count: int) -> None:
        """Wait until `count` bytes may be sent."""
        with self.lock:
            start = time.monotonic()
            self.free_at = max(self.free_at, start) + count / self.bytes_per_second
            end = self.free_at
        time.sleep(max(end - start, 0))


class _SlowHandler(SimpleHTTPRequestHandler):
    rate_limit = _RateLimit(SLOW_MBIT)

    def copyfile(self, source: Any, outputfile: Any) -> None:
        time.sleep(0.04)
        while block := source.read(16_384):
            self.rate_limit.wait(len(block))
            outputfile.write(block)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def _slow_server(folder: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_SlowHandler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def _wait_for_model(page: Page) -> None:
    page.locator(".hu-live-bar").wait_for(state="hidden")


def _time_to_translation(context: BrowserContext, address: str, text: str) -> float:
    """Return the seconds from navigation to the translation of `text`."""
    page = context.new_page()
    page.add_init_script(RECORD_TRANSLATION)
    page.goto(f"{address}?text={text.replace(' ', '+')}", timeout=120_000)
    seconds = float(page.evaluate("window.appearance")) / 1000
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    time.sleep(2)  # until the service worker has stored the files
    page.close()
    return seconds


def renderer_megabytes() -> float:
    """Return the proportional set size of this browser's largest page, with its worker."""
    sizes = [0.0]
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
            if b"--type=renderer" not in command or not _is_ours(folder):
                continue
            rollup = (folder / "smaps_rollup").read_text(encoding="utf-8")
            sizes.append(
                sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:"))
                / 1000
            )
        except OSError:
            continue
    return max(sizes)


def _is_ours(folder: Path) -> bool:
    """Return whether this process is a descendant of the current one."""

    while folder.name not in ("0", "1"):
        if folder.name == str(os.getpid()):
            return True
        parent = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1]
        folder = folder.parent / parent
    return False


def _measure_responses(address: str, page: Page) -> None:
    page.goto(address)
    _wait_for_model(page)
    page.evaluate(MEASURE_KEYSTROKE, ["Good morning to you.", WORDS])
    sentences = [
        sentence
        for text in SENTENCES
        for sentence in (text, text.replace(" the ", " this ").replace("that", "that even"))
    ]
    times = [float(page.evaluate(MEASURE_KEYSTROKE, [sentence, WORDS])) for sentence in sentences]
    report("12 tokens: from a keystroke to the translation, all heads", times, "400, p95 800")
    times = []
    for number, sentence in enumerate(sentences):
        page.wait_for_timeout(ALTERNATIVES_MS + 10 * (number % 8))
        times.append(float(page.evaluate(MEASURE_KEYSTROKE, [sentence, WORDS])))
    report("… while the alternatives of the last one are computed", times, "400, p95 800")
    page.goto(f"{address}?depth=heads&more=1&text={SENTENCES[0].replace(' ', '+')}")
    _wait_for_model(page)
    page.get_by_text("Pin a word").wait_for()
    heads = page.locator(".hu-mosaic button").element_handles()
    report("another head", [float(page.evaluate(MEASURE_CLICK, head)) for head in heads[:24]], "50")
    tabs = page.get_by_role("tab").element_handles()
    report(
        "another view, first time", [float(page.evaluate(MEASURE_CLICK, tab)) for tab in tabs], "50"
    )
    report("memory of the tab", [renderer_megabytes()], "400", unit="MB")
    for fast in (True, False):
        products = "with SIMD" if fast else "plain JavaScript"
        trace_times = page.evaluate(MEASURE_TRACES, [list(SENTENCES), "en-fr", fast])
        report(f"12 tokens: translation with its trace, {products}", trace_times, "–")


def _measure_python() -> None:
    translator = Translator.load(ROOT / "checkpoints" / "en-fr", "cpu")
    times = []
    for text in (SENTENCES[0], *SENTENCES):
        start = time.perf_counter()
        translator.trace(text, method="greedy")
        times.append(1000 * (time.perf_counter() - start))
    report("12 tokens: the same in Python, in this run", times[1:], "–")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        site = Path(folder) / "site"
        write_site(site)
        size = sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) / 1e6
        report("site folder with both pairs", [size], "60", 1, "MB")
        with http_server(site) as address:
            page = browser.new_context(viewport=VIEWPORT).new_page()
            _measure_responses(address, page)
            page.context.close()
        _measure_python()
        text = SENTENCES[0]
        with _slow_server(site) as address:
            context = browser.new_context()
            first = _time_to_translation(context, address, text)
            report(f"first visit at {SLOW_MBIT} Mbit/s, until a translation", [first], "15", 1, "s")
            second = [_time_to_translation(context, address, text) for _ in range(3)]
            report(f"second visit at {SLOW_MBIT} Mbit/s", second, "1.5", 2, "s")
        offline = [_time_to_translation(context, address, text) for _ in range(3)]
        report("second visit, offline", offline, "1.5", 2, "s")
        context.close()


if __name__ == "__main__":
    main()
