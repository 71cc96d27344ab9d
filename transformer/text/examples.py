"""The examples of one epoch: pairs sampled from stores by weight, some concatenated, in batches.

A model trained on single short sentences fails on a paragraph, because positions beyond the longest
sentence never occurred. Concatenating pairs helps without more text (Kondo et al. 2021, "Sentence
Concatenation Approach to Data Augmentation for Neural Machine Translation"); here the pairs are
random.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from transformer.text.store import Ids, Lengths

MAX_JOINED = 4
Augmentation = Callable[[Sequence[tuple[Ids, Ids]], np.random.Generator], list[tuple[Ids, Ids]]]
"""Changes pairs of ids; returns as many as it is given."""


@runtime_checkable  # the tests check it at every call
class Pairs(Protocol):
    """Encoded pairs by index: a token store, or the examples of an epoch."""

    @property
    def src_lengths(self) -> Lengths: ...
    @property
    def tgt_lengths(self) -> Lengths: ...
    def __len__(self) -> int: ...
    def pair(self, index: int) -> tuple[Ids, Ids]: ...


class Examples:
    """The examples of one epoch: single pairs, or two to four pairs concatenated.

    Only the last sentence of a concatenated side keeps its `</s>`. The result is the encoding of
    the concatenated text, since each piece itself marks whether a space precedes it.
    """

    def __init__(
        self,
        stores: Sequence[Pairs],
        weights: Sequence[float],
        *,
        concat_prob: float,
        max_len: int,
        seed: int,
        epoch: int,
        augment: Augmentation | None = None,
    ) -> None:
        """
        Args:
            weights: how often an epoch reads each store: 1 is every pair once, 0.5 a random half
                of the pairs, 2.5 every pair twice and a random half a third time.
            concat_prob: fraction of the examples that concatenate two to four random pairs (each
                number with the same probability).
            max_len: maximum number of ids on a side; pairs that would exceed it when concatenated
                stay single.
            seed, epoch: determine all random choices.
            augment: changes all pairs of the epoch before they are concatenated; they are then
                kept in memory. A pair that would exceed `max_len` on a side stays unchanged.
        """
        random = np.random.default_rng([seed, epoch, 1])
        self._stores = stores
        self._starts = np.cumsum([0] + [len(store) for store in stores])
        drawn = [
            start + _draw_indices(len(store), weight, random)
            for store, weight, start in zip(stores, weights, self._starts, strict=False)
        ]
        order = random.permutation(np.concatenate(drawn))
        src, tgt = (
            np.concatenate([getattr(store, side) for store in stores])[order]
            for side in ("src_lengths", "tgt_lengths")
        )
        self._augmented: list[tuple[Ids, Ids]] | None = None
        if augment is not None:
            pairs = [self._stored(number) for number in order.tolist()]
            self._augmented = [
                augmented if max(map(len, augmented)) <= max_len else original
                for original, augmented in zip(pairs, augment(pairs, random), strict=True)
            ]
            src, tgt = (
                np.array([len(pair[side]) for pair in self._augmented], np.int32) for side in (0, 1)
            )
        sizes = _group_sizes(len(order), concat_prob, random)
        sizes = _split_long_groups(sizes, src, tgt, max_len)
        self._order, self._firsts = order, np.cumsum(sizes) - sizes
        self._sizes = sizes
        self.src_lengths: Lengths = _lengths(src, self._firsts, sizes)
        self.tgt_lengths: Lengths = _lengths(tgt, self._firsts, sizes)

    def __len__(self) -> int:
        return len(self._sizes)

    def pair(self, index: int) -> tuple[Ids, Ids]:
        """Return source and target ids, each ending in one `</s>`. Raises IndexError."""
        if not 0 <= index < len(self):
            raise IndexError(f"There is no example {index}; the epoch has 0 to {len(self) - 1}.")
        first = int(self._firsts[index])
        last = first + int(self._sizes[index])
        if self._augmented is not None:
            parts = self._augmented[first:last]
        else:
            parts = [self._stored(n) for n in self._order[first:last].tolist()]
        src, tgt = ([part[side] for part in parts] for side in (0, 1))
        return _concatenate(src), _concatenate(tgt)

    def _stored(self, number: int) -> tuple[Ids, Ids]:
        store = int(np.searchsorted(self._starts, number, side="right")) - 1
        return self._stores[store].pair(number - int(self._starts[store]))


def _draw_indices(count: int, weight: float, random: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return each index below `count` ⌊weight⌋ times, and a random fraction once more."""
    repeats = int(weight)
    once_more = random.permutation(count)[: round((weight - repeats) * count)]
    return np.concatenate([np.tile(np.arange(count), repeats), once_more])


