"""Merging pieces into words, and attention between a pinned word and others."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.figures.fake_traces import HOSTILE
from transformer.measures.words import (
    merge,
    plain_words,
    special,
    word_labels,
    words,
)
from transformer.text.vocabulary import Vocabulary

TOKENS = ["▁the", "▁um", "brella", "?", "</s>", "<s>", ",", "▁(", "s", "▁l'", "▁", *HOSTILE]
lists = st.lists(st.sampled_from(TOKENS), min_size=1, max_size=9)
Weights = npt.NDArray[np.float32]
ODD_PIECES = [
    "<b>",
    "▁<b>",
    "▁",
    "▁▁",
    "",
    " ",
    "</s>x",
    "▁</s>",
    "<S>",
    "שלום",
    "▁مرحبا",
    "\u0301",
]
CONTROL_TOKENS = ["<s>", "</s>", "<pad>", "<unk>"]
tokens = st.lists(
    st.sampled_from([*ODD_PIECES, *CONTROL_TOKENS, "▁in", "cred", "ible"]) | st.text()
)
CASES = {
    "nothing": ([], [], []),
    "no mark at first": (["x", "y", "▁z"], [0, 0, 1], ["xy", "z"]),
    "a mark alone": (["▁", "▁a", "▁", "b"], [0, 1, 2, 2], ["▁", "a", "b"]),
    "an empty piece": (["", "a", ""], [0, 0, 0], ["a"]),
    "only an empty piece": ([""], [0], [""]),
    "markup": (["<b>", "▁<b>", "</b>"], [0, 1, 1], ["<b>", "<b></b>"]),
    "nearly control": (["▁</s>", "</s>x", "<S>"], [0, 0, 0], ["</s></s>x<S>"]),
    "right to left": (["▁של", "ום", "▁מה"], [0, 0, 1], ["שלום", "מה"]),
    "combining": (["▁e", "\u0301", "▁\u0301"], [0, 0, 1], ["e\u0301", "\u0301"]),
    "an underscore": (["▁a", "_b"], [0, 0], ["a_b"]),
    "a mark within": (["▁a▁b"], [0], ["a▁b"]),
}
WRONG = {
    "few rows": ([0, 1], [0, 1, 2], "2 word numbers for 3 rows"),
    "many columns": ([0, 1, 2], [0, 1, 2, 3], "4 word numbers for 3 columns"),
    "not from 0": ([1, 1, 2], [0, 1, 2], "first word of the rows is 1; it must be 0"),
    "a word left out": ([0, 1, 2], [0, 0, 2], "words of the columns go from 0 to 2; after 0"),
    "a word again": ([0, 1, 0], [0, 1, 2], "words of the rows go from 1 to 0; after 1"),
}


def test_punctuation_is_separated_from_words() -> None:
    tokens = ["<s>", "▁(", "un", "believ", "able", ")", ",", "▁L'", "arbre.", "▁-", "</s>"]
    numbers, labels = plain_words(tokens)
    assert numbers == [0, 1, 2, 2, 2, 3, 4, 5, 5, 6, 7]
    assert labels == ["", "", "unbelievable", "", "", "L'arbre", "-", ""]


@given(lists)
def test_words_without_punctuation_refine_the_words(tokens: list[str]) -> None:
    numbers, labels = plain_words(tokens)
    assert len(numbers) == len(tokens)
    assert sorted(set(numbers)) == list(range(len(labels)))
    word_numbers = words(tokens)
    for number in range(len(labels)):
        assert (
            len(
                {
                    word_numbers[i]
                    for i, plain_number in enumerate(numbers)
                    if plain_number == number
                }
            )
            == 1
        )


ODD_PIECES += ["e\u0301", "\u202e", "\u200b", "🙂", "<0xE2>", "\ud800", "\0", "_a", "\n"]


@pytest.mark.parametrize("case", CASES)
def test_pieces_of_every_kind(case: str) -> None:
    pieces, numbers, labels = CASES[case]
    assert words(pieces) == numbers
    assert word_labels(pieces) == labels


@given(tokens)
def test_every_token_has_a_word_and_every_word_a_token(pieces: list[str]) -> None:
    numbers = words(pieces)
    assert len(numbers) == len(special(pieces)) == len(pieces)
    assert numbers[:1] == [0][: len(pieces)]
    assert all(after - before in (0, 1) for before, after in pairwise(numbers))
    for (before, after), (number, next_number) in zip(
        pairwise(pieces), pairwise(numbers), strict=True
    ):
        begins = after.startswith("▁") or before in CONTROL_TOKENS or after in CONTROL_TOKENS
        assert (next_number > number) == begins
    assert len(word_labels(pieces)) == len(set(numbers))


def test_the_words_of_a_real_vocabulary_are_those_between_spaces(vocabulary: Vocabulary) -> None:
    text = "The baker paints a boat at night again."
    pieces = vocabulary.tokens(vocabulary.encode(text))
    assert len(pieces) > len(text.split()) + 1
    assert word_labels(pieces) == [*text.split(), "</s>"]


@st.composite
def numbered(draw: st.DrawFn) -> tuple[Weights, list[int], list[int]]:
    """Attention with its rows' and columns' words."""
    sides = []
    for _ in range(2):
        sizes = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
        sides.append([number for number, size in enumerate(sizes) for _ in range(size)])
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    shape = draw(st.sampled_from([(), (3,), (2, 3)]))
    weights = random.dirichlet(np.full(len(sides[1]), 0.3), size=(*shape, len(sides[0])))
    return weights.astype(np.float32), *sides


@given(numbered())
def test_merged_rows_still_sum_to_1(case: tuple[Weights, list[int], list[int]]) -> None:
    weights, rows, columns = case
    merged = merge(weights, rows, columns)
    assert merged.dtype == weights.dtype
    assert merged.shape == (*weights.shape[:-2], rows[-1] + 1, columns[-1] + 1)
    np.testing.assert_allclose(merged.sum(axis=-1), 1, atol=1e-5)


@given(numbered())
def test_merging_is_a_sum_over_keys_and_a_mean_over_queries(
    case: tuple[Weights, list[int], list[int]],
) -> None:
    weights, rows, columns = case
    merged = merge(weights, rows, columns)
    for r, c in np.ndindex(*merged.shape[-2:]):
        cells = [
            [weights[..., i, j] for j, word in enumerate(columns) if word == c]
            for i, word in enumerate(rows)
            if word == r
        ]
        expected = sum(map(sum, cells)) / len(cells)
        np.testing.assert_allclose(merged[..., r, c], expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("case", WRONG)
def test_invalid_word_numbers_are_refused(case: str) -> None:
    rows, columns, message = WRONG[case]
    with pytest.raises(ValueError, match=re.escape(message)):
        merge(np.full((3, 3), 1 / 3, np.float32), rows, columns)
