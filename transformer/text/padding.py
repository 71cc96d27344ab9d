"""Sequences of unequal length side by side: padded, shifted right, put in order of their length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor


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
    """What the decoder reads where it should write `rows`: `<s>` first, without the last id.

    The outputs "offset by one position" (section 3.1).
    """
    return [[bos_id, *row[:-1]] for row in rows]


def by_length(*lengths: Sequence[int]) -> list[int]:
    """Numbers of the rows, shortest first; ties by the second lengths, and so on."""
    return sorted(range(len(lengths[0])), key=lambda n: tuple(each[n] for each in lengths))
