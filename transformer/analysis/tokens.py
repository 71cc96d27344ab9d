"""What is known of the pieces and sentences of a corpus before any attention is looked at."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from transformer.analysis.corpora import Corpus
from transformer.analysis.gold import pieces_linked
from transformer.analysis.passes import Pair
from transformer.analysis.syntax import Table, tables
from transformer.figures.words import BEGIN, CONTROL
from transformer.text import Vocabulary

FREQUENT = 500
"""So many of the most frequent tokens are never called rare."""


@dataclass(frozen=True)
class Tokens:
    """What is known of the pieces and sentences of a corpus.

    Attributes:
        punctuation, control: of every id of the vocabulary.
        begins, goes_on: of every id whether it begins a word that has a letter or a digit, or
            goes on with one.
        rarity: of every id, greater for rarer ones; see `rarity`.
        rare: of every id, whether `FREQUENT` others are more frequent.
        aligned: for every sentence with gold links (target piece, source piece): whether their
            words are linked; None for the others.
        within: for every sentence what its source's tokens look for; see `syntax.tables`.
    """

    punctuation: Bool[Tensor, "vocab"]
    control: Bool[Tensor, "vocab"]
    begins: Bool[Tensor, "vocab"]
    goes_on: Bool[Tensor, "vocab"]
    rarity: Int[Tensor, "vocab"]
    rare: Bool[Tensor, "vocab"]
    aligned: Sequence[Bool[Tensor, "_ _"] | None]
    within: Sequence[dict[str, Table]]

    def whole(self, ids: Int[Tensor, "rows n"]) -> Bool[Tensor, "rows n"]:
        """Which tokens are a word by themselves: pieces that go on with one, and those that are
        gone on with, stand in many words that have nothing else in common."""
        goes_on = torch.zeros_like(ids, dtype=torch.bool)
        goes_on[:, :-1] = self.goes_on[ids[:, 1:]]
        return self.begins[ids] & ~goes_on

    @classmethod
    def of(
        cls, vocabulary: Vocabulary, corpus: Corpus, pairs: Sequence[Pair], device: torch.device
    ) -> Tokens:
        pieces = vocabulary.tokens(range(len(vocabulary)))
        links = [
            None
            if sentence.gold is None or pair.own
            else pieces_linked(
                vocabulary.tokens(pair.src), vocabulary.tokens(pair.out), sentence.gold
            )
            for sentence, pair in zip(corpus.sentences, pairs, strict=True)
        ]
        signs = [_is_punctuation(piece) for piece in pieces]
        control = [piece in CONTROL for piece in pieces]
        rare = rarity(pieces, pairs)
        known = sorted(rare[id] for id in range(len(pieces)) if not control[id])
        least = known[FREQUENT] if len(known) > FREQUENT else max(rare) + 1
        return cls(
            torch.tensor(signs, device=device),
            torch.tensor(control, device=device),
            torch.tensor([_begins_word(piece) for piece in pieces], device=device),
            torch.tensor(
                [
                    not (piece.startswith(BEGIN) or sign or special)
                    for piece, sign, special in zip(pieces, signs, control, strict=True)
                ],
                device=device,
            ),
            torch.tensor(rare, device=device),
            torch.tensor([each >= least for each in rare], device=device),
            [None if table is None else torch.from_numpy(table).to(device) for table in links],
            [
                tables([pieces[id] for id in pair.src], sentence.gold, [signs[i] for i in pair.src])
                for sentence, pair in zip(corpus.sentences, pairs, strict=True)
            ],
        )


def rarity(pieces: Sequence[str], pairs: Sequence[Pair]) -> list[int]:
    """A number for every id, greater for rarer pieces.

    A learned vocabulary numbers its pieces from the most probable to the least (Kudo 2018), but
    its bytes, which come first and stand for what no piece covers; so the number says how rare a
    piece was in the training text. A vocabulary of given symbols has no such order, and the
    corpus is counted instead.
    """
    if "<0x00>" in pieces:
        return [
            len(pieces) + id if piece.startswith("<0x") else id for id, piece in enumerate(pieces)
        ]
    counts = Counter(id for pair in pairs for id in pair.src)
    return [-counts[id] for id in range(len(pieces))]


def _is_punctuation(piece: str) -> bool:
    """Signs between words; an apostrophe or a hyphen stands within one."""
    text = piece.removeprefix(BEGIN)
    return bool(text) and all(
        unicodedata.category(letter)[0] == "P" and letter not in "'’-" for letter in text
    )


def _begins_word(piece: str) -> bool:
    return piece.startswith(BEGIN) and any(letter.isalnum() for letter in piece)
