"""Grouping of pieces into words, and attention between words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from jaxtyping import Float

from transformer.measures.pieces import BEGIN, is_control, is_punctuation, join_bytes


def special(tokens: Sequence[str]) -> list[bool]:
    """Return for each token whether it is a control token, such as `<s>`."""
    return [is_control(token) for token in tokens]


def words(tokens: Sequence[str]) -> list[int]:
    """Return the word number of each token, from 0 and never decreasing.

    A word begins with the first token, with a piece that begins with "▁", with a control token and
    after one; every other piece continues the word before it.
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
    """Return the text of each word without its initial "▁", unless it is "▁" alone. Byte pieces are
    joined into characters."""
    numbers = words(tokens)
    texts = [""] * (numbers[-1] + 1 if numbers else 0)
    for number, token in zip(numbers, tokens, strict=True):
        texts[number] += token
    return [join_bytes(text.removeprefix(BEGIN)) or text for text in texts]


def plain_words(tokens: Sequence[str]) -> tuple[list[int], list[str]]:
    """Like `words` and `word_labels`, with punctuation separated from words, because heads often
    attend to a full stop and not to the word before it. Punctuation and control tokens have numbers
    of their own and the label "".
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
    """Remove punctuation at both ends of a label."""
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
    """Return attention between words: the sum over key pieces, the mean over query pieces.

    Rows that sum to 1 still do: Clark et al. 2019, section 4.1
    (https://arxiv.org/abs/1906.04341). `query_words` and `key_words` are as `words` gives them.

    Raises:
        ValueError: if there is not one number per row and column, or they are not in order.
    """
    query_starts = _word_starts("rows", query_words, weights.shape[-2])
    key_starts = _word_starts("columns", key_words, weights.shape[-1])
    pieces = np.diff([*query_starts, len(query_words)]).astype(weights.dtype)
    merged: npt.NDArray[Any] = np.add.reduceat(weights, key_starts, axis=-1)
    merged = np.add.reduceat(merged, query_starts, axis=-2) / pieces[:, None]
    return merged


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
