"""Which columns of a table with sentence pairs are source and target, from its first rows."""

from __future__ import annotations

import re
from itertools import pairwise

from transformer.text.languages import NAMES
from transformer.text.visible import is_blank

MIN_ROWS = 3
"""Minimum number of rows for recognising a header, quotes, or columns other than texts."""
MAX_COLUMNS = 100
"""Number of columns that are examined: a line of millions of separators is not a table."""

Cells = list[str]

_ID = re.compile(r"\s*[\w#.-]{0,12}?\d+(\.\d+)?\s*")
"""An id, a number or a score."""
_URL = re.compile(r"\s*(https?|file)://\S+\s*")
_PRONUNCIATION = re.compile(r"\s*(/[^/]+/|\[[^][]+\])\s*")
"""Phonetic symbols between slashes or square brackets."""
_CODE = re.compile(r"\s*[a-z]{2,3}([-_][A-Za-z]{2,4})?\s*")
_SIDES = """
source src target tgt translation reference ref text sentence phrase sentence1 sentence2 lang1 lang2
front back question answer word meaning original translated input output term definition
"""
_HEADER_WORDS = {
    **{word: word for word in _SIDES.split()},
    **{code: code for code in NAMES if code not in ("id", "no")},  # also "identifier", "number"
    **{name.lower(): code for code, name in NAMES.items()},
    **dict.fromkeys(("eng", "anglais", "englisch"), "en"),
    **dict.fromkeys(("fra", "fre", "français", "francais", "französisch"), "fr"),
    **dict.fromkeys(("deu", "ger", "allemand", "deutsch"), "de"),
    **dict.fromkeys(("spa", "español", "espagnol", "spanisch"), "es"),
}
"""Words of a header row, with the language that they name, if any."""
_OTHER_HEADER_WORDS = {
    *("id", "no", "nr", "number", "index", "score", "the", "in", "of", "language"),
    *("us", "gb", "uk", "ca", "france", "germany", "sent", "column"),
}


def text_columns(rows: list[Cells]) -> list[int]:
    """Return the indices of the columns that are not ids, scores, addresses, pronunciations or
    language codes."""
    n = min((len(row) for row in rows if len(row) > 1), default=0)
    n = min(n, MAX_COLUMNS)
    cells_by_column = [[row[i] for row in rows if len(row) > i] for i in range(n)]
    if len(rows) < MIN_ROWS:
        return list(range(n))
    numbered = [all(map(_ID.fullmatch, cells)) for cells in cells_by_column]
    coded = [len(set(cells)) == 1 and _CODE.fullmatch(cells[0]) for cells in cells_by_column]
    others = [
        any(all(map(pattern.fullmatch, cells)) for pattern in (_URL, _PRONUNCIATION))
        for cells in cells_by_column
    ]
    texts = [
        i for i in range(n) if not coded[i] and not others[i] and not (numbered[i] and numbered[0])
    ]
    # Three columns of numbers are texts too, for example of a task that adds them.
    return list(range(n)) if n > 1 and numbered[0] and numbered[1] and len(texts) < 2 else texts


def has_labels(rows: list[Cells], column: int) -> bool:
    """Whether a column has words that occur again and again, such as parts of speech or names."""
    cells = [row[column] for row in rows]
    return (
        len(cells) >= 2 * MIN_ROWS
        and len(set(cells)) <= len(cells) / 4
        and any(character.isalpha() for cell in cells for character in cell)
    )


def is_numbered_list(rows: list[Cells]) -> bool:
    """Whether the first of two columns counts rows of sentences."""
    if len(rows) < 2 * MIN_ROWS or not all(re.fullmatch(r"\s*\d+\s*", row[0]) for row in rows):
        return False
    ids = [int(row[0]) for row in rows]
    words = sum(len(row[1].split()) for row in rows)
    return all(a < b for a, b in pairwise(ids)) and words >= 3 * len(rows)


def is_header(rows: list[Cells]) -> bool:
    """Whether the first row names the columns: source and target, or two languages."""
    if len(rows) <= MIN_ROWS:
        return False
    cells = [
        cell
        for column, cell in enumerate(rows[0])
        if not is_blank(cell) and rows[1][column : column + 1] != [cell]
    ]
    known = [header_word(cell) for cell in cells]
    n_sides = len({word for word in known if word})
    first_is_id = all(_ID.fullmatch(row[0]) for row in rows[1:]) and not _ID.fullmatch(rows[0][0])
    if first_is_id and len(rows[0]) > 2:
        return True
    others = [c for c, word in zip(cells, known, strict=True) if word is None]
    return n_sides >= 2 and (len(rows[0]) > 2 or not others)


def header_word(cell: str) -> str | None:
    """Return the side or language that a header cell names, None if it names none."""
    words = re.findall(r"[^\W_]+", cell.lower())
    sides = [re.sub(r"\d+$", "", w) if w not in _HEADER_WORDS else w for w in words]
    if not sides or not all(w in _HEADER_WORDS or w in _OTHER_HEADER_WORDS for w in sides):
        return None
    named = [_HEADER_WORDS[w] for w in sides if w in _HEADER_WORDS]
    return " ".join(words if len(named) > 1 else named) or None
