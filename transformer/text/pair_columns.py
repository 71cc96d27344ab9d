"""Which two columns of a table are the source and the target of sentence pairs."""

from __future__ import annotations

import re

from transformer.text.languages import NAMES
from transformer.text.visible import is_blank

MIN_ROWS = 3
"""Minimum number of rows for recognising a header, quotes or a list."""
MAX_COLUMNS = 100
"""Number of columns that are examined: a line of millions of separators is not a table."""
MIN_TEXT_SHARE = 0.8
"""Minimum share of cells that look like text in a column of text."""
MAX_LABEL = 5
"""Maximum characters of a label such as "a" or "xii"."""

Cells = list[str]

_ID = re.compile(r"\s*\S*\d\S*\s*")
"""A number, an id, a date or a score: one word with a digit."""
_CODE = re.compile(r"[^\W\d_]\d|\d[^\W\d_]|[_/\\@#\[\]]|\.\w")
"""Characters of an id, a path, an address or a pronunciation, which are rare in sentences."""
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
    """Return the indices of the columns whose cells look like text and do not repeat a few values,
    such as language codes, parts of speech or a licence; only those with sentences if there are two
    of them beside a column of labels."""
    n = min(map(len, rows), default=0)
    columns = [[row[i] for row in rows if not is_blank(row[i])] for i in range(min(n, MAX_COLUMNS))]
    n_values = [len(set(cells)) for cells in columns]
    most = max(n_values, default=0)
    texts = [
        i
        for i, cells in enumerate(columns)
        if sum(map(_is_text, cells)) >= MIN_TEXT_SHARE * max(1, len(cells))
        and not (n_values[i] == 1 < most or 4 * n_values[i] <= most)
    ]
    sentences = [i for i in texts if sum(len(c.split()) for c in columns[i]) >= 3 * len(columns[i])]
    return sentences if len(sentences) >= 2 and _has_short_labels(texts, columns) else texts


def _has_short_labels(texts: list[int], columns: list[list[str]]) -> bool:
    """Whether one of these columns has only labels such as "a" or "xii"."""
    return any(all(len(cell.strip()) <= MAX_LABEL for cell in columns[i]) for i in texts)


def _is_text(cell: str) -> bool:
    """Whether a cell has words, rather than "97,5 %", "12 min", a date, an id or an address."""
    n_digits, n_letters = sum(map(str.isdigit, cell)), sum(map(str.isalpha, cell))
    return n_letters > 2 * n_digits and not _CODE.search(cell)


def is_list(rows: list[Cells]) -> bool:
    """Whether the first of two columns has ids of the sentences in the second."""
    return (
        len({row[0] for row in rows}) == len(rows) >= 2 * MIN_ROWS
        and all(_ID.fullmatch(row[0]) for row in rows)
        and sum(len(row[1].split()) for row in rows) >= 3 * len(rows)
        and text_columns(rows) == [1]
    )


def is_header(rows: list[Cells]) -> bool:
    """Whether the first row names the columns: source and target, or two languages."""
    if len(rows) <= MIN_ROWS:
        return False
    first, *others = (bool(_ID.fullmatch(row[0])) for row in rows)
    if len(rows[0]) > 2 and all(others) and not first:
        return True
    words = [
        header_word(cell)
        for column, cell in enumerate(rows[0])
        if not is_blank(cell) and rows[1][column : column + 1] != [cell]
    ]
    return len({*words} - {None}) >= 2 and (len(rows[0]) > 2 or None not in words)


def header_word(cell: str) -> str | None:
    """Return the side or language that a header cell names, None if it names none."""
    words = re.findall(r"[^\W_]+", cell.lower())
    sides = [re.sub(r"\d+$", "", w) if w not in _HEADER_WORDS else w for w in words]
    if not sides or not all(w in _HEADER_WORDS or w in _OTHER_HEADER_WORDS for w in sides):
        return None
    named = [_HEADER_WORDS[w] for w in sides if w in _HEADER_WORDS]
    return " ".join(words if len(named) > 1 else named) or None
