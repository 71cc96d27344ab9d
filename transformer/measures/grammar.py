"""The share of rows that attend to a syntactically related word, or to a piece of their own
word."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool

from transformer.measures.measure import Measure
from transformer.measures.pieces import BEGIN, is_punctuation
from transformer.measures.rows import Rows, RowWeights

RELATIONS = {
    "verb_subject": ("Verb → its subject", "verbs", "their subject"),
    "subject_verb": ("Subject → its verb", "subjects", "their verb"),
    "verb_object": ("Verb → its object", "verbs", "their object"),
    "object_verb": ("Object → its verb", "objects", "their verb"),
    "noun_adjective": ("Noun → its adjective", "nouns", "their adjective"),
    "adjective_noun": ("Adjective → its noun", "adjectives", "their noun"),
    "verb_adverb": ("Verb → its adverb", "verbs", "their adverb"),
    "adverb_verb": ("Adverb → its verb", "adverbs", "their verb"),
}
"""Label of each measure, its rows, and the words they should attend to."""
PIECES = "pieces"


def same_word(pieces: Sequence[str]) -> Bool[np.ndarray, "n n"]:
    """Mask of the other pieces of each row's word. The last piece is `</s>`; "▁" begins a word."""
    is_word_piece = ~np.array([*(is_punctuation(piece) for piece in pieces[:-1]), True])
    word = np.cumsum([piece.startswith(BEGIN) for piece in pieces])
    same: Bool[np.ndarray, "n n"] = (word[:, None] == word) & is_word_piece[:, None] & is_word_piece
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
            f"The share of {rows} with their greatest weight (without </s>) on {target} (Voita et "
            "al. 2019, section 5.2), by the grammar's dependencies.",
            "only sentences of the built-in grammar have known dependencies",
        )
        for name, (label, rows, target) in RELATIONS.items()
    ),
    _relation_measure(
        PIECES,
        "Other tokens of the word",
        "For words of several tokens: the share of rows with their greatest weight (without "
        "</s>) on "
        "another token of the same word.",
        "none has a word of several tokens",
    ),
)
