"""The app: time to open it, cost of a rerun of each page, and response to clicks.

    python -m benchmarks.app [--checkpoints FOLDER] [--rounds 7]

Prints medians in milliseconds. Opening the app, with an empty cache, is compared with opening a
Streamlit page that has only a heading; both take turns, so that other work on the machine affects
both. Reruns are measured without a browser (`tests/websocket_session.py`): the time of a script run
without a change and with another sentence, and what the latter sends to the browser.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, Page

from benchmarks.harness import MEASURE_KEYSTROKE, VIEWPORT, option_parser, report
from tests.live_app import ROOT, app_server, chromium, wait_for_script_run
from tests.websocket_session import Session
from transformer import Translator
from transformer.api.address_fields import DEPTHS
from transformer.inference.device import describe_computed
from transformer.ui.base.registry import HOME, PAGES, path
from transformer.ui.pages.inside import TABS

SENTENCES = [
    "My neighbour sold his boat before the cold winter came.",
    "We left the windows open because the kitchen was full of smoke.",
    "The child asked why the moon follows the train at night.",
    "Nobody told the driver that the bridge was closed today.",
    "She reads the last page of every book before she buys it.",
]
PAUSE_MS = 300
"""Milliseconds to wait between a finished picture and the next click; people wait longer."""
ANIMATION = ".hu-glance-lines .now"  # the first word of the translation appears
HEADING = "h1"

# Milliseconds from navigation to the first frame in which an element matches. The page measures it
# itself, because Playwright polls only every half second.
RECORD_APPEARANCE = """(() => {
  const exists = (root) => [...root.querySelectorAll("*")].some(
    (node) => node.matches(%s) || (node.shadowRoot && exists(node.shadowRoot)));
  window.appearance = new Promise((done) => {
    const look = () => exists(document) ? done(performance.now()) : requestAnimationFrame(look);
    look();
  });
})();"""

# Milliseconds from the click to the frame that follows the new picture.
MEASURE_CLICK = """([layer, head]) => new Promise((done) => {
  const views = [...document.querySelectorAll("*")].map((node) => node.shadowRoot);
  const root = views.find((view) => view && view.querySelector(".hu-thumb"));
  const name = `layer ${layer}, head ${head}`;
  const start = performance.now();
  root.querySelector(`[aria-label="${name}"]`).click();
  requestAnimationFrame(() => requestAnimationFrame(() => {
    const drawn = root.querySelector(".hu-title").textContent === `Layer ${layer}, head ${head}`;
    done(drawn ? performance.now() - start : NaN);
  }));
})"""


# Milliseconds from the click on a head's switch until a paragraph starts with `beginning`.
MEASURE_SWITCH = """([head, beginning]) => new Promise((done) => {
  const views = [...document.querySelectorAll("*")].map((node) => node.shadowRoot);
  const root = views.find((view) => view && view.querySelector("[role=switch]"));
  const start = performance.now();
  root.querySelector(`[data-head="${head}"]`).click();
  const look = () => {
    const lines = [...document.querySelectorAll(".stMarkdown p")];
    const changed = lines.some((line) => line.textContent.startsWith(beginning));
    requestAnimationFrame(changed ? () => done(performance.now() - start) : look);
  };
  look();
})"""

# Milliseconds from the click on a depth until its picture and no other is on the page.
MEASURE_DEPTH = """(button, [selector, left]) => new Promise((done) => {
  const shows = (selector, root = document) => [...root.querySelectorAll("*")].some(
    (node) => node.matches(selector) ? node.checkVisibility() :
      node.shadowRoot && shows(selector, node.shadowRoot));
  const start = performance.now();
  button.click();
  const look = () => {
    const drawn = shows(selector) && !shows(left);
    requestAnimationFrame(drawn ? () => done(performance.now() - start) : look);
  };
  look();
})"""
PICTURES = {
    "bands": ".hu-glance-row",
    "heads": ".hu-thumb",
    "steps": ".hu-steps",
    "off": ".hu-switchboard",
}
"""The element by which the picture of each depth is recognised."""


def milliseconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return 1000 * (time.perf_counter() - start)


def report_in_python(folder: Path) -> None:
    translator = Translator.load(folder, device="cpu")
    print(describe_computed(translator.computed_with))
    translator.trace(SENTENCES[0])
    times = [milliseconds(partial(translator.trace, text)) for text in SENTENCES * 3]
    tokens = median(len(translator.translate(text).tokens) for text in SENTENCES)
    report(f"translate and trace all tensors ({tokens:.0f} output tokens)", times, "150")


def time_to_appear(browser: Browser, address: str, selector: str) -> float:
    """Return the milliseconds until an element matches `selector`, in a new browser profile."""
    with browser.new_context(viewport=VIEWPORT) as context:
        context.add_init_script(RECORD_APPEARANCE % json.dumps(selector))
        page = context.new_page()
        page.goto(address)
        return float(page.evaluate("window.appearance"))


def report_opening(browser: Browser, address: str, bare_address: str, rounds: int) -> None:
    report("open the app, first visitor", [time_to_appear(browser, address, ANIMATION)])
    time_to_appear(browser, bare_address, HEADING)
    places = {
        "open a Streamlit page with only a heading": (bare_address, HEADING),
        "open the app, until the heading": (address, HEADING),
        "open the app, until the animation": (address, ANIMATION),
    }
    times: dict[str, list[float]] = {label: [] for label in places}
    for _ in range(rounds):
        for label, place in places.items():
            times[label].append(time_to_appear(browser, *place))
    for label, milliseconds_of_visits in times.items():
        report(label, milliseconds_of_visits)
    with browser.new_context(viewport=VIEWPORT) as context:
        page = context.new_page()
        page.goto(address)
        page.locator(".hu-glance-word").first.wait_for()
        wait_for_script_run(page)
        page.evaluate(MEASURE_KEYSTROKE, ["Good morning.", ANIMATION])
        keystrokes = [
            float(page.evaluate(MEASURE_KEYSTROKE, [text, ANIMATION])) for text in SENTENCES
        ]
        report("from a keystroke to the animation", keystrokes, "300")


def report_rerun(address: str, page: str, query: str, rounds: int) -> None:
    def open_sentence(number: int) -> float:
        text = SENTENCES[number % len(SENTENCES)].replace(" ", "+")
        session.query = f"text={text}&{query}"
        return session.rerun()

    n_reruns = 3 * rounds
    with Session(address, page) as session:
        for number in range(2 * len(SENTENCES)):
            open_sentence(number)
        received_before = session.received
        sentence_times = [open_sentence(number) for number in range(n_reruns)]
        kilobytes = (session.received - received_before) / n_reruns / 1000
        unchanged_times = [session.rerun() for _ in range(n_reruns)]
    print(
        f"  {f'/{page}{query}':<19} {median(unchanged_times):8.0f} {median(sentence_times):16.0f} "
        f"{kilobytes:8.1f}",
        flush=True,
    )


def report_clicks(page: Page, address: str) -> None:
    page.goto(f"{address}/?depth=heads&text={SENTENCES[0]}&kind=encoder&exact=1")
    page.locator(".hu-thumb").first.wait_for()
    wait_for_script_run(page)
    clicks = [page.evaluate(MEASURE_CLICK, [n % 6 + 1, n % 8 + 1]) for n in range(1, 20)]
    report("choose another head, click to picture", clicks, "150")
    page.goto(f"{address}/?text={SENTENCES[0]}")
    page.locator(PICTURES["bands"]).first.wait_for()
    wait_for_script_run(page)
    depth_buttons = page.get_by_role("group", name="How much to show")
    changes = [*pairwise([*DEPTHS, "bands"])]
    depth_times = []
    for left, depth in changes * 5:
        page.wait_for_timeout(PAUSE_MS)
        button = depth_buttons.get_by_role("button", name=DEPTHS[depth], exact=True)
        depth_times.append(button.evaluate(MEASURE_DEPTH, [PICTURES[depth], PICTURES[left]]))
        wait_for_script_run(page)
    report("from depth to depth, click to picture", depth_times[len(changes) :], "200")
    page.goto(f"{address}/?depth=off&text={SENTENCES[0]}")
    switch_times = []
    for n in range(27):
        page.get_by_text("Switch off a head below").wait_for()
        page.locator("[data-head]").first.wait_for()
        wait_for_script_run(page)
        page.wait_for_timeout(PAUSE_MS)
        head = f"{'edc'[n % 3]}{n // 3 % 6}.{n % 8}"
        switch_times.append(page.evaluate(MEASURE_SWITCH, [head, "After the change"]))
        page.get_by_role("button", name="All on").click()
    report("switch a head off, click to the new translation", switch_times, "150")
    wait_for_script_run(page)


def main() -> None:
    parser = option_parser(__doc__)
    parser.add_argument("--checkpoints", type=Path, default=ROOT / "checkpoints")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    folders = sorted(path.parent for path in options.checkpoints.glob("*/config.json"))
    if not folders:
        parser.error(f"There is no checkpoint in {options.checkpoints}.")
    report_in_python(folders[0])
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        script = folder / "bare.py"
        script.write_text('import streamlit as st\nst.title("Here")\n', encoding="utf-8")
        bare_address, _ = stack.enter_context(app_server(folder, script=script))
        address, _ = stack.enter_context(
            app_server(options.checkpoints, HEADS_UP_RUNS=str(folder / "runs"))
        )
        browser = stack.enter_context(chromium())
        report_opening(browser, address, bare_address, options.rounds)
        print("rerun of      no change, ms   another sentence: ms, kB sent")
        for file in PAGES:
            report_rerun(address, path(file), "", options.rounds)
        for depth in [*DEPTHS][1:]:
            report_rerun(address, path(HOME), f"depth={depth}", options.rounds)
        for tab in [*TABS][1:]:
            report_rerun(address, "inside", f"tab={tab}", options.rounds)
        report_clicks(browser.new_context(viewport=VIEWPORT).new_page(), address)


if __name__ == "__main__":
    main()
