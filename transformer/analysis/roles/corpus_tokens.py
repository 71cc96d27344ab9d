"""What is known of a corpus's pieces before any attention is looked at, and which belong together.

Voita et al. 2019, section 5.2: a head's accuracy on a relation, as from verb to subject, is how
often its greatest weight (`</s>` aside) is on the token at the other end. Subjects mostly stand one
or two places before their verbs, so a head that only counts places would score too: the head must
be at least 10% better than the most frequent offset. The paper leaves open whether that is of the
accuracy or in points; here it is 10 points, which asks more.

A word may have several pieces: every row of its pieces counts, and a weight on any piece of the
other word is a hit, for heads and for offsets alike. In the same way, without a grammar: the
pieces of one word, which Correia et al. 2019 saw a head bring together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from jaxtyping import Bool, Integer

from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.gold import Gold, pieces_linked, words_of
from transformer.analysis.corpora.passes import NumberedBatch, Pair
from transformer.measures.grammar import PIECES, same_word
from transformer.measures.pieces import Pieces
from transformer.measures.rare import FREQUENT
from transformer.measures.rows import Rows
from transformer.text import Vocabulary

MARGIN = 0.10
"""How much better than the best offset a head must be."""

MIN_ROWS = 30
"""Rows of a relation below which nothing is said of it."""

RELATIONS: dict[str, tuple[str, bool]] = {
    "verb_subject": ("subject", True),
    "subject_verb": ("subject", False),
    "verb_object": ("object", True),
    "object_verb": ("object", False),
    "noun_adjective": ("adjective", True),
    "adjective_noun": ("adjective", False),
    "verb_adverb": ("adverb", True),
    "adverb_verb": ("adverb", False),
}
"""Measure to the relation, as the gold dependencies call it, and whether its rows are those of the
governor, which look for the dependent."""

WITHIN = (*RELATIONS, PIECES)
"""All measures that hold between two tokens of the source."""

Table = npt.NDArray[np.bool_]


def tables(pieces: Sequence[str], gold: Gold | None) -> dict[str, Table]:
    """For each of `WITHIN` that the sentence has: whether the column is what the row looks for.
    `pieces` are the source's as they are written, `</s>` last."""
    n = len(pieces)
    found = {PIECES: same_word(pieces)}
    owners = words_of(pieces[:-1], gold.source_words) if gold and gold.dependencies else None
    if gold and owners is not None:
        word = np.array([*owners, -1])
        for name, (relation, down) in RELATIONS.items():
            table = np.zeros((n, n), dtype=bool)
            for called, governor, dependent in gold.dependencies:
                if called == relation:
                    row, column = (governor, dependent) if down else (dependent, governor)
                    table |= (word == row)[:, None] & (word == column)
            found[name] = table
    return {name: table for name, table in found.items() if table.any()}


def best_offset(sentences: Iterable[Mapping[str, Table]], measure: str) -> tuple[int, float, int]:
    """The offset that finds what the rows look for most often, how often, and how many rows. Of
    equally good ones the nearest to 0, then the smaller. (0, NaN, 0) without a row."""
    hits: Counter[int] = Counter()
    rows = 0
    for found in sentences:
        if measure in found:
            i, j = np.nonzero(found[measure])
            hits.update((j - i).tolist())
            rows += int(found[measure].any(axis=-1).sum())
    if not rows:
        return 0, float("nan"), 0
    offset = min(hits, key=lambda at: (-hits[at], abs(at), at))
    return offset, hits[offset] / rows, rows


@dataclass(frozen=True)
class Tokens:
    """What is known of the pieces and sentences of a corpus.

    Attributes:
        pieces: what every id of the vocabulary looks like.
        rarity: of every id, greater for rarer ones; see `rarity`.
        rare: of every id, whether `FREQUENT` others are more frequent.
        aligned: for every sentence with gold links (target piece, source piece): whether their
            words are linked; None for the others.
        within: for every sentence what its source's tokens look for; see `tables`.
    """

    pieces: Pieces
    rarity: Integer[np.ndarray, " ids"]
    rare: Bool[np.ndarray, " ids"]
    aligned: Sequence[Table | None]
    within: Sequence[dict[str, Table]]

    @classmethod
    def of(cls, vocabulary: Vocabulary, corpus: Corpus, pairs: Sequence[Pair]) -> Tokens:
        pieces = vocabulary.tokens(range(len(vocabulary)))
        both = list(zip(corpus.sentences, pairs, strict=True))
        links = [
            None
            if sentence.gold is None or pair.own
            else pieces_linked(
                vocabulary.tokens(pair.src), vocabulary.tokens(pair.out), sentence.gold
            )
            for sentence, pair in both
        ]
        ordered = vocabulary.pair is None
        known, rare = Pieces.of(pieces), np.array(rarity(pieces, pairs, ordered=ordered))
        rising = np.sort(rare[~known.control])
        least = rising[FREQUENT] if len(rising) > FREQUENT else rare.max() + 1
        within = [tables([pieces[id] for id in pair.src], sentence.gold) for sentence, pair in both]
        return cls(known, rare, rare >= least, links, within)

    def rows(self, kind: str, batch: NumberedBatch) -> Rows:
        """The rows of one kind of attention in this batch."""
        src, tgt, out, n_src, n_tgt = (
            part.cpu().numpy()
            for part in (batch.src, batch.tgt_in, batch.tgt_out, batch.n_src, batch.n_tgt)
        )
        query, n_query = (src, n_src) if kind == "encoder" else (tgt, n_tgt)
        key, n_key = (tgt, n_tgt) if kind == "decoder" else (src, n_src)
        shape = query.shape[1], key.shape[1]
        within = {}
        if kind == "encoder":
            found = [self.within[number] for number in batch.numbers]
            within = {name: _padded([one.get(name) for one in found], shape) for name in WITHIN}
        linked = None
        if kind == "cross":
            linked = _padded([self.aligned[number] for number in batch.numbers], shape)
        writes = src if kind == "encoder" else out
        return Rows(
            kind, query, key, writes, n_query, n_key, self.pieces, self.rarity, self.rare, within,
            linked,
        )  # fmt: skip


def _padded(
    tables: Sequence[Table | None], shape: tuple[int, int]
) -> Bool[np.ndarray, "sentences query key"]:
    found = np.zeros((len(tables), *shape), dtype=bool)
    for row, table in enumerate(tables):
        if table is not None:
            found[row, : table.shape[0], : table.shape[1]] = table
    return found


def rarity(pieces: Sequence[str], pairs: Sequence[Pair], *, ordered: bool = True) -> list[int]:
    """A number for every id, greater for rarer pieces.

    A learned vocabulary numbers its pieces from the most probable to the least (Kudo 2018), but
    its bytes, which come first and stand for what no piece covers; so the number says how rare a
    piece was in the training text. A vocabulary of given symbols, or one that came from elsewhere,
    has no such order (not `ordered`), and the corpus is counted instead.
    """
    if ordered and "<0x00>" in pieces:
        return [
            len(pieces) + id if piece.startswith("<0x") else id for id, piece in enumerate(pieces)
        ]
    counts = Counter(id for pair in pairs for id in pair.src)
    return [-counts[id] for id in range(len(pieces))]
