"""Formats of a text with sentence pairs, recognised from its first lines.

Source and target are separated by a tab or by ` ||| ` (fast_align, Moses), by a vertical bar, a
dash, an arrow, an equals sign or a slash that every line has once, or by commas or semicolons
(CSV). Columns of ids, scores and language codes and a header row are recognised and left out. A
format that is not certain is refused.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from transformer.text.pair_columns import (
    MIN_ROWS,
    Cells,
    has_labels,
    header_word,
    is_header,
    is_numbered_list,
    text_columns,
)
from transformer.text.visible import is_blank

SAMPLE_LINES = 200
"""Number of non-blank lines from which the format is recognised."""
MIN_SHARE = 0.9
"""Minimum share of the sampled lines that have exactly two parts in a format without a tab."""
Rows = Iterator[tuple[int, Cells]]
"""Rows as (line number, cells)."""
SplitLines = Callable[[Iterable[str]], Rows]


class FormatError(ValueError):
    """The format of a text is not that of sentences or pairs; the message is a reason, to be
    prefixed by the name of the text."""


@dataclass(frozen=True)
class PairFormat:
    """How the lines of a text become pairs.

    Attributes:
        description: for users, such as "a tab between source and target".
        rows: splits lines into rows of cells; it skips blank lines, unless `is_table`.
        is_table: whether every line is a row `source TAB target`.
        columns: indices of source and target in a row.
        header: number of rows to skip at the beginning.
        n_cells: required number of cells of a row; 0 if a row may have further cells.
        max_cells: largest number of cells in a row of the first lines; 0 if it does not matter.
        hint: what to do about a row with another number of cells.
    """

    description: str
    rows: SplitLines
    is_table: bool = False
    columns: tuple[int, int] = (0, 1)
    header: int = 0
    n_cells: int = 0
    max_cells: int = 0
    hint: str = ""

    def texts(self, cells: Cells) -> Cells:
        """Return source, target and the cells after the target, or all cells if there are too
        few."""
        source, target = self.columns
        if len(cells) > max(source, target):
            return [cells[source], cells[target], *cells[target + 1 :]]
        return cells


def recognise(lines: Sequence[str], name: str) -> PairFormat:
    """Return the format of a text with pairs, `TABLE` if its lines have no separator.

    Args:
        lines: of the text; only the first `SAMPLE_LINES` are read, not counting blank ones.
        name: file name of the text; an ending `.csv` is evidence of commas or semicolons.

    Raises:
        FormatError: for JSON, HTML, XML, subtitles, columns with one text only, or a format that is
            not certain.
    """
    check_text(lines)
    lines = [*islice((line for line in lines if not is_blank(line)), SAMPLE_LINES)]
    for separator, description in _TABLE_SEPARATORS.items():
        if lines and sum(separator in line for line in lines) >= len(lines) / 2:
            return _table(separator, description, lines)
    if re.search(r"\.csv(\.gz)?$", name.lower()):
        return _csv(lines, certain=True) or _typed(lines) or TABLE
    return _typed(lines) or _csv(lines, certain=False) or TABLE


_OTHER_FORMATS = {
    "a Jupyter notebook": r'\{\s*"(cells|nbformat|metadata)"\s*:',
    "JSON": r'\{\s*"[^"]*"\s*:|\{\s*\Z|"[^"\n]*"\s*:\s*"'
    r'|\[\s*(\{\s*"|\[\s*["\d\[]|"[^"]*"\s*[,\]]|-?\d+(\.\d+)?\s*,)',
    "HTML": r"<(!doctype\s+html|html|head|body)\b",
    "XML": r"<(\?xml|!doctype|!--|(tmx|tei|corpus|doc|text|srcset|refset|tstset|mteval)\b)"
    r"|<([a-z][\w:.-]*)(\s[^<>]*)?>(\s*(\Z|<)|[^\n]*</[\w:.-]+>\s*(\n|\Z))",
    "a Markdown table": r"\|[^\n]*\|\s*\n\|[\s|:-]+\|",
    "RTF": r"\{\\rtf",
    "PDF": r"%pdf-",
    "subtitles with times": r"(webvtt|\d+\s+\d\d:\d\d:\d\d[.,]\d+ +-->)",
    "a gettext catalogue": r'(#[^\n]*\n|\s)*(msgctxt|msgid)\s+"',
    "Python data": r"[\[({]\s*'[^\n]*'\s*[:,]",
}
_SETTINGS = re.compile(
    r"\ufeff?sep=.|#(separator|html|columns|deck|notetype|guid|tags)\b.*:.*", re.IGNORECASE
)
"""A first line with a setting, as spreadsheets and Anki write it."""


def check_text(sample: Sequence[str]) -> None:
    """Raise FormatError if the first lines are those of JSON, HTML, XML or another format that does
    not have a sentence or a pair on each line."""
    beginning = "\n".join(sample[:20]).lstrip()[:4000]
    for kind, pattern in _OTHER_FORMATS.items():
        if re.match(pattern, beginning, re.IGNORECASE):
            raise FormatError(
                f"is {kind}; extract its sentences into a text file with one sentence or pair per "
                "line"
            )
    first_line = beginning.split("\n")[0].strip()
    if _SETTINGS.fullmatch(first_line):
        raise FormatError(
            f"begins with the line {first_line!r}; delete the lines before the first pair, and "
            "export Anki's notes without HTML"
        )


def split_text(text: str) -> list[str]:
    r"""Return the lines of a text; \n, \r\n and \r end a line, rarer characters do not."""
    *complete_lines, last = text.split("\n")
    lines = [part for line in complete_lines for part in line.rstrip("\r").split("\r")]
    return [*lines, *last.split("\r")]


def _split_at(separator: str, *, skip_blank: bool = True) -> SplitLines:
    def rows(lines: Iterable[str]) -> Rows:
        for number, line in enumerate(lines, start=1):
            if not (skip_blank and is_blank(line)):
                yield number, line.split(separator)

    return rows


def _csv_rows(separator: str) -> SplitLines:
    """Return a function that reads rows whose cells may be quoted and contain line ends. It raises
    FormatError for an unclosed quote, text after a quote, or a cell that is too long."""

    def rows(lines: Iterable[str]) -> Rows:
        reader = csv.reader((f"{line}\n" for line in lines), delimiter=separator, strict=True)
        try:
            for cells in reader:
                if not all(map(is_blank, cells)):
                    yield reader.line_num, cells
        except csv.Error as error:
            raise FormatError(f"line {reader.line_num} has an invalid cell: {error}") from error

    return rows


_TABLE_SEPARATORS = {
    "\t": "a tab between source and target",
    "|||": "||| between source and target",
}
TABLE = PairFormat(_TABLE_SEPARATORS["\t"], _split_at("\t", skip_blank=False), is_table=True)
"""The format of `source TAB target` on each line, whose further columns are ignored."""


def _table(separator: str, description: str, lines: list[str]) -> PairFormat:
    rows = [line.split(separator) for line in lines]
    if separator != "\t":
        return _with_columns(PairFormat(description, _split_at(separator)), rows)
    if not _is_quoted(rows):
        return _with_columns(TABLE, rows)
    split = _csv_rows(separator)
    return _with_columns(PairFormat(description, split), [cells for _, cells in split(lines)])


_QUOTED = re.compile(r'"(?:[^"]|"")*"')


def _is_quoted(rows: list[Cells]) -> bool:
    """Whether a spreadsheet has quoted the cells: at least those with a comma or a quotation
    mark."""
    cells = list(chain.from_iterable(rows))
    return sum('"' in cell for cell in cells) >= MIN_ROWS and all(
        _QUOTED.fullmatch(cell) for cell in cells if '"' in cell or "," in cell
    )


_TYPED_SEPARATORS = {
    "|": "a vertical bar",
    **dict.fromkeys((" - ", " – ", " — "), "a dash"),
    **dict.fromkeys((" -> ", " => ", " → ", " ⇒ "), "an arrow"),
    " = ": "an equals sign",
    " / ": "a slash",
}


def _typed(lines: list[str]) -> PairFormat | None:
    """Return the format with a separator that nearly every line has exactly once."""
    for separator, name in _TYPED_SEPARATORS.items():
        if sum(line.count(separator) == 1 for line in lines) > MIN_SHARE * len(lines):
            description = f"{name} between source and target"
            format = PairFormat(description, _split_at(separator), n_cells=2)
            return _with_columns(format, [line.split(separator) for line in lines])
    return None


def _csv(lines: list[str], *, certain: bool) -> PairFormat | None:
    """Return the format of comma-separated or semicolon-separated rows of equal length.

    A sentence may contain the other character, so the one that fewer spaces follow comes first.
    """

    def n_spaces(separator: str) -> int:
        return sum(f"{separator} " in line for line in lines)

    for separator in sorted(",;", key=n_spaces):
        split = _csv_rows(separator)
        try:
            rows = [cells for _, cells in split(lines)]
        except FormatError:
            continue
        if len(lines) >= SAMPLE_LINES:
            rows = rows[:-1]  # it may be incomplete
        n, count = Counter(map(len, rows)).most_common(1)[0] if rows else (0, 0)
        if n < 2 or (count < len(rows) and not certain):
            continue
        has_header = is_header(rows)
        is_prose = any(f"{separator} " in line and '"' not in line for line in lines)
        if is_prose and not certain and not has_header:
            continue
        if len(text_columns(rows)) > 2 and not has_header:
            raise _uncertain(
                "comma-separated values", f"each row has {n} texts and no header names them"
            )
        format = PairFormat(
            "comma-separated or semicolon-separated values",
            split,
            n_cells=n,
            hint=f", in quotes where a text contains {separator!r}",
        )
        return _with_columns(format, rows)
    return None


def _uncertain(description: str, reason: str) -> FormatError:
    return FormatError(
        f"seems to have {description}, but {reason}; write each pair as a source, a tab and a "
        "target, without other columns"
    )


def _with_columns(format: PairFormat, rows: list[Cells]) -> PairFormat:
    """Return the format with the columns of source and target and the number of header rows.
    Raises FormatError if only one column is text, or if it is not certain which two to use."""
    header = int(is_header(rows))
    body = rows[header:]
    texts = text_columns(body)
    columns = (0, 1)
    if header and len(texts) > 2:
        named = [i for i, cell in enumerate(rows[0]) if i in texts and header_word(cell)]
        if len(named) != 2:
            raise _uncertain(
                format.description,
                f"{len(texts)} columns have texts and the header does not say which two to use",
            )
        texts = named
    n = min(map(len, body), default=2)
    if n > 2:
        if len(texts) < 2:
            raise FormatError(
                "has only one column of text, besides ids, numbers or language codes; a pair needs "
                "a source and a target"
            )
        columns = (texts[0], texts[1])
        labels = [column for column in columns if has_labels(body, column)]
        if labels and any(not has_labels(body, column) for column in texts[2:]):
            raise _uncertain(
                format.description, f"column {labels[0] + 1} has only a few different values"
            )
    elif n == 2 and is_numbered_list(body):
        raise _uncertain(format.description, "the first column may be a number, not a source")
    description = format.description
    if header:
        description += "; the first line is a header"
    if columns != (0, 1):
        description += "; columns {} and {}".format(*(column + 1 for column in columns))
    return replace(
        format,
        columns=columns,
        header=header,
        description=description,
        max_cells=max(map(len, body), default=0),
    )
