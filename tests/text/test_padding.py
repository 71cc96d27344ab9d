"""Rows padded, shifted right and put in order, against torch's own and plain definitions."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.utils.rnn import pad_sequence

from transformer.text.padding import by_length, pad, shift_right

ROWS = st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=6), min_size=1, max_size=5)


@given(ROWS)
def test_padding_is_torchs(rows: list[list[int]]) -> None:
    wanted = pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
    assert torch.equal(pad(rows, 0), wanted)


def test_no_rows_are_no_batch() -> None:
    with pytest.raises(ValueError, match="no rows"):
        pad([], 0)


@given(ROWS)
def test_what_the_decoder_reads_is_one_behind_what_it_writes(rows: list[list[int]]) -> None:
    read = pad(shift_right(rows, 11), 0)
    written = pad(rows, 0)
    assert (read[:, 0] == 11).all()
    for number, row in enumerate(rows):
        assert torch.equal(read[number, 1 : len(row)], written[number, : len(row) - 1])
        assert (read[number, len(row) :] == 0).all()


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1))
def test_rows_in_order_of_their_lengths(lengths: list[tuple[int, int]]) -> None:
    order = by_length([one for one, _ in lengths], [other for _, other in lengths])
    assert sorted(order) == [*range(len(lengths))]
    assert [lengths[n] for n in order] == sorted(lengths)
