"""Two SentencePiece models with one shared list of pieces: the vocabulary of a Marian model.

Each side is segmented by its own model, and a piece's id is its index in the shared list (Marian
and `transformers` call the files source.spm, target.spm and vocab.json).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Sequence

import sentencepiece

MAGIC = b"heads-up pair 1\n"
"""The first bytes of the format; no SentencePiece model begins with them."""
_LENGTH = struct.Struct(">Q")
PAD, START, END, UNKNOWN = "<pad>", "<s>", "</s>", "<unk>"


class PairPieces:
    """The SentencePiece methods that `Vocabulary` uses, for a pair of models; immutable.

    A source may begin with a target-language token such as ">>fra<<"; it becomes one piece, as in
    `MarianTokenizer`. Pieces that are not in the list become `<unk>`.
    """

    def __init__(self, source: bytes, target: bytes, pieces: Sequence[str], start: int) -> None:
        """
        Args:
            source, target: serialised SentencePiece models.
            pieces: in the order of their ids; must include `<pad>`, `</s>` and `<unk>`.
            start: id of the token that the decoder reads first.

        Raises ValueError for an invalid model or list.
        """
        self._source = load_processor(source, "The source model's")
        self._target = load_processor(target, "The target model's")
        self._ids = {piece: id for id, piece in reversed([*enumerate(pieces)])}
        for name in (PAD, END, UNKNOWN):
            if name not in self._ids:
                raise ValueError(f"The list of {len(pieces)} pieces has no {name}.")
        if not 0 <= start < len(pieces):
            raise ValueError(f"The start id is {start}; it must be from 0 to {len(pieces) - 1}.")
        self._pieces, self._start = tuple(pieces), start
        self.files = source, target

    @classmethod
    def from_bytes(cls, data: bytes) -> PairPieces:
        """Inverse of `to_bytes`. Raises ValueError if the bytes are truncated or in another
        format."""
        parts, offset = [], len(MAGIC)
        while offset < len(data):
            size = int.from_bytes(data[offset : offset + _LENGTH.size], "big")
            offset += _LENGTH.size
            parts.append(data[offset : offset + size])
            offset += size
        if offset != len(data) or len(parts) != 3:
            raise ValueError(f"This two-model vocabulary is truncated at {len(data)} bytes.")
        try:
            content = json.loads(parts[2])
            pieces, start = content["pieces"], content["start"]
            valid = type(start) is int and all(isinstance(piece, str) for piece in pieces)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise ValueError("This two-model vocabulary has no list of pieces.") from error
        if not valid:
            raise ValueError(
                "In this two-model vocabulary a piece is not a string, or the start id is not an "
                "integer."
            )
        return cls(parts[0], parts[1], pieces, start)

    def to_bytes(self) -> bytes:
        """Serialise both models and the list, each preceded by its length."""
        content = json.dumps({"pieces": self._pieces, "start": self._start}, ensure_ascii=False)
        parts = (*self.files, content.encode())
        return MAGIC + b"".join(_LENGTH.pack(len(part)) + part for part in parts)

    def __len__(self) -> int:
        return len(self._pieces)

    def pad_id(self) -> int:
        return self._ids[PAD]

    def bos_id(self) -> int:
        return self._start

    def eos_id(self) -> int:
        return self._ids[END]

    def unk_id(self) -> int:
        return self._ids[UNKNOWN]

    def id_to_piece(self, id: int) -> str:
        return self._pieces[id]

    def piece_to_id(self, piece: str) -> int:
        return self._ids.get(piece, self.unk_id())

    def languages(self) -> tuple[str, ...]:
        """Return the tokens that a source may begin with: ">>fra<<", …"""
        return tuple(p for p in self._pieces if p.startswith(">>") and p.endswith("<<"))

    def encode_source(self, texts: Sequence[str], threads: int) -> list[list[int]]:
        """Return the ids of each text: a leading language token first, if any, and `</s>` last."""
        codes, bare_texts = zip(*map(_split_language, texts), strict=True) if texts else ((), ())
        cut: list[list[str]] = self._source.encode(
            list(bare_texts), out_type=str, num_threads=threads
        )
        return [self._to_ids([*code, *pieces]) for code, pieces in zip(codes, cut, strict=True)]

    def encode_target(self, texts: Sequence[str], threads: int) -> list[list[int]]:
        """Return the ids of each text under the target model, `</s>` last."""
        cut: list[list[str]] = self._target.encode(list(texts), out_type=str, num_threads=threads)
        return [self._to_ids(pieces) for pieces in cut]

    def decode(self, ids: Iterable[int]) -> str:
        """Return the text of target ids, without control pieces."""
        control = {self.pad_id(), self._start, self.eos_id()}
        pieces = [self._pieces[id] for id in ids if id not in control]
        text: str = self._target.decode_pieces(pieces)
        return text.replace("▁", " ").strip()

    def _to_ids(self, pieces: Iterable[str]) -> list[int]:
        return [*map(self.piece_to_id, pieces), self.eos_id()]


def _split_language(text: str) -> tuple[list[str], str]:
    """Return the language token at the beginning of a text, if any, and the rest."""
    end = text.find("<<") if text.startswith(">>") else -1
    return ([], text) if end < 0 else ([text[: end + 2]], text[end + 2 :])


def load_processor(data: bytes, owner: str = "These") -> sentencepiece.SentencePieceProcessor:
    """Load a serialised SentencePiece model. Raises ValueError if it is invalid; `owner` begins the
    message."""
    try:
        if not data:
            raise RuntimeError("no bytes")  # SentencePiece would accept them as an empty model
        return sentencepiece.SentencePieceProcessor(model_proto=data)
    except RuntimeError as error:
        raise ValueError(
            f"{owner} {len(data)} bytes are not a SentencePiece model; the file may be "
            "truncated or of another kind."
        ) from error
