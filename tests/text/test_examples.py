"""The examples of one epoch: how often each pair occurs, and concatenated pairs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.text import Examples, TokenStore, Vocabulary

EOS = 2


class StubPairs:
    """A store in memory: pair n of a corpus repeats one unique id, then `</s>`."""

    def __init__(self, first: int, lengths: list[tuple[int, int]]) -> None:
        self.rows = [
            (np.array([first + n] * a + [EOS]), np.array([first + n] * b + [EOS]))
            for n, (a, b) in enumerate(lengths)
        ]
        self.src_lengths = np.array([len(src) for src, _ in self.rows], dtype=np.int32)
        self.tgt_lengths = np.array([len(tgt) for _, tgt in self.rows], dtype=np.int32)

    def __len__(self) -> int:
        return len(self.rows)

    def pair(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        return self.rows[index]


LENGTHS = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=40)


@settings(deadline=None)
@given(LENGTHS, LENGTHS, st.floats(0.1, 3), st.floats(0, 0.99), st.integers(0, 99))
def test_pairs_occur_as_often_as_their_weight(
    first: list[tuple[int, int]],
    second: list[tuple[int, int]],
    weight: float,
    concat_prob: float,
    seed: int,
) -> None:
    stores = [StubPairs(10, first), StubPairs(100, second)]
    epoch = Examples(stores, [1.0, weight], concat_prob=concat_prob, max_len=25, seed=seed, epoch=1)
    occurrences: Counter[int] = Counter()
    for number in range(len(epoch)):
        src, tgt = epoch.pair(number)
        assert (len(src), len(tgt)) == (epoch.src_lengths[number], epoch.tgt_lengths[number])
        assert max(len(src), len(tgt)) <= 25
        assert src[-1] == tgt[-1] == EOS
        assert EOS not in src[:-1]
        assert EOS not in tgt[:-1]
        assert list(dict.fromkeys(src)) == list(dict.fromkeys(tgt))  # the same pairs, in order
        for store in stores:  # complete sentences
            for pair in store.rows:
                times, rest = divmod(int((src == pair[0][0]).sum()), len(pair[0]) - 1)
                assert rest == 0
                occurrences[int(pair[0][0])] += times
    assert all(occurrences[10 + n] == 1 for n in range(len(first)))
    counts = [occurrences[100 + n] for n in range(len(second))]
    assert sum(counts) == int(weight) * len(second) + round((weight - int(weight)) * len(second))
    assert {int(weight), int(weight) + 1} >= set(counts)


def test_the_given_fraction_is_concatenated() -> None:
    store = StubPairs(10, [(3, 4)] * 20_000)
    epochs = [
        Examples([store], [1.0], concat_prob=0.3, max_len=99, seed=1, epoch=number)
        for number in (0, 1, 0)
    ]
    sizes = (epochs[0].src_lengths - 1) // 3
    assert np.mean(sizes > 1) == pytest.approx(0.3, abs=0.02)  # 4 standard errors are 0.016
    for size in (2, 3, 4):
        assert np.mean(sizes == size) == pytest.approx(0.1, abs=0.01)
    first = [epoch.pair(0)[0].tolist() for epoch in epochs]
    assert first[0] == first[2]
    assert first[0] != first[1]


def test_concatenated_ids_equal_the_ids_of_the_joined_text(tmp_path: Path) -> None:
    pairs = [(f"I see {n} cats.", f"Je vois {n} chats.") for n in range(60)]
    vocabulary = Vocabulary.train((side for pair in pairs for side in pair), 286)
    store = TokenStore.build(tmp_path / "s.arrow", pairs, vocabulary)
    epoch = Examples([store], [1.0], concat_prob=0.9, max_len=200, seed=3, epoch=0)
    joined = [epoch.pair(n) for n in range(len(epoch))]
    assert any(len(src) > store.src_lengths.max() for src, _ in joined)
    for src, tgt in joined:
        for ids in (src, tgt):
            assert vocabulary.encode(vocabulary.decode(ids.tolist())) == ids.tolist()
