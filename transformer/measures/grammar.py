"""The share of rows that look at a word which belongs to theirs, or at a piece of their own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool

from transformer.measures.measure import Measure
from transformer.measures.pieces import BEGIN, is_punctuation
from transformer.measures.rows import Rows, RowWeights

RELATIONS = {
    "verb_subject": ("Verb: its subject", "verbs", "their subject"),
    "subject_verb": ("Subject: its verb", "subjects", "their verb"),
    "verb_object": ("Verb: its object", "verbs", "their object"),
    "object_verb": ("Object: its verb", "objects", "their verb"),
    "noun_adjective": ("Noun: its adjective", "nouns", "their adjective"),
    "adjective_noun": ("Adjective: its noun", "adjectives", "their noun"),
    "verb_adverb": ("Verb: its adverb", "verbs", "their adverb"),
    "adverb_verb": ("Adverb: its verb", "adverbs", "their verb"),
}
"""Label, rows, and what they look for."""
PIECES = "pieces"


def same_word(pieces: Sequence[str]) -> Bool[np.ndarray, "n n"]:
    """Other pieces of the row's own word. The last piece is `</s>`; a word begins after a blank."""
    inside = ~np.array([*(is_punctuation(piece) for piece in pieces[:-1]), True])
    word = np.cumsum([piece.startswith(BEGIN) for piece in pieces])
    same: Bool[np.ndarray, "n n"] = (word[:, None] == word) & inside[:, None] & inside
    np.fill_diagonal(same, False)
    return same


def _relation_measure(name: str, label: str, note: str, missing_reason: str) -> Measure:
    def table(rows: Rows) -> Bool[np.ndarray, "sentences query key"]:
        return rows.within.get(name, rows.none)

    def relation_weight(attention: RowWeights) -> np.ndarray:
        return attention.greatest_on(table(attention.rows))

    return Measure(
        name,
        label,
        note,
        relation_weight,
        kinds=("encoder",),
        counts=lambda rows: rows.with_any(table),
        group="grammar",
        missing_reason=missing_reason,
    )


MEASURES = (
    *(
        _relation_measure(
            name,
            label,
            f"The share of {rows} with their greatest weight, </s> aside, on {target} (Voita et "
            "al. 2019, section 5.2), where the grammar says which.",
            "only our grammar's tell which word depends on which, among our own sentences",
        )
        for name, (label, rows, target) in RELATIONS.items()
    ),
    _relation_measure(
        PIECES,
        "Pieces of its word",
        "The share of rows of words of several pieces with their greatest weight, </s> aside, on "
        "another piece of the word.",
        "none has a word of several pieces",
    ),
)
