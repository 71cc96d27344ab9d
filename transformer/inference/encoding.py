"""Conversion of texts to token ids, with a clear error for a text, target or prefix that cannot be
used."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence

from transformer.config import ModelConfig
from transformer.inference.options import check_source
from transformer.text import Vocabulary
from transformer.text.visible import is_blank

EMPTY_TEXT_MESSAGE = "There is no text to translate; write a sentence first."


def encode_sources(
    vocabulary: Vocabulary, texts: Sequence[str], config: ModelConfig
) -> list[list[int]]:
    """Return the ids of source texts. Raises TypeError for another type, ValueError for a blank or
    too long text."""
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"a text must be a string, not {type(text).__name__}")
        if is_blank(text):
            raise ValueError(EMPTY_TEXT_MESSAGE)
    sources = vocabulary.encode_batch(list(texts), threads=1)
    for source in sources:
        if source == [vocabulary.eos_id]:  # normalization removed every character
            raise ValueError(EMPTY_TEXT_MESSAGE)
        check_source(len(source), config)
    return sources


def encode_target(vocabulary: Vocabulary, target: str | Sequence[int]) -> list[int]:
    """Return the ids of a translation to force. Raises ValueError for a blank text."""
    if not isinstance(target, str):
        return _whole_ids("target", target)
    ids = vocabulary.encode(target, target=True)
    if is_blank(target) or ids == [vocabulary.eos_id]:
        raise ValueError("There is no translation to force; write one first.")
    return ids


def _whole_ids(label: str, ids: Iterable[int]) -> list[int]:
    """Return ids, also those of numpy or torch, as a list. Raises TypeError for other values."""
    try:
        return [operator.index(id) for id in ids]
    except TypeError:
        raise TypeError(
            f"a {label} must be text or a sequence of whole numbers, not {ids!r}"
        ) from None


def encode_prefix(
    vocabulary: Vocabulary, prefix: str | Sequence[int] | None, targets: object
) -> list[int]:
    """Return the ids of the beginning of an output, without `</s>`. Raises TypeError for another
    type, ValueError for a prefix with a forced target."""
    if isinstance(prefix, str):
        ids = vocabulary.encode(prefix, target=True)[:-1]
    else:
        ids = _whole_ids("prefix", () if prefix is None else prefix)
    if ids and targets is not None:
        raise ValueError(
            "pass either a target, which is only scored, or a prefix, which is continued"
        )
    return ids
