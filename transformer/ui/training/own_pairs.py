"""The user's own sentence pairs: read from what was pasted or uploaded, refused in one sentence."""

from __future__ import annotations

import csv
import io

from transformer.text.corpus import parse_pairs
from transformer.text.visible import is_blank

FEWEST = 20
"""Pairs; with fewer there is nothing to learn and nothing to be judged by."""

Pairs = list[tuple[str, str]]


def parsed(text: str, name: str, most: int) -> Pairs:
    """The pairs of a text: tab-separated, or with commas or semicolons where each line has two
    cells of them. White space within a side counts as one blank.

    Args:
        name: what refusals call the text.
        most: bytes.

    Raises:
        ValueError: for no tab, an empty side, too much or too little.
    """
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > most:
        raise ValueError(f"{name} has {size:,} bytes; this app allows at most {most:,}.")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    found = _cells(text, name) if "\t" not in text else None
    pairs = found if found is not None else list(parse_pairs(lines, name))
    pairs = [(" ".join(src.split()), " ".join(tgt.split())) for src, tgt in pairs]
    if len(pairs) < FEWEST:
        raise ValueError(
            f"{name} has {len(pairs)} pairs; at least {FEWEST} are needed, a part of them to be "
            "judged by."
        )
    return pairs


def tsv(pairs: Pairs) -> bytes:
    return "".join(f"{src}\t{tgt}\n" for src, tgt in pairs).encode("utf-8", "replace")


def _cells(text: str, name: str) -> Pairs | None:
    """Two cells a line, by the separator that gives two on each; None if none does.

    Raises:
        ValueError: for an empty cell, and for a .csv file of which only some rows have two.
    """
    ragged = ""
    for separator in ",;":
        try:
            rows = list(csv.reader(io.StringIO(text), delimiter=separator, strict=True))
        except csv.Error:
            continue
        rows = [row for row in rows if not all(map(is_blank, row))]
        counts = [len(row) for row in rows]
        if 2 in counts and not ragged:
            number, count = next(((n, c) for n, c in enumerate(counts, 1) if c != 2), (0, 0))
            ragged = (
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
    if ragged and name.lower().endswith(".csv"):
        raise ValueError(ragged)
    return None
