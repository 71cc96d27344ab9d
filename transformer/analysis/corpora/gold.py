"""Gold links between the words of two sentences, and the pieces that form those words."""

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
"""Indices of a source word and of a target word, from 0."""


@dataclass(frozen=True)
class GoldAnnotations:
    """Annotated links between the words of a sentence pair, and dependencies within the source.

    Attributes:
        source_words, target_words: the words that links count, from 0; joined without spaces they
            are the texts.
        sure: links that every aligner should find.
        possible: links that an aligner may find; they include the sure ones (Och and Ney 2003).
        dependencies: of the source: a relation ("subject"), and the word indices of its governor
            and its dependent.
    """

    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    sure: frozenset[Link]
    possible: frozenset[Link]
    dependencies: tuple[tuple[str, int, int], ...] = ()

    def __post_init__(self) -> None:
        """Raise ValueError for a link to a word that does not exist."""
        n_src, n_tgt = len(self.source_words), len(self.target_words)
        for source, target in self.sure | self.possible:
            if not (0 <= source < n_src and 0 <= target < n_tgt):
                raise ValueError(
                    f"the link {source}-{target} is outside the sentences' {n_src} source and "
                    f"{n_tgt} target words, which are counted from 0"
                )
        object.__setattr__(self, "possible", self.possible | self.sure)

    def to_list(self) -> list[Any]:
        """Return lists for JSON; `from_list` reads them."""
        return [
            list(self.source_words),
            list(self.target_words),
            *(sorted(map(list, links)) for links in (self.sure, self.possible)),
            [list(dependency) for dependency in self.dependencies],
        ]

    @classmethod
    def from_list(cls, values: Sequence[Any]) -> GoldAnnotations:
        """Restore links from `to_list`."""
        source, target, *links, dependencies = values
        sure, possible = (
            frozenset((int(i), int(j)) for i, j in links_list) for links_list in links
        )
        typed_dependencies = tuple((str(name), int(i), int(j)) for name, i, j in dependencies)
        return cls(tuple(source), tuple(target), sure, possible, typed_dependencies)


@dataclass(frozen=True, eq=False)
class WordLinkTables:
    """The word number of each piece of a sentence pair, and its gold links as tables (target word,
    source word)."""

    source: list[int]
    target: list[int]
    sure: npt.NDArray[np.bool_]
    possible: npt.NDArray[np.bool_]
    gold: GoldAnnotations

    @classmethod
    def from_pieces(
        cls, source_pieces: Sequence[str], target_pieces: Sequence[str], gold: GoldAnnotations
    ) -> WordLinkTables | None:
        """Return None if the pieces, without `</s>`, do not spell the words of the gold links."""
        source = words_of(source_pieces, gold.source_words)
        target = words_of(target_pieces, gold.target_words)
        if source is None or target is None:
            return None
        tables = np.zeros((2, len(gold.target_words), len(gold.source_words)), dtype=bool)
        for table, links in zip(tables, (gold.sure, gold.possible), strict=True):
            for src, tgt in links:
                table[tgt, src] = True
        return cls(source, target, tables[0], tables[1], gold)


MAX_DIGITS = 6
"""Digits of a word number at most: no sentence has a million words."""


def parse_links(text: str) -> tuple[frozenset[Link], frozenset[Link]]:
    """Return the sure and possible links of a line in Pharaoh's format; see `Corpus.from_lines`.

    Raises:
        ValueError: for a part that is not a link.
    """
    sure: set[Link] = set()
    possible: set[Link] = set()
    for part in text.split():
        for separator, links in (("-", sure), ("?", possible), ("p", possible)):
            source, has_separator, target = part.partition(separator)
            if has_separator and all(
                n.isdecimal() and len(n) <= MAX_DIGITS for n in (source, target)
            ):
                links.add((int(source), int(target)))
                break
        else:
            raise ValueError(
                f"{part[:40]!r} is not a link; write the source and target word as 0-1, or as 0?1 "
                "if the link is only possible"
            )
    return frozenset(sure), frozenset(possible | sure)


def words_of(pieces: Sequence[str], words: Sequence[str]) -> list[int] | None:
    """Return the word number of each piece, never decreasing; None if they do not spell the same
    text.

    Spaces do not count, so words may be split more finely than by spaces: "l'", "ami". A piece that
    spans two words belongs to the one it shares more bytes with, else to the first.

    Args:
        pieces: of SentencePiece, without `</s>`.
        words: as people count them.
    """
    text = b"".join(map(_bytes, words))
    if b"".join(map(_piece_bytes, pieces)) != text:
        return None
    owner = [number for number, word in enumerate(words) for _ in _bytes(word)]
    owners: list[int] = []
    offset = 0
    for piece in pieces:
        piece_owners = owner[offset : offset + len(_piece_bytes(piece))]
        offset += len(piece_owners)
        last_owner = owners[-1] if owners else 0
        # A "▁" alone spells nothing, so it belongs to the next word.
        owners.append(
            max(piece_owners, key=piece_owners.count)
            if piece_owners
            else min(owner[offset:], default=last_owner)
        )
    return owners


def pieces_linked(
    source_pieces: Sequence[str], target_pieces: Sequence[str], gold: GoldAnnotations
) -> Bool[np.ndarray, "target source"] | None:
    """Return whether the words of two pieces have a sure link; None if the texts are not those of
    `gold`.

    The pieces end with `</s>` on both sides, which has no links.
    """
    linked = WordLinkTables.from_pieces(source_pieces[:-1], target_pieces[:-1], gold)
    if linked is None:
        return None
    table = np.pad(linked.sure, (0, 1))
    return table[np.ix_([*linked.target, -1], [*linked.source, -1])]


def _bytes(word: str) -> bytes:
    """Return the word as SentencePiece normalizes it."""
    return "".join(unicodedata.normalize("NFKC", word).split()).encode()


def _piece_bytes(piece: str) -> bytes:
    byte = BYTE.fullmatch(piece)
    return bytes.fromhex(byte[1]) if byte else piece.replace(BEGIN, "").encode()
