"""Heads that look from a word to one that belongs to it: verb and subject, noun and adjective.

Voita et al. 2019, section 5.2: a head's accuracy on a relation, in one direction, is how often its
greatest weight (`</s>` aside) is on the token at the other end. Subjects mostly stand one or two
places before their verbs, so a head that only counts places would score too: the head must be at
least 10% better than the most frequent offset. The paper leaves open whether that is of the
accuracy or in points; here it is 10 points, which asks more.

A word may have several pieces: every row of its pieces counts, and a weight on any piece of the
other word is a hit, for heads and for offsets alike. In the same way, without a grammar: the
pieces of one word, which Correia et al. 2019 saw a head bring together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from transformer.analysis.corpora.gold import Gold, words_of
from transformer.measures.grammar import PIECES, same_word

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

    `pieces` are the source's as they are written, `</s>` last.
    """
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
    """The offset that finds what the rows look for most often, how often, and how many rows.

    Of equally good ones the nearest to 0, then the smaller. (0, NaN, 0) without a row.
    """
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
