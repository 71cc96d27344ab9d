"""The app in a real browser: translate, choose a head, switch a head off; and the server's memory.

    python -m benchmarks.app [CHECKPOINTS]

CHECKPOINTS is a folder of checkpoints, by default `checkpoints`. Prints medians in milliseconds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

import psutil
from playwright.sync_api import Page

from tests.live_app import ROOT, app_server, chromium, wait_for_script_run, wait_until
from transformer import Translator

SENTENCES = [
    "My neighbour sold his boat before the cold winter came.",
    "We left the windows open because the kitchen was full of smoke.",
    "The child asked why the moon follows the train at night.",
    "Nobody told the driver that the bridge was closed today.",
    "She reads the last page of every book before she buys it.",
]
LONG = " ".join(SENTENCES)
PAUSE_MS = 300
"""Milliseconds to wait between a finished picture and the next click; people wait longer."""

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


def milliseconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return 1000 * (time.perf_counter() - start)


def report(label: str, times: list[float], limit: float | None = None) -> None:
    goal = f"   (goal: at most {limit:.0f})" if limit else ""
    print(f"{label:<58} {median(times):8.0f}{goal}", flush=True)


def translate(page: Page, text: str) -> float:
    """Return the milliseconds from pressing Enter to the new translation."""
    box = page.get_by_label("English")
    steps = page.locator(".hu-steps tbody tr")
    before = page.locator(".hu-text").first.inner_text()

    def submit() -> None:
        box.fill(text)
        box.press("Enter")
        wait_until(
            page,
            "(old) => { for (const node of document.querySelectorAll('*')) {"
            " const text = node.shadowRoot && node.shadowRoot.querySelector('.hu-text');"
            " if (text) return text.innerText !== old; } return false; }",
            arg=before,
        )
        steps.first.wait_for()

    return milliseconds(submit)


def report_in_python(folder: Path) -> None:
    translator = Translator.load(folder, device="cpu")
    translator.trace(SENTENCES[0])
    all_tensors, weights_only = [], []
    names = [name for name in translator.model.hook_names if name.endswith("hook_weights")]
    for text in SENTENCES * 3:
        all_tensors.append(milliseconds(partial(translator.trace, text)))
        weights_only.append(milliseconds(partial(translator.trace, text, names=names)))
    tokens = median(len(translator.translate(text).tokens) for text in SENTENCES)
    report(f"translate and trace all tensors ({tokens:.0f} output tokens)", all_tensors, 150)
    report("translate and trace what the pages show", weights_only)


def main(checkpoints: Path) -> None:
    folders = sorted(path.parent for path in checkpoints.glob("*/config.json"))
    if not folders:
        sys.exit(f"There is no checkpoint in {checkpoints}.")
    report_in_python(folders[0])
    with chromium() as browser:
        start = time.perf_counter()
        with app_server(checkpoints) as (address, server):
            start_ms = 1000 * (time.perf_counter() - start)
            report("start the server", [start_ms])
            page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
            page.goto(f"{address}/translate")
            page.locator(".hu-steps").wait_for()
            wait_for_script_run(page)
            report(
                "type a sentence, read its steps (browser)", [translate(page, s) for s in SENTENCES]
            )
            for suffix, text in (("", SENTENCES[0]), (" (long text)", LONG)):
                page.goto(f"{address}/attention?text={text}&kind=encoder&exact=1")
                page.locator(".hu-thumb").first.wait_for()
                wait_for_script_run(page)
                clicks = [page.evaluate(MEASURE_CLICK, [n % 6, n % 8]) for n in range(1, 20)]
                report(f"choose another head, click to picture{suffix}", clicks, 150)
                wait_for_script_run(page)
            page.goto(f"{address}/lab?lab=switch&text={SENTENCES[0]}")
            switch_times = []
            for n in range(27):
                page.get_by_text("Nothing is changed").wait_for()
                page.locator("[data-head]").first.wait_for()
                wait_for_script_run(page)
                page.wait_for_timeout(PAUSE_MS)
                head = f"{'edc'[n % 3]}{n // 3 % 6}.{n % 8}"
                switch_times.append(page.evaluate(MEASURE_SWITCH, [head, "Without"]))
                page.get_by_role("button", name="All on").click()
            report("switch a head off, click to the new translation", switch_times, 150)
            wait_for_script_run(page)
            process = psutil.Process(server.pid)
            peak = max(
                int(line.split()[1])
                for line in Path(f"/proc/{process.pid}/status").read_text().splitlines()
                if line.startswith("VmHWM")
            )
            print(
                f"{'peak memory of the server, MB':<58} {peak / 1024:8.0f}   (goal: at most 1000)"
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "checkpoints")
