"""Data of `glance.js`: a translation with its cross-attention, drawn in whole words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from transformer.figures.packed_trace import (
    AlignerLike,
    TraceLike,
    aligner_fields,
    describe,
    weight_parts,
)
from transformer.figures.packing import pack
from transformer.measures.words import word_labels

FINE_LIMIT = 100_000
"""Maximum number of weights that are sent with two bytes each."""
MAX_STRIP_PAIRS = 2_500
"""Maximum pairs of a target and a source word for which all heads are shown next to the bands;
above it, only the weights of the aligner's layer are sent."""


@runtime_checkable
class AlternativeLike(Protocol):
    """An alternative word; `inference.alternatives.Alternative` satisfies it."""

    @property
    def step(self) -> int: ...
    @property
    def ids(self) -> Sequence[int]: ...
    @property
    def text(self) -> str: ...
    @property
    def first_piece_probability(self) -> float: ...


def glance_data(
    header: Mapping[str, Any],
    traced: TraceLike,
    alternatives: Iterable[Sequence[AlternativeLike]] = (),
    aligner: AlignerLike | None = None,
    original: TraceLike | None = None,
) -> bytes:
    """Return the packed translation.

    Args:
        header: further fields of the view.
        alternatives: the alternatives of each word.
        aligner: the head to show; without one, the browser chooses one of this sentence.
        original: the translation with all heads, if some are switched off.
    """
    pairs = len(word_labels(traced.src_tokens)) * len(word_labels(traced.predicted_tokens))
    parts = weight_parts(traced, ["cross"], FINE_LIMIT)
    fields = {
        **header,
        "has_strip": pairs <= MAX_STRIP_PAIRS,
        "trace": describe(traced, ["cross"]),
        "alternatives": alternative_fields(alternatives),
        "aligner": aligner_fields(aligner),
        "original": original and describe(original, []),
    }
    if pairs > MAX_STRIP_PAIRS and aligner is not None:
        parts = [part for part in parts if part.name == f"weights.cross.{aligner.layer}"]
    return pack(fields, parts)


def alternative_fields(
    alternatives: Iterable[Sequence[AlternativeLike]],
) -> list[list[dict[str, Any]]]:
    """Return the alternatives of each word; `p` is the probability of the first differing piece."""
    return [
        [
            {"text": r.text, "p": r.first_piece_probability, "step": r.step, "ids": list(r.ids)}
            for r in of_word
        ]
        for of_word in alternatives
    ]