def _group_sizes(
    count: int, concat_prob: float, random: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Return the number of pairs in each example; they sum to `count`."""
    joined = random.random(count) < concat_prob
    sizes = np.where(joined, random.integers(2, MAX_JOINED + 1, count), 1)
    ends = np.cumsum(sizes)
    n_groups = int(np.searchsorted(ends, count, side="left")) + 1
    sizes = sizes[:n_groups]
    sizes[-1] -= int(ends[n_groups - 1]) - count
    return sizes


def _split_long_groups(
    sizes: npt.NDArray[np.int64], src: Lengths, tgt: Lengths, max_len: int
) -> npt.NDArray[np.int64]:
    """Return `sizes` with every group that exceeds `max_len` on a side split into single pairs."""
    firsts = np.cumsum(sizes) - sizes
    longest = np.maximum(_lengths(src, firsts, sizes), _lengths(tgt, firsts, sizes))
    too_long = (longest > max_len) & (sizes > 1)
    counts = np.where(too_long, sizes, 1)
    split_sizes = np.repeat(np.where(too_long, 1, sizes), counts)
    return np.asarray(split_sizes)


def _lengths(
    pair_lengths: Lengths, firsts: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]
) -> Lengths:
    """Return the number of ids of each example: the sum of its parts without the inner `</s>`."""
    return np.asarray(np.add.reduceat(pair_lengths, firsts) - (sizes - 1), dtype=np.int32)


def _concatenate(parts: list[Ids]) -> Ids:
    return np.concatenate([*(part[:-1] for part in parts[:-1]), parts[-1]])


Indices = npt.NDArray[np.int64]


def batch_plan(
    src_lengths: npt.NDArray[np.integer],
    tgt_lengths: npt.NDArray[np.integer],
    *,
    batch_tokens: int,
    seed: int,
    epoch: int,
) -> list[Indices]:
    """Split the pairs into batches of similar length (section 5.1), each index once, shuffled.

    A batch of n pairs is padded to n * (longest source + longest target) ids, at most
    `batch_tokens`; a single longer pair is a batch by itself. The plan depends only on `seed` and
    `epoch`.
    """
    if len(src_lengths) == 0:
        return []
    random = np.random.default_rng([seed, epoch])
    order = _by_length(src_lengths, tgt_lengths, random)
    batches = _cut_batches(order, src_lengths[order], tgt_lengths[order], batch_tokens)
    return [batches[number] for number in random.permutation(len(batches))]


def _by_length(
    src: npt.NDArray[np.integer], tgt: npt.NDArray[np.integer], random: np.random.Generator
) -> Indices:
    """Return indices sorted by source length, then target length, with random order in ties."""
    width = int(tgt.max()) + 1
    # Target lengths ascend for even source lengths and descend for odd ones, so that a batch that
    # spans two source lengths still has similar target lengths.
    key = src.astype(np.int64) * width + np.where(src % 2 == 0, tgt, width - 1 - tgt)
    shuffled = random.permutation(len(src))
    key = key[shuffled]
    if key.max() < 1 << 16:
        key = key.astype(np.uint16)  # radix sort: ten times faster on millions of pairs
    return shuffled[np.argsort(key, kind="stable")]


def _cut_batches(
    order: Indices, src: npt.NDArray[np.integer], tgt: npt.NDArray[np.integer], batch_tokens: int
) -> list[Indices]:
    """Cut the order into the longest runs that fit; the Python loop runs per batch, not per
    pair."""
    batches = []
    start = 0
    while start < len(order):
        max_pairs = max(1, batch_tokens // max(1, int(src[start]) + int(tgt[start])))
        window = slice(start, start + max_pairs)
        longest = np.maximum.accumulate(src[window]) + np.maximum.accumulate(tgt[window])
        padded = longest.astype(np.int64) * np.arange(1, len(longest) + 1)
        count = max(1, int(np.searchsorted(padded, batch_tokens, side="right")))
        batches.append(order[start : start + count])
        start += count
    return batches
