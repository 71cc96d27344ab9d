"""A translation and its table of decoding steps, as `translation.js` reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from transformer.figures.glance import AlternativeLike, alternative_fields
from transformer.figures.packed_trace import TraceLike, describe


def translation_data(
    text: str, source_tokens: Sequence[str], tokens: Sequence[str], *, language: str = ""
) -> dict[str, Any]:
    """Return a translation and its pieces, as `translation.js` shows them.

    `language` is a tag such as "fr", which selects the voice of a screen reader.
    """
    return {
        "text": text,
        "source_tokens": list(source_tokens),
        "tokens": list(tokens),
        "language": language,
    }


def steps_data(
    traced: TraceLike,
    alternatives: Iterable[Sequence[AlternativeLike]] | None = None,
    *,
    live: bool = False,
    forced: int = -1,
    tails: Mapping[int, float] | None = None,
) -> dict[str, Any]:
    """Return what the table of decoding steps is drawn from.

    Args:
        alternatives: those of each word, for a table in whole words; None for one of tokens.
        live: whether the page reacts when a reader clicks a candidate or a step.
        forced: the step, from 0, at which a piece was forced; -1 for none.
        tails: for steps, from 0, that chose an improbable piece: the total probability of all the
            more probable pieces.
    """
    return {
        "trace": describe(traced, []),
        "words": alternatives is not None,
        "alternatives": alternative_fields(alternatives or ()),
        "live": live,
        "forced": forced,
        "tails": {str(step): share for step, share in (tails or {}).items()},
    }
