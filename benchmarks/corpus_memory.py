"""Memory while a corpus of the size of WMT is encoded, planned and divided into batches.

    python -m benchmarks.corpus_memory [--pairs 5000000] [--batches 2000]

The pairs are generated while they are read, 4 to 30 words per side, so no text file is needed. The
encoded file is written to a temporary folder (about 55 bytes per pair) and deleted. Anonymous
memory belongs to the process; file-backed memory is pages of the memory-mapped file, which the
system can reclaim at any time.
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

VOCABULARY_SIZE, BATCH_TOKENS = 4000, 25_000  # a step of the paper has 25,000 tokens per side
LIST_SAMPLE = 100_000  # pairs from which the memory of Python lists is estimated


def invented_words() -> list[str]:
    """Return 6,000 invented words of one to three syllables."""
    syllables = [c + v for c in "bcdfghjklmnprstvz" for v in ("a", "e", "i", "o", "u", "on", "el")]
    rng = random.Random(1)
    return ["".join(rng.choices(syllables, k=rng.choice((1, 2, 2, 3)))) for _ in range(6000)]


def random_pairs(n_pairs: int) -> Iterator[tuple[str, str]]:
    """Yield pairs, the same in every call; word frequencies follow Zipf's law."""
    vocabulary, rng = invented_words(), random.Random(2)
    weights = [1 / rank for rank in range(1, len(vocabulary) + 1)]
    pool = rng.choices(vocabulary, weights, k=1 << 20)
    for _ in range(n_pairs):
        length, start = rng.randint(4, 30), rng.randrange(len(pool) - 64)
        target_start = start + length
        end = target_start + max(4, length + rng.randint(-3, 3))
        yield " ".join(pool[start:target_start]), " ".join(pool[target_start:end])


class Stages:
    """Prints the time and memory of each stage when it ends."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        print(f"{'':<42} {'seconds':>8} {'anonymous':>10} {'file-backed':>12} {'peak':>8}   MB")

    def end(self, name: str) -> None:
        seconds = time.perf_counter() - self.start
        anonymous, file_backed, peak = memory()
        print(
            f"{name:<42} {seconds:8.1f} {anonymous:10,.0f} {file_backed:12,.0f} {peak:8,.0f}",
            flush=True,
        )
        self.start = time.perf_counter()


def memory() -> tuple[float, float, float]:
    """Return anonymous, file-backed and peak resident memory in MB; on systems other than
    Linux only the resident memory."""
    status = Path("/proc/self/status")
    if not status.is_file():
        resident = psutil.Process().memory_info().rss / 1e6
        return resident, float("nan"), float("nan")
    fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
    anonymous, file_backed, peak = (
        int(fields[name].split()[0]) * 1024 / 1e6 for name in ("RssAnon", "RssFile", "VmHWM")
    )
    return anonymous, file_backed, peak


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=5_000_000)
    parser.add_argument("--batches", type=int, default=2000)
    options = parser.parse_args()
    stages = Stages()
    stages.end("Python, numpy, torch and pyarrow loaded")
    sample = (side for pair in random_pairs(20_000) for side in pair)
    vocabulary = Vocabulary.train(sample, VOCABULARY_SIZE)
    stages.end(f"{VOCABULARY_SIZE:,} pieces learned from 20,000 pairs")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pairs.arrow"
        TokenStore.build(path, random_pairs(options.pairs), vocabulary)
        stages.end(f"{options.pairs:,} pairs encoded and written")
        store = TokenStore.open(path, vocabulary)
        stages.end(f"opened: {path.stat().st_size / 1e6:,.0f} MB on disk")
        plan = epoch_plan(store, BATCH_TOKENS, seed=1, epoch=0)
        stages.end(f"an epoch planned: {len(plan):,} batches")
        n_tokens = sum(
            make_batch(store, indices, pad_id=0, bos_id=1).n_tokens
            for indices in islice(plan, options.batches)
        )
        stages.end(f"{min(options.batches, len(plan)):,} batches, {n_tokens:,} tokens")
        before = memory()[0]
        rows = [
            (store.pair(n)[0].tolist(), store.pair(n)[1].tolist())
            for n in range(min(LIST_SAMPLE, len(store)))
        ]
        list_megabytes = (memory()[0] - before) * len(store) / len(rows)
        print(f"as Python lists the same ids would need about {list_megabytes:,.0f} MB")


if __name__ == "__main__":
    main()
