"""Which pairs make a batch: of about equal length and bounded size (section 5.1 of the paper)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.int64]


def batch_plan(
    src_lengths: npt.NDArray[np.integer],
    tgt_lengths: npt.NDArray[np.integer],
    *,
    batch_tokens: int,
    seed: int,
    epoch: int,
) -> list[Indices]:
    """Split the pairs into batches of similar length: every index once, batches in random order.

    A batch of n pairs is padded to n * (longest source + longest target) ids, and this is at most
    `batch_tokens`; a single pair longer than that stands alone. The plan depends on `seed` and
    `epoch` alone. Raises ValueError for arrays of unequal length or a size below 1.
    """
    if src_lengths.shape != tgt_lengths.shape:
        raise ValueError(
            f"There are {len(src_lengths)} source lengths and {len(tgt_lengths)} target lengths; "
            "they must be as many."
        )
    if batch_tokens < 1:
        raise ValueError(f"batch_tokens is {batch_tokens}; it must be at least 1.")
    if len(src_lengths) == 0:
        return []
    random = np.random.default_rng([seed, epoch])
    order = _by_length(src_lengths, tgt_lengths, random)
    batches = _cut(order, src_lengths[order], tgt_lengths[order], batch_tokens)
    return [batches[number] for number in random.permutation(len(batches))]


def _by_length(
    src: npt.NDArray[np.integer], tgt: npt.NDArray[np.integer], random: np.random.Generator
) -> Indices:
    """Indices sorted by source length, then target length, ties at random."""
    width = int(tgt.max()) + 1
    # Target lengths rise for even source lengths and fall for odd ones, so that a batch that spans
    # two source lengths still has neighbouring target lengths.
    key = src.astype(np.int64) * width + np.where(src % 2 == 0, tgt, width - 1 - tgt)
    shuffled = random.permutation(len(src))
    key = key[shuffled]
    if key.max() < 1 << 16:
        key = key.astype(np.uint16)  # sorted by radix: ten times faster on millions of pairs
    return shuffled[np.argsort(key, kind="stable")]


def _cut(
    order: Indices,
    src: npt.NDArray[np.integer],
    tgt: npt.NDArray[np.integer],
    batch_tokens: int,
) -> list[Indices]:
    """Cut the order into the longest runs that fit; Python works once a batch, not once a pair."""
    batches = []
    start = 0
    while start < len(order):
        most = max(1, batch_tokens // max(1, int(src[start]) + int(tgt[start])))
        window = slice(start, start + most)
        longest = np.maximum.accumulate(src[window]) + np.maximum.accumulate(tgt[window])
        padded = longest.astype(np.int64) * np.arange(1, len(longest) + 1)
        count = max(1, int(np.searchsorted(padded, batch_tokens, side="right")))
        batches.append(order[start : start + count])
        start += count
    return batches
