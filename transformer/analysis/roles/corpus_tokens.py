"""What is known of the pieces and sentences of a corpus before any attention is looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Integer

from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.gold import pieces_linked
from transformer.analysis.corpora.passes import NumberedBatch, Pair
from transformer.analysis.roles.syntax import WITHIN, Table, tables
from transformer.measures.pieces import Pieces
from transformer.measures.rare import FREQUENT
from transformer.measures.rows import Rows
from transformer.text import Vocabulary


@dataclass(frozen=True)
class Tokens:
    """What is known of the pieces and sentences of a corpus.

    Attributes:
        pieces: what every id of the vocabulary looks like.
        rarity: of every id, greater for rarer ones; see `rarity`.
        rare: of every id, whether `FREQUENT` others are more frequent.
        aligned: for every sentence with gold links (target piece, source piece): whether their
            words are linked; None for the others.
        within: for every sentence what its source's tokens look for; see `syntax.tables`.
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
