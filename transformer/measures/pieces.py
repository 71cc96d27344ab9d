"""Classification of pieces: control tokens, punctuation, beginnings of words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Integer

BEGIN = "▁"
"""SentencePiece's mark for the beginning of a word (Kudo and Richardson 2018, section 3.1,
https://arxiv.org/abs/1808.06226)."""

_CONTROL = re.compile(
    r"</?(?:s|2[a-z]{2,3}|[A-Za-z][\w.:-]{2,})>|<[|｜][^<>\s]+[|｜]>|<</?[A-Z]+>>|</?s>NOTUSED"
    r"|\[(?:/?[A-Z][A-Z_]*[0-9]*|[gs]MASK|unused[0-9]+)\]"
    # Codes of languages: M2M100, NLLB, mBART, multilingual Marian models.
    r"|__[a-z]{2,3}__|[a-z]{3}_[A-Z][a-z]{3}|[a-z]{2}_[A-Z]{2}|>>[a-z]{2,3}(?:_[A-Za-z]+)?<<"
)


def is_control(token: str) -> bool:
    """Whether a token stands for no text: `<s>`, `</s>`, `<extra_id_0>`, `<|im_end|>`, `[CLS]`,
    `fra_Latn`. A byte piece such as `<0x0A>` and a short tag such as `<b>` stand for text.

    `client/common/naming.js` has the same rule.
    """
    return _CONTROL.fullmatch(token) is not None


JOINERS = "\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}"
"""Invisible characters that belong to what is written: a joiner makes one emoji of several."""
BYTE = re.compile(r"<0x([0-9A-F]{2})>")
"""A piece that is one byte of a character for which the vocabulary has no piece."""
_BYTES = re.compile(rf"(?:{BYTE.pattern})+")


def join_bytes(text: str) -> str:
    """Return `text` with runs of byte pieces as the characters that they spell.

    A byte of an incomplete character becomes "�", as in decoded text; control characters are
    written as ⟨0A⟩.
    """
    if "<0x" not in text:
        return text
    return _BYTES.sub(lambda run: _decode_bytes(bytes.fromhex("".join(BYTE.findall(run[0])))), text)


def _decode_bytes(raw: bytes) -> str:
    letters = raw.decode("utf-8", "surrogateescape")
    return "".join(map(_visible, letters))


def _visible(letter: str) -> str:
    if letter.isprintable() or letter in JOINERS or unicodedata.category(letter) == "Zs":
        return letter
    if unicodedata.category(letter) == "Cs":  # the escape of a byte that is no character
        return "\N{REPLACEMENT CHARACTER}"
    return "".join(f"⟨{byte:02X}⟩" for byte in letter.encode())


@dataclass(frozen=True)
class Pieces:
    """The class of every id of a vocabulary.

    Attributes:
        control, punctuation: whether it is a control token or punctuation.
        begins: whether it begins a word and has a letter or a digit.
        continues: whether it continues a word.
    """

    control: Bool[np.ndarray, " ids"]
    punctuation: Bool[np.ndarray, " ids"]
    begins: Bool[np.ndarray, " ids"]
    continues: Bool[np.ndarray, " ids"]

    @classmethod
    def of(cls, pieces: Sequence[str]) -> Pieces:
        control = np.array([is_control(piece) for piece in pieces])
        punctuation = np.array([is_punctuation(piece) for piece in pieces])
        starts = np.array([piece.startswith(BEGIN) for piece in pieces])
        has_letters = np.array([any(letter.isalnum() for letter in piece) for piece in pieces])
        return cls(control, punctuation, starts & has_letters, ~(starts | punctuation | control))

    def whole_words(
        self, ids: Integer[np.ndarray, "sentences n"]
    ) -> Bool[np.ndarray, "sentences n"]:
        """Return which tokens are whole words, not pieces of longer words."""
        is_continued = np.zeros(ids.shape, dtype=bool)
        is_continued[:, :-1] = self.continues[ids[:, 1:]]
        return np.asarray(self.begins[ids] & ~is_continued)


def is_punctuation(piece: str) -> bool:
    """Whether a piece is punctuation; apostrophes and hyphens are part of words."""
    text = piece.removeprefix(BEGIN)
    return bool(text) and all(
        unicodedata.category(letter)[0] == "P" and letter not in "'’-" for letter in text
    )
