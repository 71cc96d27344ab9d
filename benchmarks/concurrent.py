"""Translations of the same 500 texts, alone and among concurrent ones, compared exactly.

    python -m benchmarks.concurrent [CHECKPOINTS] [--at-once 8] [--earlier CHECKPOINT]

The texts are sentences of our own grammar as a tokenizer writes them, with a blank before the full
stop. The reference is made beforehand by a model that does nothing else: one text after another, on
one thread. Then the same texts go through what the pages call, from many threads at a time, each
text from two of them, and through the Translate page of a real server, from as many sessions. All
of these must be equal, and the exit status is 1 where one is not.

The rows below them show what does change a translation, and so what a reference must not be made
with: another spelling of the text, batches with bfloat16 products, an earlier checkpoint. The last
column is the greatest difference between two log-probabilities of the same translation.
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

from benchmarks.browser import ROOT, served
from benchmarks.sessions import Session
from transformer import Translator
from transformer.analysis.corpora.own_sentences import grammar_pairs
from transformer.ui.address import View
from transformer.ui.services import models, trace_cache

MODEL = "en-fr"
COUNT = 500
BEAM_SIZE = 4


class Output(NamedTuple):
    """A translation as it is compared; the page shows no log-probability."""

    text: str
    tokens: tuple[str, ...]
    log_probability: float | None = None


def texts(count: int) -> list[str]:
    """So many different sentences of the grammar: "The black cat sleeps ."."""
    pairs = grammar_pairs(4 * count, symbols=True)
    return [*dict.fromkeys(source[:1].upper() + source[1:] for source, *_ in pairs)][:count]


def row(name: str, found: Sequence[Output], expected: Sequence[Output]) -> bool:
    """Print how many texts and token sequences differ; return whether none does."""
    pairs = [*zip(found, expected, strict=True)]
    other_text = sum(one.text != other.text for one, other in pairs)
    other_tokens = sum(one.tokens != other.tokens for one, other in pairs)
    differences = [
        abs(one.log_probability - other.log_probability)
        for one, other in pairs
        if one.tokens == other.tokens and one.log_probability is not None
    ]
    largest = f"{max(differences):.1e}" if differences else "-"
    print(f"{name:<64} {other_text:>5} {other_tokens:>6} {largest:>9}", flush=True)
    return not other_text + other_tokens


def alone(translator: Translator, sources: Sequence[str], view: View) -> list[Output]:
    options = view.decoding()
    results = (translator.translate(text, **options) for text in sources)
    return [Output(one.text, one.tokens, one.log_probability) for one in results]


def in_batches(translator: Translator, sources: Sequence[str], view: View) -> list[Output]:
    results = translator.translate_batch(sources, **view.decoding())
    return [Output(one.text, one.tokens, one.log_probability) for one in results]


def by_service(
    folder: Path, sources: Sequence[str], view: View, at_once: int
) -> list[list[Output]]:
    """Each text twice, from so many threads, through the cache that all pages read from."""
    model = models.load(folder.name, folder)

    def translate(text: str) -> Output:
        done = trace_cache.comparison(model, View(text=text, method=view.method)).trace.translation
        return Output(done.text, done.tokens, done.log_probability)

    with ThreadPoolExecutor(at_once) as pool:
        twice = [text for text in sources for _ in range(2)]
        found = [*pool.map(translate, twice)]
    return [found[::2], found[1::2]]


def by_pages(checkpoints: Path, sources: Sequence[str], view: View, at_once: int) -> list[Output]:
    """Each text on the Translate page of a server, in a session of its own."""

    def translate(address: str, text: str) -> Output:
        query = urlencode({"model": MODEL, "method": view.method, "text": text})
        with Session(address, "translate", query) as session:
            data = session.data("translation")
        return Output(data["text"], tuple(data["tokens"]))

    with (
        tempfile.TemporaryDirectory() as runs,
        served(checkpoints, HEADS_UP_RUNS=runs) as (address, _),
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
    chosen = parser.parse_args()
    torch.set_num_threads(1)  # as the app does
    folder, sources, equal = chosen.checkpoints / MODEL, texts(COUNT), True
    print(f"{len(sources)} texts of which differ from the reference{'text':>30} tokens     log p")
    views = {name: View(method=name) for name in ("greedy", "beam")}
    expected = {name: alone(Translator.load(folder, "cpu"), sources, views[name]) for name in views}
    for name, view in views.items():
        for number, found in enumerate(by_service(folder, sources, view, chosen.at_once), 1):
            what = f"{name}: {chosen.at_once} threads, asked {('first', 'again')[number - 1]}"
            equal &= row(what, found, expected[name])
        found = by_pages(chosen.checkpoints, sources, view, chosen.at_once)
        equal &= row(f"{name}: {chosen.at_once} sessions on Translate", found, expected[name])

    print("What changes a translation:")
    view, reference = views["greedy"], expected["greedy"]
    spaced = [text.replace(" .", ".").replace(" ?", "?") for text in sources]
    row("no blank before the full stop", alone(Translator.load(folder), spaced, view), reference)
    for precision in ("fp32", "auto", "bf16"):
        found = in_batches(Translator.load(folder, "cpu", precision), sources, view)
        row(f"in batches, precision {precision!r}", found, reference)
    torch.set_num_threads(2)
    row("two threads", alone(Translator.load(folder, "cpu"), sources, view), reference)
    torch.set_num_threads(1)
    if chosen.earlier:
        found = alone(Translator.load(chosen.earlier, "cpu"), sources, view)
        row("another checkpoint", found, reference)
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
