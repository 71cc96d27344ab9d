"""The user's own sentence pairs, read from pasted text or an uploaded file."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable

from transformer.text.corpus import parse_pairs
from transformer.text.visible import is_blank
from transformer.training.estimate import PIECES_PER_WORD

MIN_PAIRS = 20
"""Minimum number of pairs; fewer are not enough to train and validate."""
_TABLE_RULE = re.compile(r"[\s|:+-]+")
"""The line between the header and the rows of a Markdown table."""

Pairs = list[tuple[str, str]]


EPOCHS, MIN_STEPS, MAX_STEPS = 60, 300, 3000
"""Passes over the pairs, and the bounds of the resulting number of steps."""


def fitting_steps(pairs: Pairs, batch_tokens: int) -> int:
    """Return the default number of training steps for these pairs, a multiple of 100."""
    words = sum(len(src.split()) + len(tgt.split()) for src, tgt in pairs)
    tokens = PIECES_PER_WORD * words + 2 * len(pairs)  # with an end token on each side
    steps = 100 * round(EPOCHS * tokens / batch_tokens / 100)
    return min(MAX_STEPS, max(MIN_STEPS, steps))


def read_with_layout(text: str, name: str, max_bytes: int) -> tuple[Pairs, str]:
    """Return the pairs of a text and the name of its layout.

    The layouts are: a tab between source and target; a vertical bar; commas or semicolons, with two
    cells on every line; two columns, separated by two or more spaces; a source and its target on
    alternating lines. White space within a side counts as one space.

    Args:
        name: of the text in error messages.

    Raises:
        ValueError: for an empty side, an unknown layout, too many bytes or too few pairs.
    """
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > max_bytes:
        raise ValueError(f"{name} has {size:,} bytes; this app allows at most {max_bytes:,}.")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    pairs, layout = _pairs(text, lines, name)
    pairs = [(" ".join(src.split()), " ".join(tgt.split())) for src, tgt in pairs]
    if len(pairs) < MIN_PAIRS:
        raise ValueError(
            f"{name} has {len(pairs)} pairs; at least {MIN_PAIRS} are needed, some of them for "
            "validation."
        )
    return pairs, layout


def tsv(pairs: Pairs) -> bytes:
    return "".join(f"{src}\t{tgt}\n" for src, tgt in pairs).encode("utf-8", "replace")


def _pairs(text: str, lines: list[str], name: str) -> tuple[Pairs, str]:
    """Return the pairs with their white space, and the layout. Raises ValueError."""
    nonblank_lines = [(number, line) for number, line in enumerate(lines, 1) if not is_blank(line)]
    if "\t" in text:
        return list(parse_pairs(lines, name)), "a tab between source and target"
    if (pairs := _split_lines(nonblank_lines, _bar_cells, name)) is not None:
        return pairs, "a vertical bar between source and target"
    if (pairs := _csv_pairs(text, name)) is not None:
        return pairs, "comma-separated or semicolon-separated values"
    if (pairs := _split_lines(nonblank_lines, _column_cells, name)) is not None:
        return pairs, "two columns"
    if len(nonblank_lines) % 2 == 0 and len(nonblank_lines) >= 2 * MIN_PAIRS:
        texts = [line for _, line in nonblank_lines]
        return list(zip(texts[::2], texts[1::2], strict=True)), (
            "alternating lines: a source, then its target"
        )
    raise ValueError(
        f"{name} has no pairs that can be recognised. Put source and target on one line with a "
        "tab, a vertical bar or at least two spaces between them, or on alternating lines, which "
        f"must be an even number of lines; there are {len(nonblank_lines)}."
    )


def _split_lines(
    lines: list[tuple[int, str]], cells: Callable[[str], list[str]], name: str
) -> Pairs | None:
    """Return two cells per line, or None if most lines have another number.

    Raises:
        ValueError: for an empty cell, or if a few lines have another number.
    """
    rows = [(number, cells(line)) for number, line in lines]
    rows = [(number, row) for number, row in rows if row]
    if not rows or 2 * sum(len(row) == 2 for _, row in rows) <= len(rows):
        return None
    for number, row in rows:
        if len(row) != 2:
            count = f"{len(row)} part{'s' if len(row) > 1 else ''}"
            raise ValueError(
                f"{name}, line {number} has {count}; every line needs two, a source and a target."
            )
        for side, cell in zip(("source", "target"), row, strict=True):
            if is_blank(cell):
                raise ValueError(f"{name}, line {number} has an empty {side}; both need text.")
    return [(row[0], row[1]) for _, row in rows]


def _bar_cells(line: str) -> list[str]:
    """Return the cells between vertical bars; none for the rule of a Markdown table."""
    if "|" in line and _TABLE_RULE.fullmatch(line):
        return []
    cells = line.split("|")
    framed = len(cells) > 2 and is_blank(cells[0]) and is_blank(cells[-1])
    return cells[1:-1] if framed else cells


def _column_cells(line: str) -> list[str]:
    return re.split(r"\s{2,}", line.strip())


def _csv_pairs(text: str, name: str) -> Pairs | None:
    """Return two cells per line with the separator that gives two everywhere, or None.

    Raises:
        ValueError: for an empty cell, or for a .csv file in which only some rows have two.
    """
    problem = ""
    for separator in ",;":
        try:
            rows = list(csv.reader(io.StringIO(text), delimiter=separator, strict=True))
        except csv.Error:
            continue
        rows = [row for row in rows if not all(map(is_blank, row))]
        counts = [len(row) for row in rows]
        if 2 in counts and not problem:
            number, count = next(((n, c) for n, c in enumerate(counts, 1) if c != 2), (0, 0))
            problem = (
                f"{name}, row {number} has {count} cell{'s' if count > 1 else ''}; every row needs "
                f"two, in quotes where a text holds {separator!r}."
            )
        if rows and all(count == 2 for count in counts):
            for number, row in enumerate(rows, start=1):
                for side, cell in zip(("source", "target"), row, strict=True):
                    if is_blank(cell):
                        raise ValueError(
                            f"{name}, row {number} has an empty {side}; both sides need text."
                        )
            return [(row[0], row[1]) for row in rows]
    if problem and name.lower().endswith(".csv"):
        raise ValueError(problem)
    return None
