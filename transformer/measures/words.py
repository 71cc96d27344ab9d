"""Pieces of words put together: which pieces make a word, and the attention between words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from jaxtyping import Float, Integer

from transformer.measures.pieces import BEGIN, CONTROL, is_punctuation, join_bytes


def special(tokens: Sequence[str]) -> list[bool]:
    """For each token whether it is a control token and no text: `<s>`, `</s>`, `<pad>`, `<unk>`."""
    return [token in CONTROL for token in tokens]


def words(tokens: Sequence[str]) -> list[int]:
    """For each token the number of its word, from 0 and never falling.

    A word begins with the first token, with a piece that begins with "▁", with a control token and
    after one; every other piece goes on with the word before it.
    """
    numbers: list[int] = []
    control = special(tokens)
    for position, token in enumerate(tokens):
        begins = (
            token.startswith(BEGIN) or control[position] or (position > 0 and control[position - 1])
        )
        numbers.append(numbers[-1] + begins if numbers else 0)
    return numbers


def word_labels(tokens: Sequence[str]) -> list[str]:
    """The text of each word, without the "▁" that begins it; a "▁" alone stays, to be seen. Bytes
    are joined into characters."""
    numbers = words(tokens)
    texts = [""] * (numbers[-1] + 1 if numbers else 0)
    for number, token in zip(numbers, tokens, strict=True):
        texts[number] += token
    return [join_bytes(text.removeprefix(BEGIN)) or text for text in texts]


def plain_words(tokens: Sequence[str]) -> tuple[list[int], list[str]]:
    """As `words` and `word_labels`, with the signs that stand before or after a word apart from it,
    for heads that rest on a full stop do not look at the word it ends. What is no word, control
    tokens and such signs, is a number of its own too, and its label is "".
    """
    word_numbers: list[int] = []
    labels: list[str] = []
    separate = [a or is_punctuation(b) for a, b in zip(special(tokens), tokens, strict=True)]
    numbers = words(tokens)
    for position, (number, token) in enumerate(zip(numbers, tokens, strict=True)):
        begins = position == 0 or number != numbers[position - 1]
        if begins or separate[position] or separate[position - 1]:
            labels.append("")
        word_numbers.append(len(labels) - 1)
        if not separate[position]:
            labels[-1] += token
    return word_numbers, [
        _strip_punctuation(join_bytes(label.removeprefix(BEGIN))) for label in labels
    ]


def _strip_punctuation(label: str) -> str:
    """Without the signs of punctuation around it that belong to a letter's piece."""
    start, end = 0, len(label)
    while start < end and is_punctuation(label[start]):
        start += 1
    while start < end and is_punctuation(label[end - 1]):
        end -= 1
    return label[start:end]


def merge(
    weights: Float[np.ndarray, "*heads query key"],
    query_words: Sequence[int],
    key_words: Sequence[int],
) -> Float[np.ndarray, "*heads query_word key_word"]:
    """Attention between words: to a word the sum over its pieces, from a word their mean.

    So a row that summed to 1 still does: Clark et al. 2019, section 4.1
    (https://arxiv.org/abs/1906.04341). `query_words` and `key_words` are as `words` gives them.

    Raises:
        ValueError: if there is not one number a row and a column, or one is out of order.
    """
    query_starts = _word_starts("rows", query_words, weights.shape[-2])
    key_starts = _word_starts("columns", key_words, weights.shape[-1])
    pieces = np.diff([*query_starts, len(query_words)]).astype(weights.dtype)
    merged: npt.NDArray[Any] = np.add.reduceat(weights, key_starts, axis=-1)
    merged = np.add.reduceat(merged, query_starts, axis=-2) / pieces[:, None]
    return merged


def rows_of_written(
    weights: Float[np.ndarray, "*heads row key"], to: str
) -> Float[np.ndarray, "*heads written key"]:
    """The rows of cross attention in which the written tokens are looked up.

    The row that writes token i has read the tokens before it; token i itself is read by the next
    row. With `to` "output" row i belongs to token i as it stands; with "input" the next row does,
    and the last token, which nothing reads, keeps the row that writes it.
    """
    if to != "input" or not weights.shape[-2]:
        return weights
    return np.concatenate([weights[..., 1:, :], weights[..., -1:, :]], axis=-2)


def _word_starts(name: str, numbers: Sequence[int], count: int) -> list[int]:
    if len(numbers) != count:
        raise ValueError(f"There are {len(numbers)} word numbers for {count} {name}.")
    if count and numbers[0] != 0:
        raise ValueError(f"The first word of the {name} is {numbers[0]}; it must be 0.")
    for before, number in pairwise(numbers):
        if number not in (before, before + 1):
            raise ValueError(
                f"The words of the {name} go from {before} to {number}; "
                f"after {before} comes {before} or {before + 1}."
            )
    return [position for position, (a, b) in enumerate(pairwise([-1, *numbers])) if a != b]


@dataclass(frozen=True)
class StrongestLinks:
    """The strongest look of every word in every head, 0 where there is no other word.

    Attributes:
        weights: (heads, words).
        others: the word at its other end, of the same shape.
    """

    weights: Float[np.ndarray, "heads words"]
    partners: Integer[np.ndarray, "heads words"]


def strongest_links(
    weights: Float[np.ndarray, "heads rows columns"],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    same: bool,
) -> tuple[StrongestLinks, StrongestLinks]:
    """The strongest look at every word of the columns, and that of every word of the rows.

    Words are those of `words.plain_words`; the weights of their pieces are added up towards a word
    and averaged from it, as in `words.merge`. The greatest is taken, not the mean: a head that
    spreads evenly gives every word as much in the mean as one in which a single word looks there
    with all it has. Control tokens and signs of punctuation count on neither side, for heads rest
    on them whatever the word is.

    Args:
        rows, columns: the tokens.
        same: they are the same text, so that a word's look at itself is left out.
    """
    (row_words, row_labels), (column_words, column_labels) = plain_words(rows), plain_words(columns)
    merged = merge(weights, row_words, column_words).astype(np.float32)
    excluded = _no_label(row_labels)[:, None] | _no_label(column_labels)[None, :]
    if same:
        excluded = excluded | np.eye(len(excluded), dtype=bool)
    merged = np.where(excluded, np.float32(0), merged)
    strongest = [
        StrongestLinks(merged.max(axis=axis), merged.argmax(axis=axis)) for axis in (-2, -1)
    ]
    return strongest[0], strongest[1]


def _no_label(labels: Sequence[str]) -> npt.NDArray[np.bool_]:
    return np.array([not label for label in labels], dtype=bool)
