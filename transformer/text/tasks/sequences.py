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
_MEANINGS = {"longest": "most letters in a sequence", "letters": "different letters"}


def _aligned_example(src: Sequence[str], order: Sequence[int], tgt: Sequence[str]) -> Example:
    """The example whose target symbol j comes from the source's symbol `order[j]`."""
    links = sorted((i, j) for j, i in enumerate(order))
    return Example(" ".join(src), " ".join(tgt), tuple(links))


def _letters_of_number(number: int, letters: int, length: int) -> list[str]:
    """The sequence of `length` letters with this number: its digits to the base `letters`."""
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


def _distinct_letters(number: int, length: int) -> list[str]:
    """The arrangement of `length` different letters with this number, to falling bases."""
    remaining, arrangement = list(_LETTERS), []
    for _ in range(length):
        number, index = divmod(number, len(remaining))
        arrangement.append(remaining.pop(index))
    return arrangement


def _sort(options: Options) -> list[Stratum]:
    def example(length: int, number: int) -> Example:
        src = _distinct_letters(number, length)
        order = sorted(range(length), key=src.__getitem__)
        return _aligned_example(src, order, [src[i] for i in order])

    lengths = range(1, options["longest"] + 1)
    return [Stratum(perm(len(_LETTERS), n), 1, partial(example, n)) for n in lengths]


def substitution(key: int) -> dict[str, str]:
    """The cipher of a key: every letter has another one, none stands for itself (one cycle)."""
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
        "The target is the source. It is the least a decoder must learn: to look at the source "
        "symbol whose turn it is. Nothing but its place says which one that is."
    ),
    look_for="A head of the cross attention becomes a diagonal from the first symbol to the last.",
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
        "The target is the source read from its end. The decoder must find the last symbol first, "
        "wherever it stands, and then walk back one symbol a step."
    ),
    look_for=(
        "A head of the cross attention becomes the other diagonal, from the source's end to its "
        "beginning; until it is there, outputs are right at one end and wrong at the other."
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
        "The target is the source's letters in the order of the alphabet; no letter stands twice. "
        "Where a letter stands says nothing: what counts is which letters are there."
    ),
    look_for=(
        "No diagonal: the cross attention goes to the next letter of the alphabet, wherever it "
        "stands. In the first steps of training the letters are right and their order is not."
    ),
    symbols=_LETTERS,
    options={"longest": OptionRange(1, 20, 8)},
    training={"steps": 1000},
    strata=_sort,
    meanings={"longest": _MEANINGS["longest"]},
)

CIPHER = Task(
    name="cipher",
    title="A secret alphabet",
    group="letters",
    explanation=(
        "Every letter is replaced by another, always by the same one; the key chooses the "
        "alphabet. It is word-for-word translation at its plainest: which letter, and whose turn."
    ),
    look_for=(
        "The cross attention is the diagonal of copying; what is new is learned elsewhere, in the "
        "feed-forward networks and the matrices of values and outputs."
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
