"""Batches of similar lengths: complete, reproducible and with little padding."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.utils.rnn import pad_sequence

from transformer.text import TokenStore, Vocabulary, batch_plan
from transformer.text.batching import make_batch, pad

Pairs = list[tuple[str, str]]
Lengths = npt.NDArray[np.int32]
# Short lengths, and some so long that the sort key needs more than 16 bits.
LENGTH = st.integers(1, 40) | st.integers(1, 2000)
LENGTHS = st.lists(st.tuples(LENGTH, LENGTH), max_size=200).map(
    lambda rows: np.array(rows, dtype=np.int32).reshape(-1, 2).T
)


def padded_size(batch: npt.NDArray[np.int64], src: Lengths, tgt: Lengths) -> int:
    return len(batch) * (int(src[batch].max()) + int(tgt[batch].max()))


def random_lengths(n: int) -> tuple[Lengths, Lengths]:
    random = np.random.default_rng(5)
    src = random.integers(2, 30, n).astype(np.int32)
    tgt = np.clip(src + random.integers(-4, 5, n), 2, None).astype(np.int32)
    return src, tgt


@given(
    lengths=LENGTHS, budget=st.integers(1, 3000), seed=st.integers(0, 99), epoch=st.integers(0, 99)
)
def test_every_pair_once_within_the_budget(
    lengths: Lengths, budget: int, seed: int, epoch: int
) -> None:
    src, tgt = lengths
    plan = batch_plan(src, tgt, batch_tokens=budget, seed=seed, epoch=epoch)
    indices = [int(index) for batch in plan for index in batch]
    assert sorted(indices) == list(range(len(src)))
    for batch in plan:
        assert len(batch) == 1 or padded_size(batch, src, tgt) <= budget
    repeated = batch_plan(src, tgt, batch_tokens=budget, seed=seed, epoch=epoch)
    assert [batch.tolist() for batch in repeated] == [batch.tolist() for batch in plan]


@given(lengths=LENGTHS, budget=st.integers(1, 3000))
def test_batches_are_the_longest_runs_of_the_sorted_pairs(lengths: Lengths, budget: int) -> None:
    src, tgt = lengths
    plan = batch_plan(src, tgt, batch_tokens=budget, seed=0, epoch=0)
    # The same by a plain loop: sources in ascending order, targets alternately ascending and
    # descending, pairs added while they fit. The lengths in each batch must agree.
    rows = sorted(
        zip(src.tolist(), tgt.tolist(), strict=True),
        key=lambda row: (row[0], row[1] if row[0] % 2 == 0 else -row[1]),
    )
    batches: list[list[tuple[int, int]]] = []
    for row in rows:
        extended = [*(batches[-1] if batches else []), row]
        size = len(extended) * (max(s for s, _ in extended) + max(t for _, t in extended))
        if batches and size <= budget:
            batches[-1].append(row)
        else:
            batches.append([row])
    planned = [list(zip(src[b].tolist(), tgt[b].tolist(), strict=True)) for b in plan]
    assert sorted(planned) == sorted(batches)


def test_padding_is_little_and_most_batches_are_nearly_full() -> None:
    src, tgt = random_lengths(20_000)
    plan = batch_plan(src, tgt, batch_tokens=2048, seed=0, epoch=0)
    padded = sum(padded_size(batch, src, tgt) for batch in plan)
    assert (src.sum() + tgt.sum()) / padded > 0.95
    assert padded / (len(plan) * 2048) > 0.95


def test_epochs_and_seeds_differ_in_order_and_batches() -> None:
    src, tgt = random_lengths(5000)
    plans = [
        batch_plan(src, tgt, batch_tokens=500, seed=seed, epoch=epoch)
        for seed, epoch in ((0, 0), (0, 1), (1, 0))
    ]
    batch_sets = [{frozenset(batch.tolist()) for batch in plan} for plan in plans]
    for first, another in ((0, 1), (0, 2), (1, 2)):
        assert [len(b) for b in plans[first]] != [len(b) for b in plans[another]]
        assert len(batch_sets[first] & batch_sets[another]) < len(batch_sets[first]) / 10
    # Batches are not sorted by length.
    means = [float(src[batch].mean()) for batch in plans[0]]
    assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.2


@pytest.fixture(scope="module")
def store(
    tmp_path_factory: pytest.TempPathFactory, vocabulary: Vocabulary, pairs: Pairs
) -> TokenStore:
    # The first pairs are short, the last ones have several sentences.
    texts = [
        (" ".join([source] * (1 + i // 70)), " ".join([target] * (1 + i // 50)))
        for i, (source, target) in enumerate(pairs)
    ]
    return TokenStore.build(tmp_path_factory.mktemp("s") / "s", texts, vocabulary, max_len=500)


def test_a_batch_is_padded_and_shifted(store: TokenStore, vocabulary: Vocabulary) -> None:
    chosen = [3, 199, 60, 3]
    batch = make_batch(store, np.array(chosen), pad_id=0, bos_id=1)
    assert batch.src.shape == (4, max(store.src_lengths[chosen]))
    assert batch.tgt_in.shape == batch.tgt_out.shape == (4, max(store.tgt_lengths[chosen]))
    for tensor in (batch.src, batch.tgt_in, batch.tgt_out):
        assert tensor.dtype == torch.int64
    for row, index in enumerate(chosen):
        src, tgt = (ids.tolist() for ids in store.pair(index))
        assert batch.src[row].tolist() == src + [0] * (batch.src.shape[1] - len(src))
        n_pad = batch.tgt_out.shape[1] - len(tgt)
        assert batch.tgt_out[row].tolist() == tgt + [0] * n_pad
        assert batch.tgt_in[row].tolist() == [1, *tgt[:-1]] + [0] * n_pad


def test_the_plan_of_many_pairs_needs_no_python_per_pair() -> None:
    src, tgt = random_lengths(100_000)
    n_lines = 0

    def count(frame: FrameType, event: str, arg: object) -> Any:
        nonlocal n_lines
        n_lines += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        plan = batch_plan(src, tgt, batch_tokens=25_000, seed=0, epoch=0)
    finally:
        sys.settrace(before)
    assert len(plan) < 200
    assert n_lines < 50 * len(plan)  # executed lines of Python, for 500 pairs per batch


ROWS = st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=6), min_size=1, max_size=5)


@given(ROWS)
def test_padding_equals_torch(rows: list[list[int]]) -> None:
    expected = pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
    assert torch.equal(pad(rows, 0), expected)


def test_no_rows_give_no_batches() -> None:
    with pytest.raises(ValueError, match="no rows"):
        pad([], 0)
