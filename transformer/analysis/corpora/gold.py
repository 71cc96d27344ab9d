"""Gold links between the words of two sentences, and which pieces make up those words."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from jaxtyping import Bool

from transformer.measures.pieces import BEGIN, BYTE

Link = tuple[int, int]
"""Positions of a source word and of a target word, from 0."""


@dataclass(frozen=True)
class Gold:
    """Which words belong together, in two languages and in one, said by someone who knows.

    Attributes:
        source_words, target_words: what the links count, from 0; blanks aside they are the texts.
        sure: links that any aligner should find.
        possible: links that it may find; the sure ones are among them (Och and Ney 2003).
        dependencies: of the source: a relation ("subject"), its governor's word and its
            dependent's.
    """

    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    sure: frozenset[Link]
    possible: frozenset[Link]
    dependencies: tuple[tuple[str, int, int], ...] = ()

    def __post_init__(self) -> None:
        """Raises ValueError for a link to a word that is not there."""
        n_src, n_tgt = len(self.source_words), len(self.target_words)
        for source, target in self.sure | self.possible:
            if not (0 <= source < n_src and 0 <= target < n_tgt):
                raise ValueError(
                    f"the link {source}-{target} is outside the sentences' {n_src} source and "
                    f"{n_tgt} target words, which are counted from 0"
                )
        object.__setattr__(self, "possible", self.possible | self.sure)

    def to_list(self) -> list[Any]:
        """For a file; `from_list` reads it back."""
        return [
            list(self.source_words),
            list(self.target_words),
            *(sorted(map(list, links)) for links in (self.sure, self.possible)),
            [list(one) for one in self.dependencies],
        ]

    @classmethod
    def from_list(cls, values: Sequence[Any]) -> Gold:
        """The inverse of `to_list`."""
        source, target, *links, dependencies = values
        sure, possible = (frozenset((int(i), int(j)) for i, j in each) for each in links)
        within = tuple((str(name), int(i), int(j)) for name, i, j in dependencies)
        return cls(tuple(source), tuple(target), sure, possible, within)


@dataclass(frozen=True, eq=False)
class Linked:
    """One sentence's pieces by word, and its gold links as tables (target word, source word)."""

    source: list[int]
    target: list[int]
    sure: npt.NDArray[np.bool_]
    possible: npt.NDArray[np.bool_]
    gold: Gold

    @classmethod
    def of(
        cls, source_pieces: Sequence[str], target_pieces: Sequence[str], gold: Gold
    ) -> Linked | None:
        """None if the pieces, without `</s>`, do not make up the gold links' words."""
        source = words_of(source_pieces, gold.source_words)
        target = words_of(target_pieces, gold.target_words)
        if source is None or target is None:
            return None
        tables = np.zeros((2, len(gold.target_words), len(gold.source_words)), dtype=bool)
        for table, links in zip(tables, (gold.sure, gold.possible), strict=True):
            for src, tgt in links:
                table[tgt, src] = True
        return cls(source, target, tables[0], tables[1], gold)


DIGITS = 6
"""Digits of a word's number at most: no sentence has a million."""


def parse_links(text: str) -> tuple[frozenset[Link], frozenset[Link]]:
    """Sure and possible links of a line in Pharaoh's format; see `Corpus.of_lines`. Raises
    ValueError for a part that is no link."""
    sure: set[Link] = set()
    possible: set[Link] = set()
    for part in text.split():
        for between, found in (("-", sure), ("?", possible), ("p", possible)):
            source, here, target = part.partition(between)
            if here and all(n.isdecimal() and len(n) <= DIGITS for n in (source, target)):
                found.add((int(source), int(target)))
                break
        else:
            raise ValueError(
                f"{part[:40]!r} is no link; a link is written 0-1, the source word, the target "
                "word, or 0?1 if it is only possible"
            )
    return frozenset(sure), frozenset(possible | sure)


def words_of(pieces: Sequence[str], words: Sequence[str]) -> list[int] | None:
    """For each piece the number of its word, never falling; None if they are not the same text.

    Blanks do not count, so a text may be cut into words more finely than by them: "l'", "ami". A
    piece that reaches over two words is the one's in which it has more, else the first one's.

    Args:
        pieces: of SentencePiece, without `</s>`.
        words: as people count them.
    """
    text = b"".join(map(_bytes, words))
    if b"".join(map(_spelled, pieces)) != text:
        return None
    owner = [number for number, word in enumerate(words) for _ in _bytes(word)]
    found: list[int] = []
    place = 0
    for piece in pieces:
        own = owner[place : place + len(_spelled(piece))]
        place += len(own)
        last = found[-1] if found else 0
        # A "▁" alone spells nothing and begins what follows.
        found.append(max(own, key=own.count) if own else min(owner[place:], default=last))
    return found


def pieces_linked(
    source_pieces: Sequence[str], target_pieces: Sequence[str], gold: Gold
) -> Bool[np.ndarray, "target source"] | None:
    """Whether the words of two pieces are surely linked; None if the texts are not those of `gold`.
    Pieces as they are written, `</s>` last on both sides: it is linked to nothing."""
    linked = Linked.of(source_pieces[:-1], target_pieces[:-1], gold)
    if linked is None:
        return None
    table = np.pad(linked.sure, (0, 1))
    return table[np.ix_([*linked.target, -1], [*linked.source, -1])]


def _bytes(word: str) -> bytes:
    """As SentencePiece normalises it."""
    return "".join(unicodedata.normalize("NFKC", word).split()).encode()


def _spelled(piece: str) -> bytes:
    byte = BYTE.fullmatch(piece)
    return bytes.fromhex(byte[1]) if byte else piece.replace(BEGIN, "").encode()
