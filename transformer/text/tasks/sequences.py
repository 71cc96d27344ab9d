"""Tasks over letters: copy, reverse, sort, cipher. Every target symbol has one source symbol."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial
from math import perm
from string import ascii_lowercase

from transformer.text.tasks.task import Example, OptionRange, Options, Stratum, Task

_LETTERS = tuple(ascii_lowercase)
_LONGEST = OptionRange(1, 20, 10)
_MEANINGS = {"longest": "maximum letters in a sequence", "letters": "different letters"}


def _aligned_example(src: Sequence[str], order: Sequence[int], tgt: Sequence[str]) -> Example:
    """Return the example in which target symbol j is aligned with source symbol `order[j]`."""
    links = sorted((i, j) for j, i in enumerate(order))
    return Example(" ".join(src), " ".join(tgt), tuple(links))


def _letters_of_number(number: int, letters: int, length: int) -> list[str]:
    """Return the sequence of `length` letters that are the digits of `number` in base `letters`."""
    symbols = []
    for _ in range(length):
        number, digit = divmod(number, letters)
        symbols.append(_LETTERS[digit])
    return symbols


def _by_length(options: Options, make: Callable[[list[str]], Example]) -> list[Stratum]:
    letters = options["letters"]

    def example(length: int, number: int) -> Example:
        return make(_letters_of_number(number, letters, length))

    lengths = range(1, options["longest"] + 1)
    return [Stratum(letters**length, 1, partial(example, length)) for length in lengths]


def _copy(src: list[str]) -> Example:
    return _aligned_example(src, range(len(src)), src)


def _reverse(src: list[str]) -> Example:
    return _aligned_example(src, range(len(src))[::-1], src[::-1])


def distinct_letters(number: int, length: int) -> list[str]:
    """Return arrangement `number` of `length` different letters (digits in decreasing bases)."""
    remaining, arrangement = list(_LETTERS), []
    for _ in range(length):
        number, index = divmod(number, len(remaining))
        arrangement.append(remaining.pop(index))
    return arrangement


def _sort(options: Options) -> list[Stratum]:
    def example(length: int, number: int) -> Example:
        src = distinct_letters(number, length)
        order = sorted(range(length), key=src.__getitem__)
        return _aligned_example(src, order, [src[i] for i in order])

    lengths = range(1, options["longest"] + 1)
    return [Stratum(perm(len(_LETTERS), n), 1, partial(example, n)) for n in lengths]


def substitution(key: int) -> dict[str, str]:
    """Return the cipher of a key: a permutation with a single cycle, so no letter maps to
    itself."""
    circle = list(_LETTERS)
    random.Random(f"cipher {key}").shuffle(circle)
    return dict(zip(circle, circle[1:] + circle[:1], strict=True))


def _cipher(options: Options) -> list[Stratum]:
    table = substitution(options["key"])
    return _by_length(
        options,
        lambda src: _aligned_example(src, range(len(src)), [table[letter] for letter in src]),
    )


COPY = Task(
    name="copy",
    title="Copy a sequence",
    group="letters",
    explanation=(
        "The target is the source. This is the simplest thing a decoder must learn: attend to the "
        "next source symbol. Only its position shows which one that is."
    ),
    look_for="A cross-attention head forms a diagonal from the first symbol to the last.",
    symbols=_LETTERS,
    options={"longest": _LONGEST, "letters": OptionRange(2, 26, 10)},
    training={"steps": 500},
    strata=lambda options: _by_length(options, _copy),
    meanings=_MEANINGS,
)

REVERSE = Task(
    name="reverse",
    title="Reverse a sequence",
    group="letters",
    explanation=(
        "The target is the source in reverse. The decoder must first find the last symbol, "
        "wherever it is, and then move back one symbol at each step."
    ),
    look_for=(
        "A cross-attention head forms the antidiagonal, from the end of the source to its "
        "beginning; until then, outputs are correct at one end and wrong at the other."
    ),
    symbols=_LETTERS,
    options={"longest": _LONGEST, "letters": OptionRange(2, 26, 10)},
    training={"steps": 600},
    strata=lambda options: _by_length(options, _reverse),
    meanings=_MEANINGS,
)

SORT = Task(
    name="sort",
    title="Sort letters",
    group="letters",
    explanation=(
        "The target has the letters of the source in alphabetical order; no letter occurs twice. "
        "The position of a letter does not matter, only which letters there are."
    ),
    look_for=(
        "No diagonal: cross-attention goes to the next letter of the alphabet, wherever it is. "
        "In the first steps of training the letters are correct but their order is not."
    ),
    symbols=_LETTERS,
    options={"longest": OptionRange(1, 20, 8)},
    training={"steps": 1000},
    strata=_sort,
    meanings={"longest": _MEANINGS["longest"]},
)

CIPHER = Task(
    name="cipher",
    title="Substitution cipher",
    group="letters",
    explanation=(
        "Every letter is always replaced by the same other letter; the key selects the alphabet. "
        "It is the simplest word-for-word translation."
    ),
    look_for=(
        "Cross-attention is a diagonal, as for copying; the substitution is learned elsewhere, in "
        "the feed-forward networks and the value and output matrices."
    ),
    symbols=_LETTERS,
    options={
        "longest": _LONGEST,
        "letters": OptionRange(2, 26, 26),
        "key": OptionRange(0, 9999, 1),
    },
    training={"steps": 500},
    strata=_cipher,
    meanings={**_MEANINGS, "key": "number of the alphabet"},
)

TASKS = (COPY, REVERSE, SORT, CIPHER)
