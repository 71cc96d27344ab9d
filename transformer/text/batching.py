"""Sequences of unequal length side by side: padded, shifted right, in order; pairs as a batch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import SupportsIndex

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from transformer.text.examples import Pairs


def pad(
    rows: Sequence[Sequence[int]], pad_id: int, device: torch.device | str = "cpu"
) -> Int[Tensor, "rows longest"]:
    """One row each, filled up with `pad_id` behind (int64). Raises ValueError for no rows."""
    if not rows:
        raise ValueError("there are no rows to pad")
    table = np.full((len(rows), max(map(len, rows))), pad_id, dtype=np.int64)
    for number, row in enumerate(rows):
        table[number, : len(row)] = row
    return torch.from_numpy(table).to(device)


def shift_right(rows: Sequence[Sequence[int]], bos_id: int) -> list[list[int]]:
    """What the decoder reads where it should write `rows`: `<s>` first, without the last id. The
    outputs "offset by one position" (section 3.1)."""
    return [[bos_id, *row[:-1]] for row in rows]


def by_length(*lengths: Sequence[int]) -> list[int]:
    """Numbers of the rows, shortest first; ties by the second lengths, and so on."""
    return sorted(range(len(lengths[0])), key=lambda n: tuple(each[n] for each in lengths))


@dataclass(frozen=True)
class Batch:
    """Pairs as padded tensors of ids (int64): what the model reads and what it must say."""

    src: Int[Tensor, "batch src"]
    tgt_in: Int[Tensor, "batch tgt"]
    """`<s>` and the target without its `</s>`: the decoder's input."""
    tgt_out: Int[Tensor, "batch tgt"]
    """The target with its `</s>`: what the decoder should predict at each position."""
    n_tokens: int
    """Ids of source and target together, padding not counted."""

    @property
    def n_pairs(self) -> int:
        """The number of sentence pairs."""
        return self.src.shape[0]

    def to(self, device: torch.device | str) -> Batch:
        """The same batch on another device."""
        return replace(
            self,
            src=self.src.to(device),
            tgt_in=self.tgt_in.to(device),
            tgt_out=self.tgt_out.to(device),
        )


def make_batch(
    store: Pairs, indices: Iterable[SupportsIndex], *, pad_id: int, bos_id: int
) -> Batch:
    """Read these pairs from the store, or from an epoch drawn from stores, and pad them. Raises
    ValueError for no indices, IndexError for one outside the store."""
    pairs = [store.pair(index.__index__()) for index in indices]
    if not pairs:
        raise ValueError("0 pairs make no batch; give at least 1 index.")
    sources, targets = [src.tolist() for src, _ in pairs], [tgt.tolist() for _, tgt in pairs]
    return pad_batch(sources, targets, pad_id=pad_id, bos_id=bos_id)


def pad_batch(
    sources: Sequence[list[int]],
    targets: Sequence[list[int]],
    *,
    pad_id: int,
    bos_id: int,
    device: torch.device | str = "cpu",
) -> Batch:
    """These ids, a source and its target at each place, padded to the longest of each side."""
    return Batch(
        src=pad(sources, pad_id, device),
        tgt_in=pad(shift_right(targets, bos_id), pad_id, device),
        tgt_out=pad(targets, pad_id, device),
        n_tokens=sum(map(len, sources)) + sum(map(len, targets)),
    )
