"""Memory while a corpus of WMT size is encoded, planned and cut into batches.

    python -m benchmarks.corpus_memory [--pairs 5000000] [--batches 2000]

The pairs are made up as they are read, 4 to 30 words a side, so no text file is needed; the encoded
file is written to a temporary folder (about 55 bytes a pair) and removed. Anonymous memory is what
the process holds; file-backed memory is pages of the mapped file, which the system may take back at
any time.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import psutil

from transformer.text import TokenStore, Vocabulary
from transformer.text.batching import make_batch
from transformer.training.data import epoch_plan

PIECES, BATCH_TOKENS = 4000, 25_000  # a step of the paper has 25,000 tokens a side
LISTED = 100_000  # pairs, to see what Python lists would take


def words() -> list[str]:
    """6,000 made-up words of one to three syllables."""
    syllables = [c + v for c in "bcdfghjklmnprstvz" for v in ("a", "e", "i", "o", "u", "on", "el")]
    chooser = random.Random(1)
    return [
        "".join(chooser.choices(syllables, k=chooser.choice((1, 2, 2, 3)))) for _ in range(6000)
    ]


def stream(n_pairs: int) -> Iterator[tuple[str, str]]:
    """The same pairs every time; common words are as common as Zipf has them."""
    vocabulary, chooser = words(), random.Random(2)
    weights = [1 / rank for rank in range(1, len(vocabulary) + 1)]
    pool = chooser.choices(vocabulary, weights, k=1 << 20)
    for _ in range(n_pairs):
        length, start = chooser.randint(4, 30), chooser.randrange(len(pool) - 64)
        middle = start + length
        end = middle + max(4, length + chooser.randint(-3, 3))
        yield " ".join(pool[start:middle]), " ".join(pool[middle:end])


class Stages:
    """Prints a line when a stage is over."""

    def __init__(self) -> None:
        self.began = time.perf_counter()
        print(f"{'':<42} {'seconds':>8} {'anonymous':>10} {'file-backed':>12} {'peak':>8}   MB")

    def over(self, name: str) -> None:
        seconds = time.perf_counter() - self.began
        anonymous, backed, peak = memory()
        print(
            f"{name:<42} {seconds:8.1f} {anonymous:10,.0f} {backed:12,.0f} {peak:8,.0f}", flush=True
        )
        self.began = time.perf_counter()


def memory() -> tuple[float, float, float]:
    """Anonymous, file-backed and peak resident memory in MB; off Linux all that is resident."""
    status = Path("/proc/self/status")
    if not status.is_file():
        resident = psutil.Process().memory_info().rss / 1e6
        return resident, float("nan"), float("nan")
    fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
    anonymous, backed, peak = (
        int(fields[name].split()[0]) * 1024 / 1e6 for name in ("RssAnon", "RssFile", "VmHWM")
    )
    return anonymous, backed, peak


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=5_000_000)
    parser.add_argument("--batches", type=int, default=2000)
    options = parser.parse_args()
    stages = Stages()
    stages.over("Python, numpy, torch and pyarrow loaded")
    sample = (side for pair in stream(20_000) for side in pair)
    vocabulary = Vocabulary.train(sample, PIECES)
    stages.over(f"{PIECES:,} pieces learned from 20,000 pairs")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pairs.arrow"
        TokenStore.build(path, stream(options.pairs), vocabulary)
        stages.over(f"{options.pairs:,} pairs encoded and written")
        store = TokenStore.open(path, vocabulary)
        stages.over(f"opened: {path.stat().st_size / 1e6:,.0f} MB on disk")
        plan = epoch_plan(store, BATCH_TOKENS, seed=1, epoch=0)
        stages.over(f"an epoch planned: {len(plan):,} batches")
        n_tokens = sum(
            make_batch(store, indices, pad_id=0, bos_id=1).n_tokens
            for indices in islice(plan, options.batches)
        )
        stages.over(f"{min(options.batches, len(plan)):,} batches made, {n_tokens:,} tokens")
        before = memory()[0]
        rows = [
            (store.pair(n)[0].tolist(), store.pair(n)[1].tolist())
            for n in range(min(LISTED, len(store)))
        ]
        share = (memory()[0] - before) * len(store) / len(rows)
        print(f"as Python lists the same ids would hold about {share:,.0f} MB")


if __name__ == "__main__":
    main()
