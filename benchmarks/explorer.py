"""The explorer as a file, compared with BertViz: its size, time until it is painted, and response
to the pointer.

    python -m benchmarks.explorer [CHECKPOINT] [--rounds 5]

The trace has all heads of the three kinds; BertViz, if it is installed, shows one kind at a time.
Prints medians in milliseconds, from the start of the navigation to the second frame after the
pictures are complete.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median

import torch
from playwright.sync_api import Browser

from benchmarks.harness import VIEWPORT, option_parser
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

# Records the second frame after all thumbnails are drawn. Runs before the page's own scripts.
RECORD_PAINT = """(() => {
  const look = () => {
    const pictures = [...document.querySelectorAll(".hu-thumb canvas")];
    const drawn = ({ width }) => width > 1 && width !== 300;
    if (pictures.length === 144 && pictures.every(drawn)) {
      const record = () => { window.painted = performance.now(); };
      requestAnimationFrame(() => requestAnimationFrame(record));
    } else setTimeout(look, 2);
  };
  look();
})();"""

# The times from 40 pointer events to the end of drawing.
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
  return times;
}"""


def trace_of_length(translator: Translator, n: int) -> Trace:
    """Return a trace of `n` source and `n` target tokens, repeated words of one token each."""
    text = "the house is old and the door is red but we like the house " * 64
    ids = translator.vocabulary.encode(text)[: n - 1]
    source = translator.vocabulary.decode(ids)
    target = [*(ids * 2)[: n - 1], translator.model.config.eos_id]
    names = [name for name in translator.model.hook_names if name.endswith("hook_weights")]
    return translator.trace(source, target, names=names)


def bertviz_megabytes(trace: Trace) -> float:
    """Return the size of BertViz' model view of the same trace."""

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
    return len(page.data) / 1e6


def time_to_paint(browser: Browser, file: Path) -> float:
    with browser.new_context(viewport=VIEWPORT) as context:
        page = context.new_page()
        page.add_init_script(RECORD_PAINT)
        page.goto(file.as_uri(), wait_until="commit")
        page.wait_for_function("window.painted")
        return float(page.evaluate("window.painted"))


def hover_times(browser: Browser, file: Path) -> list[float]:
    """Return the response times of the Heads view to the pointer, measured at the second try."""
    page = browser.new_page(viewport=VIEWPORT)
    page.goto(file.as_uri())
    page.locator(".hu-canvas").wait_for()
    page.wait_for_timeout(500)
    page.evaluate(MEASURE_HOVER)
    times: list[float] = page.evaluate(MEASURE_HOVER)
    page.close()
    return times


def main() -> None:
    parser = option_parser(__doc__)
    parser.add_argument("checkpoint", nargs="?", type=Path, default=ROOT / "checkpoints" / "en-fr")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    translator = Translator.load(options.checkpoint, device="cpu")
    print("tokens      MB   ms to paint   ms to follow the pointer: median, max   MB of BertViz")
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        file = Path(folder) / "page.html"
        for n in LENGTHS:
            trace = trace_of_length(translator, n)
            file.write_text(explorer_page([PackedTrace(trace)], {"view": "model"}), "utf-8")
            megabytes = file.stat().st_size / 1e6
            painted = median(time_to_paint(browser, file) for _ in range(options.rounds))
            file.write_text(explorer_page([PackedTrace(trace)], {"view": "heads"}), "utf-8")
            hover = hover_times(browser, file)
            bertviz = "–"
            if model_view is not None and n <= BERTVIZ_MAX_TOKENS:
                bertviz = f"{bertviz_megabytes(trace):.1f}"
            row = f"{n:6} {megabytes:7.1f} {painted:13.0f} {median(hover):32.1f}, {max(hover):4.1f}"
            print(f"{row} {bertviz:>15}", flush=True)


if __name__ == "__main__":
    main()
