"""What heads are coloured by when a word is pinned, against loops over pieces."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.figures.made import HOSTILE, made
from transformer.figures.explorer_sides import ExplorerData
from transformer.figures.packing import FINE, rounding_error, weights_of
from transformer.figures.pins import looks, pin_parts
from transformer.figures.words import plain_words, words

TOKENS = ["▁the", "▁um", "brella", "?", "</s>", "<s>", ",", "▁(", "s", "▁l'", "▁", *HOSTILE]
lists = st.lists(st.sampled_from(TOKENS), min_size=1, max_size=9)


def test_signs_stand_apart_from_the_words_they_follow() -> None:
    tokens = ["<s>", "▁(", "un", "believ", "able", ")", ",", "▁L'", "arbre.", "▁-", "</s>"]
    numbers, labels = plain_words(tokens)
    assert numbers == [0, 1, 2, 2, 2, 3, 4, 5, 5, 6, 7]
    assert labels == ["", "", "unbelievable", "", "", "L'arbre", "-", ""]


@given(lists)
def test_words_without_their_signs_divide_the_words(tokens: list[str]) -> None:
    numbers, labels = plain_words(tokens)
    assert len(numbers) == len(tokens)
    assert sorted(set(numbers)) == list(range(len(labels)))
    whole = words(tokens)
    for number in range(len(labels)):
        assert len({whole[i] for i, one in enumerate(numbers) if one == number}) == 1


Numbers = npt.NDArray[np.float64]


def slowly(weights: Numbers, rows: list[str], columns: list[str], *, same: bool) -> Numbers:
    """(head, row word, column word): what `looks` takes the greatest of."""
    (of_row, row_labels), (of_column, column_labels) = plain_words(rows), plain_words(columns)
    found = np.zeros((len(weights), len(row_labels), len(column_labels)))
    for h in range(len(weights)):
        for i, r in enumerate(of_row):
            for j, c in enumerate(of_column):
                if row_labels[r] and column_labels[c] and not (same and r == c):
                    found[h, r, c] += weights[h, i, j] / of_row.count(r)
    return found


@given(lists, lists, st.booleans(), st.integers(0, 2**32 - 1))
def test_a_word_has_the_greatest_weight_of_another(
    rows: list[str], columns: list[str], same: bool, seed: int
) -> None:
    columns = rows if same else columns
    weights = np.random.default_rng(seed).dirichlet(np.full(len(columns), 0.5), (2, len(rows)))
    to, back = looks(weights, rows, columns, same=same)
    wanted = slowly(weights, rows, columns, same=same)
    # Sums of float32 over at most nine pieces.
    np.testing.assert_allclose(to.weights, wanted.max(axis=1), atol=1e-6)
    np.testing.assert_allclose(back.weights, wanted.max(axis=2), atol=1e-6)
    for h in range(2):
        for word, other in enumerate(to.others[h]):
            assert wanted[h, other, word] == pytest.approx(wanted[h, :, word].max(), abs=1e-6)
        for word, other in enumerate(back.others[h]):
            assert wanted[h, word, other] == pytest.approx(wanted[h, word].max(), abs=1e-6)


def test_what_is_sent_is_that_of_every_layer() -> None:
    source, target = ["▁the", "▁um", "brella", "?", "</s>"], ["<s>", "▁le", "▁para", "pluie"]
    trace = made(source, target, layers=2, heads=3)
    parts = {part.name: part for part in ExplorerData(trace).pins}
    assert len(parts) == 12
    weights = np.stack([trace.weights("cross", layer) for layer in range(2)])
    # The second row writes the first piece of "parapluie", the third its second.
    looked = (weights[:, :, 1, 1:3].sum(-1) + weights[:, :, 2, 1:3].sum(-1)) / 2
    article = weights[:, :, 0, 1:3].sum(-1)
    part = parts["pins.cross.to"]
    assert part.array.shape == (2, 3, 4)
    np.testing.assert_allclose(
        weights_of(part)[..., 1],
        np.maximum(looked, article),
        atol=rounding_error(1.0, FINE),
    )
    np.testing.assert_array_equal(parts["pins.cross.to.who"].array[..., 1] == 1, looked > article)


def test_a_sentence_of_signs_alone_has_no_looks() -> None:
    weights = np.full((1, 1, 2, 2), 0.5, dtype=np.float32)
    parts = pin_parts("encoder", list(weights), [".", "</s>"], [".", "</s>"])
    assert not parts[0].array.any()
    assert not parts[2].array.any()
