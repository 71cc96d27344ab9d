"""The home page in a browser: loading time, and time from a keystroke to the animation.

    python -m benchmarks.first_sight [CHECKPOINTS]

CHECKPOINTS is a folder of checkpoints, by default `checkpoints`. Prints medians in milliseconds,
with the maximum in parentheses. Times from a keystroke include the time that the field waits for
further letters. Opening the app is compared with opening a Streamlit page that has only a heading;
both take turns, so that other work on the machine affects both.
"""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, Page

from tests.live_app import ROOT, app_server, chromium, time_to_appear, wait_for_script_run

SENTENCES = (
    "The black cat sleeps under the table.",
    "My sister bought a new car.",
    "We waited for the train all night.",
    "Do you know where he lives?",
    "Nobody wanted to open the window.",
    "The children are playing in the garden.",
    "I have never read this book.",
)

ANIMATION = ".hu-glance-lines .now"  # the first word of the translation appears
HEADING = "h1"
REPETITIONS = 7
GOAL_RATIO = 1.3

# Milliseconds from an input to the frame after its translation begins to appear.
MEASURE_KEYSTROKE = """(text) => new Promise((done) => {
  const views = [...document.querySelectorAll("*")].map((node) => node.shadowRoot);
  const root = views.find((view) => view && view.querySelector(".hu-glance"));
  const [area, source] = [root.querySelector("textarea"), root.querySelector(".hu-glance-words")];
  area.focus();
  area.value = text;
  const start = performance.now();
  area.dispatchEvent(new Event("input", { bubbles: true }));
  const look = () => {
    const words = [...source.children].map((word) => word.textContent).join(" ");
    const grows = words === text && root.querySelector(".hu-glance-lines .now");
    requestAnimationFrame(grows ? () => done(performance.now() - start) : look);
  };
  look();
})"""


def keystroke_times(page: Page, text: str) -> tuple[float, float]:
    """Return the milliseconds from the last letter to the animation, for the sentence without its
    last letter and for the whole sentence."""
    first = float(page.evaluate(MEASURE_KEYSTROKE, text[:-1]))
    last = float(page.evaluate(MEASURE_KEYSTROKE, text))
    return first, last


def report(label: str, times: list[float], limit: float = math.inf) -> None:
    goal = f"   (goal: at most {limit:.0f})" if limit < math.inf else ""
    print(f"{label:<66} {median(times):6.0f} {f'({max(times):.0f})':>8}{goal}", flush=True)


@contextmanager
def bare_page() -> Iterator[str]:
    """Serve a Streamlit page that has only a heading; yield its address."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "bare.py"
        script.write_text('import streamlit as st\nst.title("Here")\n', encoding="utf-8")
        with app_server(Path(folder), script=script) as (address, _):
            yield address


def report_opening(
    browser: Browser, app: str, bare_address: str, repetitions: int = REPETITIONS, mbit: float = 0
) -> None:
    """Report how long a new visitor waits for the app's heading and animation, and for the heading
    of the bare page; `mbit` as in `time_to_appear`."""
    times: dict[str, list[float]] = {"animation": [], "heading": [], "bare": []}
    for _ in range(repetitions):
        times["bare"].append(time_to_appear(browser, bare_address, HEADING, mbit))
        times["heading"].append(time_to_appear(browser, app, HEADING, mbit))
        times["animation"].append(time_to_appear(browser, app, ANIMATION, mbit))
    rate = f", at {mbit:g} Mbit/s" if mbit else ""
    report(f"open a Streamlit page with only a heading{rate}", times["bare"])
    report(f"open the app, until the heading{rate}", times["heading"])
    report(f"open the app, until the animation{rate}", times["animation"])
    ratio = median(times["heading"]) / median(times["bare"])
    print(f"{f'ratio of the two headings{rate}':<66} {ratio:6.2f}", end="")
    print(f"   (goal: at most {GOAL_RATIO})", flush=True)


def main(checkpoints: Path) -> None:
    with (
        app_server(checkpoints) as (address, _),
        bare_page() as bare_address,
        chromium() as browser,
    ):
        report("open the app, first visitor", [time_to_appear(browser, address, ANIMATION)])
        time_to_appear(browser, bare_address, HEADING)
        report_opening(browser, address, bare_address)
        report_opening(browser, address, bare_address, 3, mbit=5)
        page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
        page.goto(address)
        page.locator(".hu-glance-word").first.wait_for()
        wait_for_script_run(page)
        page.evaluate(MEASURE_KEYSTROKE, "Good morning.")
        times = [time for text in SENTENCES for time in keystroke_times(page, text)]
        report("from a keystroke to the animation", times, 300)
        page.context.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "checkpoints")
