"""Compare the explorer with BertViz in one browser: size of the page and time until it is painted.

    python -m benchmarks.explorer [CHECKPOINT] [--scripts FOLDER] [--rounds N]

Both show the same trace, with all heads of the three kinds, as a local file. BertViz loads
require.js, d3 and jQuery from a CDN; without a network, --scripts names a folder with require.js,
d3.min.js and jquery.min.js. If the scripts or BertViz are missing, only our explorer is measured,
which loads nothing. Prints medians in milliseconds, from the start of the navigation to the second
frame after the pictures are complete.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from pathlib import Path
from statistics import median
from typing import Any
from urllib.request import urlopen

import torch
from playwright.sync_api import Browser, Page, Route

from tests.live_app import ROOT, chromium
from transformer import Translator
from transformer.figures import PackedTrace, explorer_page
from transformer.inference import Trace
from transformer.measures.kinds import AttentionKind

try:
    from bertviz import model_view
except ImportError:
    model_view = None

LENGTHS = (16, 64, 128, 512)
BERTVIZ_MAX_TOKENS = 128
"""Maximum number of tokens for BertViz; with more, its page has over a gigabyte of JSON."""

SCRIPTS = {"require": "require.js", "d3": "d3.min.js", "jquery": "jquery.min.js"}
TIMEOUT_MS = 180_000

# Records the second frame after `done` is first true. Runs before the page's own scripts.
RECORD_PAINT = """(() => {
  const find = (node, selector) => node.querySelectorAll(selector);
  const look = () => {
    if (document.body && (%s)) {
      const record = () => { window.painted = performance.now(); };
      requestAnimationFrame(() => requestAnimationFrame(record));
    } else setTimeout(look, 2);
  };
  look();
})();"""
OURS_DONE = """find(document, '.hu-thumb canvas').length === 144
  && [...find(document, '.hu-thumb canvas')].every((c) => c.width > 1 && c.width !== 300)"""
BERTVIZ_DONE = "find(document, 'svg line').length >= %d"

# The times from 40 pointer events to the end of drawing, sorted.
MEASURE_HOVER = """() => {
  const canvas = document.querySelector('.hu-canvas');
  const box = canvas.getBoundingClientRect();
  const times = [];
  for (let i = 0; i < 40; i++) {
    const x = box.left + box.width * (i % 2 ? 0.9 : 0.1);
    const y = box.top + box.height * (0.05 + 0.9 * i / 40);
    const start = performance.now();
    const moved = { clientX: x, clientY: y, bubbles: true };
    canvas.dispatchEvent(new PointerEvent('pointermove', moved));
    canvas.getContext('2d').getImageData(0, 0, 1, 1); // waits until it is drawn
    times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b);
}"""


def trace_of_length(translator: Translator, n: int) -> Trace:
    """Return a trace of `n` source and `n` target tokens, repeated words of one token each."""
    text = "the house is old and the door is red but we like the house " * 64
    ids = translator.vocabulary.encode(text)[: n - 1]
    source = translator.vocabulary.decode(ids)
    target = [*(ids * 2)[: n - 1], translator.model.config.eos_id]
    names = [name for name in translator.model.hook_names if name.endswith("hook_weights")]
    return translator.trace(source, target, names=names)


def our_page(trace: Trace, view: str) -> str:
    return explorer_page([PackedTrace(trace)], {"view": view})


def bertviz_page(trace: Trace) -> str:
    def layers(kind: AttentionKind) -> list[torch.Tensor]:
        weights = [trace.weights(kind, layer) for layer in range(trace.n_layers)]
        return [torch.tensor(layer)[None] for layer in weights]

    page = model_view(
        encoder_attention=layers("encoder"),
        decoder_attention=layers("decoder"),
        cross_attention=layers("cross"),
        encoder_tokens=list(trace.src_tokens),
        decoder_tokens=list(trace.tgt_tokens),
        html_action="return",
    )
    return f"<!doctype html><html><meta charset='utf-8'><body>{page.data}</body></html>"


def bertviz_problem(translator: Translator, folder: Path | None) -> str | None:
    """Return why BertViz cannot be measured; None if it can."""
    if model_view is None:
        return "it is not installed; pip install -r requirements-benchmarks.txt"
    return missing_scripts(bertviz_page(trace_of_length(translator, LENGTHS[0])), folder)


def missing_scripts(html: str, folder: Path | None) -> str | None:
    """Return which script BertViz' page cannot load; None if it can load all of them."""
    if folder is not None:
        missing = [name for name in SCRIPTS.values() if not (folder / name).is_file()]
        return f"{folder} has no {', '.join(missing)}" if missing else None
    for url in re.findall(r"""["'](https://[^"']+\.js)["']""", html):
        try:
            urlopen(url, timeout=5).close()
        except OSError as error:
            return f"{url} cannot be loaded ({error}); --scripts FOLDER measures without a network"
    return None


