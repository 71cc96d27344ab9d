"""Compare translations of 500 texts, one at a time and concurrently, which must be equal.

    python -m benchmarks.concurrent [CHECKPOINTS] [--at-once 8] [--earlier CHECKPOINT]

The texts are sentences of the built-in grammar, tokenized, with a space before the full stop. The
reference is computed first: one text after another, on one thread. Then the same texts go through
the function that the pages call, from many threads, each text twice, and through the Translate page
of a real server, from as many sessions. All translations must be equal, or the exit status is 1.

The last rows show what does change translations: another spelling of the text, batches with
bfloat16 products, another checkpoint. The last column is the largest difference between two
log-probabilities of the same translation.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import torch

from benchmarks.browser import ROOT, app_server
from benchmarks.sessions import Session
from transformer import Translator
from transformer.analysis.corpora.bundled_sentences import grammar_pairs
from transformer.ui.address import View
from transformer.ui.services import models, trace_cache

MODEL = "en-fr"
COUNT = 500
BEAM_SIZE = 4


class Output(NamedTuple):
    """The parts of a translation that are compared; pages show no log-probability."""

    text: str
    tokens: tuple[str, ...]
    log_probability: float | None = None


def texts(count: int) -> list[str]:
    """Return this many different sentences of the grammar: "The black cat sleeps ."."""
    pairs = grammar_pairs(4 * count, symbols=True)
    return [*dict.fromkeys(source[:1].upper() + source[1:] for source, *_ in pairs)][:count]


def compare_outputs(name: str, outputs: Sequence[Output], expected: Sequence[Output]) -> bool:
    """Print how many texts and token sequences differ; return whether none does."""
    pairs = [*zip(outputs, expected, strict=True)]
    other_text = sum(actual.text != reference.text for actual, reference in pairs)
    other_tokens = sum(actual.tokens != reference.tokens for actual, reference in pairs)
    differences = [
        abs(actual.log_probability - reference.log_probability)
        for actual, reference in pairs
        if actual.tokens == reference.tokens and actual.log_probability is not None
    ]
    largest = f"{max(differences):.1e}" if differences else "-"
    print(f"{name:<64} {other_text:>5} {other_tokens:>6} {largest:>9}", flush=True)
    return not other_text + other_tokens


def translate_alone(translator: Translator, sources: Sequence[str], view: View) -> list[Output]:
    options = view.decoding()
    results = (translator.translate(text, **options) for text in sources)
    return [Output(result.text, result.tokens, result.log_probability) for result in results]


def translate_in_batches(
    translator: Translator, sources: Sequence[str], view: View
) -> list[Output]:
    results = translator.translate_batch(sources, **view.decoding())
    return [Output(result.text, result.tokens, result.log_probability) for result in results]


def translate_concurrently(
    folder: Path, sources: Sequence[str], view: View, at_once: int
) -> list[list[Output]]:
    """Translate each text twice, from many threads, through the cache that all pages use."""
    model = models.load(folder.name, folder)

    def translate(text: str) -> Output:
        translation = trace_cache.comparison(
            model, View(text=text, method=view.method)
        ).trace.translation
        return Output(translation.text, translation.tokens, translation.log_probability)

    with ThreadPoolExecutor(at_once) as pool:
        repeated = [text for text in sources for _ in range(2)]
        outputs = [*pool.map(translate, repeated)]
    return [outputs[::2], outputs[1::2]]


def translate_on_pages(
    checkpoints: Path, sources: Sequence[str], view: View, at_once: int
) -> list[Output]:
    """Translate each text on the Translate page of a server, in a new session."""

    def translate(address: str, text: str) -> Output:
        query = urlencode({"model": MODEL, "method": view.method, "text": text})
        with Session(address, "translate", query) as session:
            data = session.data("translation")
        return Output(data["text"], tuple(data["tokens"]))

    with (
        tempfile.TemporaryDirectory() as runs,
        app_server(checkpoints, HEADS_UP_RUNS=runs) as (address, _),
        ThreadPoolExecutor(at_once) as pool,
    ):
        return [*pool.map(lambda text: translate(address, text), sources)]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkpoints", nargs="?", type=Path, default=ROOT / "checkpoints")
    parser.add_argument("--at-once", type=int, default=8, help="threads, and sessions")
    parser.add_argument("--earlier", type=Path, help="a checkpoint to compare with")
    options = parser.parse_args()
    torch.set_num_threads(1)  # as the app does
    folder, sources, equal = options.checkpoints / MODEL, texts(COUNT), True
    print(f"{len(sources)} texts of which differ from the reference{'text':>30} tokens     log p")
    views = {name: View(method=name) for name in ("greedy", "beam")}
    expected = {
        name: translate_alone(Translator.load(folder, "cpu"), sources, views[name])
        for name in views
    }
    for name, view in views.items():
        for number, outputs in enumerate(
            translate_concurrently(folder, sources, view, options.at_once), 1
        ):
            label = f"{name}: {options.at_once} threads, {('first', 'second')[number - 1]} request"
            equal &= compare_outputs(label, outputs, expected[name])
        outputs = translate_on_pages(options.checkpoints, sources, view, options.at_once)
        equal &= compare_outputs(
            f"{name}: {options.at_once} sessions on Translate", outputs, expected[name]
        )

    print("What changes a translation:")
    view, reference = views["greedy"], expected["greedy"]
    without_space = [text.replace(" .", ".").replace(" ?", "?") for text in sources]
    compare_outputs(
        "no space before the full stop",
        translate_alone(Translator.load(folder), without_space, view),
        reference,
    )
    for precision in ("fp32", "auto", "bf16"):
        outputs = translate_in_batches(Translator.load(folder, "cpu", precision), sources, view)
        compare_outputs(f"in batches, precision {precision!r}", outputs, reference)
    torch.set_num_threads(2)
    compare_outputs(
        "two threads", translate_alone(Translator.load(folder, "cpu"), sources, view), reference
    )
    torch.set_num_threads(1)
    if options.earlier:
        outputs = translate_alone(Translator.load(options.earlier, "cpu"), sources, view)
        compare_outputs("another checkpoint", outputs, reference)
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
