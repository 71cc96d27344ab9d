"""Padding, shifting and sorting of token sequences, and batches of sentence pairs."""

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
    """Pad every row at its end with `pad_id` (int64). Raises ValueError if there are no rows."""
    if not rows:
        raise ValueError("there are no rows to pad")
    table = np.full((len(rows), max(map(len, rows))), pad_id, dtype=np.int64)
    for number, row in enumerate(rows):
        table[number, : len(row)] = row
    return torch.from_numpy(table).to(device)


def shift_right(rows: Sequence[Sequence[int]], bos_id: int) -> list[list[int]]:
    """Return the decoder's input for the targets `rows`: `<s>` first, without the last id; the
    outputs "offset by one position" (section 3.1)."""
    return [[bos_id, *row[:-1]] for row in rows]


def by_length(*lengths: Sequence[int]) -> list[int]:
    """Return row indices sorted by length; ties are broken by the second lengths, and so on."""
    return sorted(
        range(len(lengths[0])), key=lambda n: tuple(item_lengths[n] for item_lengths in lengths)
    )


@dataclass(frozen=True)
class Batch:
    """Sentence pairs as padded tensors of ids (int64): the model's inputs and its targets."""

    src: Int[Tensor, "batch src"]
    tgt_in: Int[Tensor, "batch tgt"]
    """`<s>` and the target without its `</s>`: the decoder's input."""
    tgt_out: Int[Tensor, "batch tgt"]
    """The target with its `</s>`: the token to predict at each position."""

    def to(self, device: torch.device | str) -> Batch:
        """The same batch on another device."""
        return replace(
            self,
            src=self.src.to(device),
            tgt_in=self.tgt_in.to(device),
            tgt_out=self.tgt_out.to(device),
        )

    def twice(self) -> Batch:
        """The rows of the batch, and the same rows again."""
        src, tgt_in, tgt_out = (
            torch.cat([ids, ids]) for ids in (self.src, self.tgt_in, self.tgt_out)
        )
        return replace(self, src=src, tgt_in=tgt_in, tgt_out=tgt_out)


def make_batch(
    store: Pairs, indices: Iterable[SupportsIndex], *, pad_id: int, bos_id: int
) -> Batch:
    """Read the pairs with these indices and pad them. Raises ValueError if there are no indices,
    IndexError for an index outside the store."""
    pairs = [store.pair(index.__index__()) for index in indices]
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
    """Make a batch of these sources and their targets, each side padded to its longest row."""
    return Batch(
        src=pad(sources, pad_id, device),
        tgt_in=pad(shift_right(targets, bos_id), pad_id, device),
        tgt_out=pad(targets, pad_id, device),
    )
