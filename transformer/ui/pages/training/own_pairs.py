"""The user's own sentence pairs, read from pasted text or an uploaded file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from transformer.text.corpus import pairs_of
from transformer.text.pair_formats import ColumnsUnclear, FormatError, recognise, split_text
from transformer.training.estimate import PIECES_PER_WORD

MIN_PAIRS = 20
"""Minimum number of pairs; fewer are not enough to train and validate."""
Pairs = list[tuple[str, str]]
Columns = tuple[int, int]
"""Indices of the columns of source and target."""

EPOCHS, MIN_STEPS, MAX_STEPS = 60, 300, 3000
"""Passes over the pairs, and the bounds of the resulting number of steps."""
COUNTED_PAIRS = 2000
"""Number of evenly spaced pairs, at least, whose words are counted."""


def fitting_steps(pairs: Pairs, batch_tokens: int) -> int:
    """Return the default number of training steps for these pairs, a multiple of 100."""
    counted = pairs[:: max(1, len(pairs) // COUNTED_PAIRS)]
    words = sum(len(src.split()) + len(tgt.split()) for src, tgt in counted)
    # with an end token on each side
    tokens = len(pairs) * (PIECES_PER_WORD * words / len(counted) + 2)
    steps = 100 * round(EPOCHS * tokens / batch_tokens / 100)
    return min(MAX_STEPS, max(MIN_STEPS, steps))


class Reading(NamedTuple):
    """The result of reading pairs: pairs with their layout, or a problem.

    Attributes:
        cells: the first row of a table whose columns of source and target are not clear.
    """

    pairs: Pairs
    layout: str
    problem: str
    cells: Sequence[str] = ()


def read(text: str, name: str, max_bytes: int, columns: Columns | None = None) -> Reading:
    """Return the pairs of a text, or why there are none; see `read_with_layout`."""
    try:
        return Reading(*read_with_layout(text, name, max_bytes, columns), "")
    except ValueError as error:
        unclear = error.__cause__ if isinstance(error.__cause__, ColumnsUnclear) else None
        return Reading([], "", str(error), unclear.cells if unclear else ())


def read_with_layout(
    text: str, name: str, max_bytes: int, columns: Columns | None = None
) -> tuple[Pairs, str]:
    """Return the pairs of a text and the name of its layout.

    The layouts are those of `transformer.text.pair_formats`. White space within a side counts as
    one space.

    Args:
        name: of the text in error messages.
        columns: the columns of source and target, if the visitor has chosen them.

    Raises:
        ValueError: for an empty side, a layout that is unknown or not certain, too many bytes or
            too few pairs.
    """
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > max_bytes:
        raise ValueError(f"{name} has {size:,} bytes; this app allows at most {max_bytes:,}.")
    lines = split_text(text)
    try:
        layout = recognise(lines, name, columns)
    except FormatError as error:
        raise ValueError(f"{name} {error}.") from error
    pairs = [
        (" ".join(src.split()), " ".join(tgt.split())) for src, tgt in pairs_of(lines, layout, name)
    ]
    if len(pairs) < MIN_PAIRS:
        raise ValueError(
            f"{name} has {len(pairs)} pairs; at least {MIN_PAIRS} are needed, some of them for "
            "validation."
        )
    return pairs, layout.description


def tsv(pairs: Pairs) -> bytes:
    return "".join(f"{src}\t{tgt}\n" for src, tgt in pairs).encode("utf-8", "replace")
