"""The app and the site: time until the first picture, and response to keys and clicks.

    python -m benchmarks.app [--checkpoints FOLDER] [--rounds 7]

Prints medians in milliseconds. Opening the app, with an empty cache, is compared with opening a
Streamlit page that has only a heading; both take turns, so that other work on the machine affects
both. The site runs its model in the browser; its visits are repeated in one profile, in which the
model is stored. Reruns of the Streamlit pages are measured without a browser
(`tests/websocket_session.py`): the time of a script run without a change and with another sentence,
and what the latter sends to the browser.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, BrowserContext, Page

from benchmarks.harness import MEASURE_KEYSTROKE, VIEWPORT, option_parser, report
from tests.live_app import ROOT, app_server, chromium, http_server
from tests.websocket_session import Session
from transformer import Translator
from transformer.api.address_fields import DEPTHS
from transformer.inference.device import describe_computed
from transformer.ui.base.registry import HOME, PAGES, path
from transformer.ui.pages.inside import TABS
from transformer.ui.site.static_site import write_site

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
  const views = [document, ...[...document.querySelectorAll("*")].map((node) => node.shadowRoot)];
  const root = views.find((view) => view?.querySelector(".hu-mosaic .hu-thumb"));
  const name = `layer ${layer}, head ${head}`;
  const start = performance.now();
  root.querySelector(`.hu-mosaic [aria-label="${name}"]`).click();
  requestAnimationFrame(() => requestAnimationFrame(() => {
    const drawn = root.querySelector(".hu-title").textContent === `Layer ${layer}, head ${head}`;
    done(drawn ? performance.now() - start : NaN);
  }));
})"""


# Milliseconds from the click on a head's switch until the translation without it is drawn.
MEASURE_SWITCH = """(head) => new Promise((done) => {
  const views = [document, ...[...document.querySelectorAll("*")].map((node) => node.shadowRoot)];
  const root = views.find((view) => view?.querySelector(".hu-switchboard"));
  const start = performance.now();
  root.querySelector(`.hu-switchboard [data-head="${head}"]`).click();
  const look = () => {
    const drawn = root.querySelector(".hu-live-results").textContent.includes("After the change");
    requestAnimationFrame(drawn ? () => done(performance.now() - start) : look);
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
    print(f"{describe_computed(translator.computed_with)}, load {os.getloadavg()[0]:.1f}")
    translator.trace(SENTENCES[0])
    times = [milliseconds(partial(translator.trace, text)) for text in SENTENCES * 3]
    tokens = median(len(translator.translate(text).tokens) for text in SENTENCES)
    report(f"translate and trace all tensors ({tokens:.0f} output tokens)", times, "150")


def time_to_appear(browser: Browser, address: str, selector: str) -> float:
    """Return the milliseconds until an element matches `selector`, in a new browser profile."""
    with browser.new_context(viewport=VIEWPORT) as context:
        return visit(context, address, selector)


def visit(context: BrowserContext, address: str, selector: str) -> float:
    """Return the milliseconds until an element matches `selector`, in a new tab."""
    page = context.new_page()
    page.add_init_script(RECORD_APPEARANCE % json.dumps(selector))
    page.goto(address)
    milliseconds = float(page.evaluate("window.appearance"))
    page.close()
    return milliseconds


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


def report_keystrokes(page: Page, address: str, place: str) -> None:
    page.goto(address)
    page.locator(".hu-glance-word").first.wait_for()
    page.evaluate(MEASURE_KEYSTROKE, ["Good morning.", ANIMATION])
    keystrokes = [float(page.evaluate(MEASURE_KEYSTROKE, [text, ANIMATION])) for text in SENTENCES]
    report(f"from a keystroke to the animation, {place}", keystrokes, "150")


def report_depths(page: Page, address: str, place: str) -> None:
    page.goto(f"{address}?text={SENTENCES[0]}")
    page.locator(PICTURES["bands"]).first.wait_for()
    depth_buttons = page.get_by_role("group", name="How much to show")
    changes = [*pairwise([*DEPTHS, "bands"])]
    times = []
    for left, depth in changes * 5:
        page.wait_for_timeout(PAUSE_MS)
        button = depth_buttons.get_by_role("button", name=DEPTHS[depth], exact=True)
        times.append(button.evaluate(MEASURE_DEPTH, [PICTURES[depth], PICTURES[left]]))
    report(f"from depth to depth, click to picture, {place}", times[len(changes) :], "60")


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
    page.goto(f"{address}?depth=heads&text={SENTENCES[0]}&kind=encoder&exact=1")
    page.locator(".hu-mosaic .hu-thumb").first.wait_for()
    clicks = [page.evaluate(MEASURE_CLICK, [n % 6 + 1, n % 8 + 1]) for n in range(1, 20)]
    report("choose another head, click to picture", clicks, "150")
    page.goto(f"{address}?depth=off&text={SENTENCES[0]}")
    for label in ("first time", "again"):
        times = []
        for n in range(27):
            page.get_by_text("Switch off a head below").wait_for()
            page.locator(".hu-switchboard [data-head]").first.wait_for()
            page.wait_for_timeout(PAUSE_MS)
            times.append(page.evaluate(MEASURE_SWITCH, f"{'edc'[n % 3]}{n // 3 % 6}.{n % 8}"))
            page.get_by_role("button", name="All on").click()
        report(f"switch a head off, click to the new translation, {label}", times, "100")


def report_site(browser: Browser, folder: Path, rounds: int) -> None:
    """Measure the site in one browser profile."""
    write_site(folder)
    context = browser.new_context(viewport=VIEWPORT)
    with http_server(folder) as address:
        visits = [visit(context, address, ANIMATION) for _ in range(rounds)]
        report("open the site, until the animation", visits, "800")
        page = context.new_page()
        report_keystrokes(page, address, "site")
        report_depths(page, address, "site")
    context.close()


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
        report_opening(browser, f"{address}/", bare_address, options.rounds)
        page = browser.new_context(viewport=VIEWPORT).new_page()
        report_keystrokes(page, f"{address}/", "app")
        report_depths(page, f"{address}/", "app")
        report_clicks(page, f"{address}/")
        report_site(browser, folder / "site", options.rounds)
        print("rerun of      no change, ms   another sentence: ms, kB sent")
        for file in PAGES:
            if file != HOME:
                report_rerun(address, path(file), "", options.rounds)
        for tab in [*TABS][1:]:
            report_rerun(address, "inside", f"tab={tab}", options.rounds)


if __name__ == "__main__":
    main()
