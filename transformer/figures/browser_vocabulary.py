"""Which vocabularies the browser reads as SentencePiece does.

`client/model/vocabulary.js` refuses the same models when it loads them; the static site asks
before it is written. Numbers of fields are those of sentencepiece_model.proto.
"""

from __future__ import annotations

from collections.abc import Iterator

from transformer.text.vocabulary import Vocabulary

_PIECES, _TRAINER, _NORMALIZER, _DENORMALIZER = 1, 2, 3, 5
_MODEL_TYPE, _SPACES_AFTER_WORDS = 3, 24
_RULES, _ESCAPES_SPACES = 2, 5
_KIND_OF_PIECE = 3
_UNIGRAM = 1
_USER_DEFINED = 4
_KINDS = {2: "BPE", 3: "word", 4: "character"}

Value = int | bytes


def browser_problem(vocabulary: Vocabulary) -> str:
    """Return why the browser would compute other ids or texts than SentencePiece, as the end of a
    sentence, or "" if it computes the same."""
    if vocabulary.pair is not None:
        return "its vocabulary has a model for each side"
    pieces: list[dict[int, Value]] = []
    parts: dict[int, dict[int, Value]] = {_TRAINER: {}, _NORMALIZER: {}, _DENORMALIZER: {}}
    for number, value in _fields(vocabulary.to_bytes()):
        if isinstance(value, bytes) and number == _PIECES:
            pieces.append(dict(_fields(value)))
        elif isinstance(value, bytes) and number in parts:
            parts[number] |= dict(_fields(value))
    kind = parts[_TRAINER].get(_MODEL_TYPE, _UNIGRAM)
    if kind != _UNIGRAM:
        name = _KINDS.get(int(kind), "other")
        return f"its vocabulary is a SentencePiece {name} model, not a unigram model"
    if any(piece.get(_KIND_OF_PIECE) == _USER_DEFINED for piece in pieces):
        return "its vocabulary has user-defined symbols"
    if parts[_TRAINER].get(_SPACES_AFTER_WORDS):
        return "its vocabulary marks spaces after words"
    if not parts[_NORMALIZER].get(_ESCAPES_SPACES, 1):
        return "its vocabulary keeps spaces as they are"
    if parts[_DENORMALIZER].get(_RULES):
        return "its vocabulary rewrites its output"
    return ""


def _fields(message: bytes) -> Iterator[tuple[int, Value]]:
    """Yield (number, value) of the fields of a protobuf message that SentencePiece has read;
    a float is four bytes."""
    offset = 0

    def varint() -> int:
        nonlocal offset
        value = shift = 0
        while True:
            byte = message[offset]
            offset += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while offset < len(message):
        number, kind = divmod(varint(), 8)
        if kind == 0:
            yield number, varint()
            continue
        length = {1: 8, 5: 4}.get(kind)
        length = varint() if length is None else length
        yield number, message[offset : offset + length]
        offset += length
