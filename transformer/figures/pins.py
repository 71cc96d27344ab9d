"""For every word of a sentence and every head: the most that another word looks at it, and the most
that it looks at another word. What the explorer colours all heads by when a word is pinned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from jaxtyping import Float, Integer

from transformer.figures.packing import FINE, Part, quantize
from transformer.figures.words import merge, plain_words


@dataclass(frozen=True)
class Looks:
    """The strongest look of every word in every head, 0 where there is no other word.

    Attributes:
        weights: (heads, words).
        others: the word at its other end, of the same shape.
    """

    weights: Float[np.ndarray, "heads words"]
    others: Integer[np.ndarray, "heads words"]


def looks(
    weights: Float[np.ndarray, "heads rows columns"],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    same: bool,
) -> tuple[Looks, Looks]:
    """The strongest look at every word of the columns, and that of every word of the rows.

    Words are those of `words.plain_words`; the weights of their pieces are added up towards a word
    and averaged from it, as in `words.merge`. The greatest is taken, not the mean: a head that
    spreads evenly gives every word as much in the mean as one in which a single word looks there
    with all it has. Control tokens and signs of punctuation count on neither side, for heads rest
    on them whatever the word is.

    Args:
        rows, columns: the tokens.
        same: they are the same text, so that a word's look at itself is left out.
    """
    (row_words, row_labels), (column_words, column_labels) = plain_words(rows), plain_words(columns)
    merged = merge(weights, row_words, column_words).astype(np.float32)
    mute = _mute(row_labels)[:, None] | _mute(column_labels)[None, :]
    if same:
        mute = mute | np.eye(len(mute), dtype=bool)
    merged = np.where(mute, np.float32(0), merged)
    found = [Looks(merged.max(axis=axis), merged.argmax(axis=axis)) for axis in (-2, -1)]
    return found[0], found[1]


def pin_parts(
    kind: str,
    layers: Sequence[Float[np.ndarray, "heads rows columns"]],
    rows: Sequence[str],
    columns: Sequence[str],
) -> list[Part]:
    """`looks` of all layers of a kind, (layers, heads, words) each: `pins.KIND.to` and `.from`, and
    with `.who` after it the words at the other end."""
    each = [looks(one, rows, columns, same=kind != "cross") for one in layers]
    parts = []
    for which, name in enumerate(("to", "from")):
        mine = [pair[which] for pair in each]
        others = np.stack([one.others for one in mine]).astype("<u2")
        parts.append(quantize(f"pins.{kind}.{name}", np.stack([one.weights for one in mine]), FINE))
        parts.append(Part(f"pins.{kind}.{name}.who", others))
    return parts


def _mute(labels: Sequence[str]) -> npt.NDArray[np.bool_]:
    return np.array([not label for label in labels], dtype=bool)
