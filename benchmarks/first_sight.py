"""The first screen in a real browser: from a key to the moving picture, and until it is there.

    python -m benchmarks.first_sight [CHECKPOINTS]

CHECKPOINTS is a folder of checkpoints, `checkpoints` if left out. Medians in milliseconds, with the
slowest in parentheses; the pause in typing that the field waits for is in them.
"""

from __future__ import annotations

import math
import sys
import tempfile
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, Page

from benchmarks.browser import ROOT, chromium, seen_after, served, settled

SENTENCES = (
    "The black cat sleeps under the table.",
    "My sister bought a new car.",
    "We waited for the train all night.",
    "Do you know where he lives?",
    "Nobody wanted to open the window.",
    "The children are playing in the garden.",
    "I have never read this book.",
)

WRITTEN = ".hu-glance-lines .now"  # the first word is being written
# The same in the app's own picture, which also reads what is typed: that of its page alone is gone.
TAKEN_OVER = "body:not(:has(#hu-early)) .st-key-glance"

# From the last letter to the frame after the one in which the first band of its translation grows.
KEY = """(text) => new Promise((done) => {
  const views = [...document.querySelectorAll("*")].map((node) => node.shadowRoot);
  const root = views.find((view) => view && view.querySelector(".hu-glance"));
  const [area, read] = [root.querySelector("textarea"), root.querySelector(".hu-glance-words")];
  area.focus();
  area.value = text;
  const start = performance.now();
  area.dispatchEvent(new Event("input", { bubbles: true }));
  const look = () => {
    const words = [...read.children].map((word) => word.textContent).join(" ");
    const grows = words === text && root.querySelector(".hu-glance-lines .now");
    requestAnimationFrame(grows ? () => done(performance.now() - start) : look);
  };
  look();
})"""


def typed(page: Page, text: str) -> tuple[float, float]:
    """Milliseconds from the last letter to the picture, for a sentence that nobody has typed yet
    and for one letter more."""
    first = float(page.evaluate(KEY, text[:-1]))
    last = float(page.evaluate(KEY, text))
    return first, last


def report(what: str, times: list[float], limit: float = math.inf) -> None:
    wanted = f"   (at most {limit:.0f} wanted)" if limit < math.inf else ""
    print(f"{what:<58} {median(times):6.0f} {f'({max(times):.0f})':>8}{wanted}", flush=True)


def bare(browser: Browser) -> list[float]:
    """The same of a page of Streamlit that has a heading alone."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "bare.py"
        script.write_text('import streamlit as st\nst.title("Here")\n', encoding="utf-8")
        with served(Path(folder), script=script) as (address, _):
            return [seen_after(browser, address, "h1") for _ in range(6)][1:]


def main(checkpoints: Path) -> None:
    with served(checkpoints) as (address, _), chromium() as browser:
        first, *later = (seen_after(browser, address, WRITTEN) for _ in range(6))
        report("open the app, the first visitor of this server", [first], 1500)
        report("open the app, later visitors", later, 500)
        whole = [seen_after(browser, address, TAKEN_OVER) for _ in range(6)]
        report("… until Streamlit's scripts have drawn the app itself", whole)
        for said, what in (("open the app", WRITTEN), ("… the app itself", TAKEN_OVER)):
            slow = [seen_after(browser, address, what, mbit=5) for _ in range(3)]
            report(f"{said}, over a line of 5 Mbit/s", slow)
        page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
        page.goto(address)
        page.locator(".hu-glance-word").first.wait_for()
        settled(page)
        page.evaluate(KEY, "Good morning.")
        times = [time for text in SENTENCES for time in typed(page, text)]
        report("from a key to the moving picture", times, 300)
        page.context.close()
        report("open a page of Streamlit that has a heading alone", bare(browser))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "checkpoints")
