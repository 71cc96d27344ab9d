"""Properties of a corpus's pieces that are independent of attention, and which pieces are related.

Voita et al. 2019, section 5.2: a head's accuracy on a relation, for example from verb to subject,
is the share of verbs whose largest weight (without `</s>`) is on the subject. Subjects are mostly
one or two positions before their verbs, so a head with a fixed offset may have a high accuracy: a
syntactic head must be at least 10% better than the most frequent offset. The paper does not say
whether that is relative or in percentage points; here it is 10 points, which is stricter.

A word may have several pieces: every row of its pieces counts, and a weight on any piece of the
related word is a hit, both for heads and for offsets. Attention between the pieces of one word
(Correia et al. 2019) is measured in the same way; it needs no grammar.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from jaxtyping import Bool, Integer

from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.gold import GoldAnnotations, pieces_linked, words_of
from transformer.analysis.corpora.passes import NumberedBatch, Pair
from transformer.measures.grammar import PIECES, same_word
from transformer.measures.kinds import AttentionKind
from transformer.measures.pieces import Pieces
from transformer.measures.rare import FREQUENT
from transformer.measures.rows import Rows
from transformer.text import Vocabulary

MARGIN = 0.10
"""Minimum difference between the accuracy of a head and that of the best offset."""

MIN_ROWS = 30
"""Minimum number of rows of a relation for a role."""

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
"""Relation in the gold dependencies for each measure, and whether its rows are those of the
governor (columns are then dependents)."""

SOURCE_RELATIONS = (*RELATIONS, PIECES)
"""All measures between two source tokens."""

Table = npt.NDArray[np.bool_]


def relation_tables(pieces: Sequence[str], gold: GoldAnnotations | None) -> dict[str, Table]:
    """Return, for each of `SOURCE_RELATIONS` in the sentence, whether the column is the related
    word of the row.

    `pieces` are the source's, `</s>` last.
    """
    n = len(pieces)
    by_relation = {PIECES: same_word(pieces)}
    indices = words_of(pieces[:-1], gold.source_words) if gold and gold.dependencies else None
    if gold and indices is not None:
        word = np.array([*indices, -1])
        for name, (relation, from_governor) in RELATIONS.items():
            table = np.zeros((n, n), dtype=bool)
            for label, governor, dependent in gold.dependencies:
                if label == relation:
                    row, column = (governor, dependent) if from_governor else (dependent, governor)
                    table |= (word == row)[:, None] & (word == column)
            by_relation[name] = table
    return {name: table for name, table in by_relation.items() if table.any()}


def best_offset(sentences: Iterable[Mapping[str, Table]], measure: str) -> tuple[int, float, int]:
    """Return the offset with most hits, its share of hits, and the number of rows. Ties go to the
    offset nearest to 0, then to the smaller one. (0, NaN, 0) without a row.
    """
    hits: Counter[int] = Counter()
    rows = 0
    for tables in sentences:
        if measure in tables:
            i, j = np.nonzero(tables[measure])
            hits.update((j - i).tolist())
            rows += int(tables[measure].any(axis=-1).sum())
    if not rows:
        return 0, float("nan"), 0
    offset = min(hits, key=lambda candidate: (-hits[candidate], abs(candidate), candidate))
    return offset, hits[offset] / rows, rows


@dataclass(frozen=True)
class CorpusTokens:
    """Properties of the pieces and sentences of a corpus.

    Attributes:
        pieces: the piece of every id of the vocabulary.
        rarity: of every id, greater for rarer ones; see `rarity`.
        rare: for every id, whether `FREQUENT` others are more frequent.
        aligned: for every sentence with gold links (target piece, source piece): whether their
            words are linked; None for the others.
        within: for every sentence the related words of its source tokens; see `relation_tables`.
    """

    pieces: Pieces
    rarity: Integer[np.ndarray, " ids"]
    rare: Bool[np.ndarray, " ids"]
    aligned: Sequence[Table | None]
    within: Sequence[dict[str, Table]]

    @classmethod
    def from_pairs(
        cls, vocabulary: Vocabulary, corpus: Corpus, pairs: Sequence[Pair]
    ) -> CorpusTokens:
        pieces = vocabulary.tokens(range(len(vocabulary)))
        sentence_pairs = list(zip(corpus.sentences, pairs, strict=True))
        links = [
            None
            if sentence.gold is None or pair.own
            else pieces_linked(
                vocabulary.tokens(pair.src), vocabulary.tokens(pair.out), sentence.gold
            )
            for sentence, pair in sentence_pairs
        ]
        ordered = vocabulary.pair is None
        piece_classes = Pieces.of(pieces)
        ranks = np.array(rarity(pieces, pairs, ordered=ordered))
        sorted_ranks = np.sort(ranks[~piece_classes.control])
        threshold = sorted_ranks[FREQUENT] if len(sorted_ranks) > FREQUENT else ranks.max() + 1
        within = [
            relation_tables([pieces[id] for id in pair.src], sentence.gold)
            for sentence, pair in sentence_pairs
        ]
        return cls(piece_classes, ranks, ranks >= threshold, links, within)

    def rows(self, kind: AttentionKind, batch: NumberedBatch) -> Rows:
        """Return the rows of one kind of attention in this batch."""
        src, tgt, out, n_src, n_tgt = (
            tensor.cpu().numpy()
            for tensor in (batch.src, batch.tgt_in, batch.tgt_out, batch.n_src, batch.n_tgt)
        )
        query, n_query = (src, n_src) if kind == "encoder" else (tgt, n_tgt)
        key, n_key = (tgt, n_tgt) if kind == "decoder" else (src, n_src)
        shape = query.shape[1], key.shape[1]
        within = {}
        if kind == "encoder":
            tables = [self.within[number] for number in batch.numbers]
            within = {
                name: _padded([table.get(name) for table in tables], shape)
                for name in SOURCE_RELATIONS
            }
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
    batch = np.zeros((len(tables), *shape), dtype=bool)
    for row, table in enumerate(tables):
        if table is not None:
            batch[row, : table.shape[0], : table.shape[1]] = table
    return batch


def rarity(pieces: Sequence[str], pairs: Sequence[Pair], *, ordered: bool = True) -> list[int]:
    """Return a number for every id, greater for rarer pieces.

    A learned vocabulary numbers its pieces from the most probable to the least (Kudo 2018), except
    for bytes, which come first and are used for characters without a piece. So the id is the rank
    of a piece in the training text. If the ids are not `ordered` like this, as in a task's or an
    imported vocabulary, the frequencies in the corpus are used instead.
    """
    if ordered and "<0x00>" in pieces:
        return [
            len(pieces) + id if piece.startswith("<0x") else id for id, piece in enumerate(pieces)
        ]
    counts = Counter(id for pair in pairs for id in pair.src)
    return [-counts[id] for id in range(len(pieces))]
