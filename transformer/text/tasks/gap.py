"""The copy task with a growing gap: a word, blanks, and as many marks where it is asked for.

After the tasks of Hochreiter and Schmidhuber (1997, section 5.2), where the first symbol must be
told again at the end, so that what counts is how long it can be kept. Every symbol of one sequence
stands as many positions before its mark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from string import ascii_lowercase
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

BLANK = 0
NOTHING = -1  # the tag of a position that nothing is asked at
DISTANCES = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)


class Tagged(NamedTuple):
    """Sequences of the task: symbols, what is asked at each position, and how far it must travel.

    Symbol 0 is blank, 1 … `word` are the marks, the letters follow; a tag is a letter, from 0.
    """

    ids: Int[np.ndarray, "count length"]
    tags: Int[np.ndarray, "count length"]
    distances: Int[np.ndarray, " count"]


@dataclass(frozen=True)
class Gap:
    """The task's sizes.

    Attributes:
        letters: different ones there are; by chance one of so many answers is right.
        word: letters that are to be carried over the gap.
        longest: greatest distance from a letter to its mark.
    """

    letters: int = 8
    word: int = 3
    longest: int = 64

    def __post_init__(self) -> None:
        for name, minimum, maximum in (("letters", 2, 26), ("word", 1, 4), ("longest", 4, 512)):
            if not minimum <= getattr(self, name) <= maximum:
                raise ValueError(
                    f"{name} must be from {minimum} to {maximum}, not {getattr(self, name)}"
                )

    @property
    def distances(self) -> tuple[int, ...]:
        """Those that are drawn, each as often as another: a word does not overlap its marks."""
        return tuple(d for d in DISTANCES if self.word <= d <= self.longest)

    @property
    def length(self) -> int:
        """Positions of every sequence; behind the marks it is filled up with blanks."""
        return max(self.distances) + self.word

    @property
    def symbols(self) -> int:
        return 1 + self.word + self.letters

    @property
    def chance(self) -> float:
        """Share of the marks that are right without a look at the word."""
        return 1 / self.letters

    def draw(self, rng: np.random.Generator, count: int, *, distance: int = 0) -> Tagged:
        """`count` sequences, of every distance alike or of one.

        No word is kept back for validation: all letters are drawn evenly and each on its own, so
        that whoever does not see one can do no better than chance, and no worse.
        """
        letters = rng.integers(0, self.letters, (count, self.word))
        choices = np.array([distance] if distance else self.distances)
        distances = choices[rng.integers(0, len(choices), count)]
        ids = np.full((count, self.length), BLANK)
        tags = np.full((count, self.length), NOTHING)
        rows = np.arange(count)
        for index in range(self.word):
            ids[rows, index] = 1 + self.word + letters[:, index]
            ids[rows, distances + index] = 1 + index
            tags[rows, distances + index] = letters[:, index]
        return Tagged(ids, tags, distances)

    def written(self, ids: Int[np.ndarray, " length"]) -> str:
        """A sequence for people: "c a f ·×5 1 2 3"; a run of blanks is counted."""
        parts: list[str] = []
        for symbol, run in groupby(ids.tolist()):
            letter, count = symbol - 1 - self.word, len([*run])
            label = self.spelled([letter]) if letter >= 0 else str(symbol)
            parts += [f"·×{count}"] if symbol == BLANK else [label] * count
        return " ".join(parts)

    def spelled(self, tags: Sequence[int]) -> str:
        """Letters by their numbers, from 0: "c a f"."""
        return " ".join(ascii_lowercase[tag] for tag in tags)
