"""The copy task with a gap: a word, blanks, and marks at which the word must be reproduced.

After the tasks of Hochreiter and Schmidhuber (1997, section 5.2), in which the first symbol must be
reproduced at the end, so that the result depends on how long it can be remembered. All symbols of a
sequence have the same distance to their marks.
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
NO_TAG = -1  # the tag of a position without a prediction
DISTANCES = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)


class TaggedSequences(NamedTuple):
    """Sequences of the task: symbols, the tag to predict at each position, and the distance.

    Symbol 0 is blank, 1 to `word` are the marks, then come the letters; a tag is a letter, from 0.
    """

    ids: Int[np.ndarray, "count length"]
    tags: Int[np.ndarray, "count length"]
    distances: Int[np.ndarray, " count"]


@dataclass(frozen=True)
class GapTask:
    """The task's sizes.

    Attributes:
        letters: number of different letters; a random guess is right once in as many.
        word: number of letters to remember.
        longest: largest distance from a letter to its mark.
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
        """The distances, equally frequent; none is so short that a word overlaps its marks."""
        return tuple(d for d in DISTANCES if self.word <= d <= self.longest)

    @property
    def length(self) -> int:
        """Length of every sequence; blanks follow the marks."""
        return max(self.distances) + self.word

    @property
    def symbols(self) -> int:
        return 1 + self.word + self.letters

    @property
    def chance(self) -> float:
        """Accuracy of a guess that ignores the word."""
        return 1 / self.letters

    def draw(self, rng: np.random.Generator, count: int, *, distance: int = 0) -> TaggedSequences:
        """Generate `count` sequences, with all distances equally frequent or with one distance.

        No word is reserved for validation: letters are independent and uniform, so that a model
        that cannot see a letter has exactly chance accuracy.
        """
        letters = rng.integers(0, self.letters, (count, self.word))
        choices = np.array([distance] if distance else self.distances)
        distances = choices[rng.integers(0, len(choices), count)]
        ids = np.full((count, self.length), BLANK)
        tags = np.full((count, self.length), NO_TAG)
        rows = np.arange(count)
        for index in range(self.word):
            ids[rows, index] = 1 + self.word + letters[:, index]
            ids[rows, distances + index] = 1 + index
            tags[rows, distances + index] = letters[:, index]
        return TaggedSequences(ids, tags, distances)

    def sequence_text(self, ids: Int[np.ndarray, " length"]) -> str:
        """Return a readable sequence: "c a f ·×5 1 2 3"; a run of blanks is shown by its length."""
        parts: list[str] = []
        for symbol, run in groupby(ids.tolist()):
            letter, count = symbol - 1 - self.word, len([*run])
            label = self.tag_text([letter]) if letter >= 0 else str(symbol)
            parts += [f"·×{count}"] if symbol == BLANK else [label] * count
        return " ".join(parts)

    def tag_text(self, tags: Sequence[int]) -> str:
        """Return the letters of these tags: "c a f"."""
        return " ".join(ascii_lowercase[tag] for tag in tags)