def time_to_paint(
    browser: Browser, file: Path, done_expression: str, scripts: Path | None
) -> tuple[float, Page]:
    """Return the milliseconds until the file is painted, and the page."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    page = context.new_page()

    def serve_script(route: Route) -> None:
        name = next(name for key, name in SCRIPTS.items() if key in route.request.url)
        route.fulfill(path=scripts / name if scripts else None)

    if scripts:
        page.route(re.compile("^https:"), serve_script)
    page.add_init_script(RECORD_PAINT % done_expression)
    page.goto(file.as_uri(), timeout=TIMEOUT_MS, wait_until="commit")
    page.wait_for_function("window.painted", timeout=TIMEOUT_MS)
    return float(page.evaluate("window.painted")), page


def median_time_to_paint(
    browser: Browser, html: str, done_expression: str, rounds: int, scripts: Path | None = None
) -> float:
    """Return the median milliseconds until `html`, opened as a file, is painted."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        file.write_text(html, encoding="utf-8")
        times = []
        for _ in range(rounds):
            milliseconds, page = time_to_paint(browser, file, done_expression, scripts)
            times.append(milliseconds)
            page.context.close()
    return median(times)


def hover_times(browser: Browser, html: str) -> list[float]:
    """Return the response times of the Heads view to the pointer, sorted."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        file.write_text(html, encoding="utf-8")
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.goto(file.as_uri())
        page.locator(".hu-canvas").wait_for()
        page.wait_for_timeout(500)
        page.evaluate(MEASURE_HOVER)
        times: list[float] = page.evaluate(MEASURE_HOVER)
        page.close()
    return times


def print_row(n: int, explorer: list[float], bertviz: list[float] | None) -> None:
    """Print a row: megabytes and milliseconds of both, and the ratios to the explorer."""
    text = f"{n:>6}  {explorer[0]:>8.2f} {explorer[1]:>8.0f}"
    if bertviz is None:
        print(f"{text}  {'—':>9} {'—':>9}", flush=True)
        return
    ratios = f"{bertviz[0] / explorer[0]:>7.1f} × {bertviz[1] / explorer[1]:>6.1f} ×"
    print(f"{text}  {bertviz[0]:>9.2f} {bertviz[1]:>9.0f}  {ratios}", flush=True)


def main(arguments: Any) -> None:
    translator = Translator.load(arguments.checkpoint, device="cpu")
    config = translator.model.config
    heads_per_kind = config.n_layers * config.n_heads
    problem = bertviz_problem(translator, arguments.scripts)
    if problem:
        print(f"BertViz is not measured: {problem}.")
    print(
        f"Model view: the explorer shows all three kinds ({3 * heads_per_kind} heads), "
        f"BertViz one ({heads_per_kind})."
    )
    print(f"{'':>6}  {'explorer':>8} {'':>8}  {'BertViz':>9} {'':>9}  {'BertViz / explorer':>18}")
    print(f"{'tokens':>6}  {'MB':>8} {'ms':>8}  {'MB':>9} {'ms':>9}  {'MB':>9} {'ms':>7}")
    with chromium() as browser:
        for n in LENGTHS:
            trace = trace_of_length(translator, n)
            html = our_page(trace, "model")
            milliseconds = median_time_to_paint(browser, html, OURS_DONE, arguments.rounds)
            ours, bertviz = [len(html) / 1e6, milliseconds], None
            if n <= BERTVIZ_MAX_TOKENS and not problem:
                bertviz_html = bertviz_page(trace)
                done_expression = BERTVIZ_DONE % (heads_per_kind * n * n)
                rounds = min(arguments.rounds, 3)
                milliseconds = median_time_to_paint(
                    browser, bertviz_html, done_expression, rounds, arguments.scripts
                )
                bertviz = [len(bertviz_html) / 1e6, milliseconds]
            print_row(n, ours, bertviz)
        print("\nHeads view: response to a move of the pointer, ms (a frame has 16.7)")
        for n in LENGTHS:
            times = hover_times(browser, our_page(trace_of_length(translator, n), "heads"))
            print(f"{n:>6} tokens   median {median(times):5.1f}   max {times[-1]:5.1f}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", nargs="?", type=Path, default=ROOT / "checkpoints" / "en-fr")
    parser.add_argument("--scripts", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    main(parser.parse_args())
