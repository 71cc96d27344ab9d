"""Formats of a text with sentence pairs, recognised from its first lines.

Source and target are separated by a tab or by ` ||| ` (fast_align, Moses), by a vertical bar, a
dash, an arrow, an equals sign or a slash that every line has once, or by commas or semicolons
(CSV). In a table with more columns, a header or the kind of the columns says which two are source
and target; where neither does, `ColumnsUnclear` is raised and the user chooses.
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
    header_word,
    is_header,
    is_list,
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


class ColumnsUnclear(FormatError):
    """The text is a table, but it is not clear which columns are source and target.

    Attributes:
        cells: the first row, from which the user can choose two columns.
    """

    def __init__(self, description: str, reason: str, cells: Cells) -> None:
        super().__init__(
            f"seems to have {description}, but {reason}; write each pair as a source, a tab and a "
            "target, without other columns"
        )
        self.cells = cells


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


def recognise(
    lines: Sequence[str], name: str, columns: tuple[int, int] | None = None
) -> PairFormat:
    """Return the format of a text with pairs, `TABLE` if its lines have no separator.

    Args:
        lines: of the text; only the first `SAMPLE_LINES` are read, not counting blank ones.
        name: file name of the text; an ending `.csv` is evidence of commas or semicolons.
        columns: indices of source and target, if the user has chosen them.

    Raises:
        ColumnsUnclear: for a table in which source and target are not clear.
        FormatError: for JSON, HTML, XML, subtitles, or columns with one text only.
    """
    check_text(lines)
    sample = [*islice((line for line in lines if not is_blank(line)), SAMPLE_LINES)]
    format, rows = _layout(sample, name)
    header = int(is_header(rows))
    if columns is None:
        columns = _source_and_target(format, rows, header)
    description = format.description + "; the first line is a header" * header
    if columns != (0, 1):
        description += "; columns {} and {}".format(*(column + 1 for column in columns))
    max_cells = max(map(len, rows[header:]), default=0)
    return replace(
        format, columns=columns, header=header, description=description, max_cells=max_cells
    )


def _source_and_target(format: PairFormat, rows: list[Cells], header: int) -> tuple[int, int]:
    """Return the columns of source and target. Raises FormatError if they are not clear."""
    body = rows[header:]
    n = min(map(len, body), default=2)
    if n == 2 and is_list(body):
        raise ColumnsUnclear(
            format.description, "the first column may be a number, not a source", rows[0]
        )
    if n <= 2:
        return 0, 1
    texts = text_columns(body)
    if header:
        named = [i for i, cell in enumerate(rows[0]) if i < n and header_word(cell)]
        texts = named if len(named) >= 2 else texts
    if len(texts) < 2:
        raise FormatError(
            "has only one column of text, besides ids, numbers or language codes; a pair needs a "
            "source and a target"
        )
    has_further_columns = texts[:2] == [0, 1] and not format.n_cells and not header
    if len(texts) > 2 and not has_further_columns:
        header_part = "the header does not say" if header else "no header says"
        raise ColumnsUnclear(
            format.description,
            f"{len(texts)} columns have texts and {header_part} which two to use",
            rows[0],
        )
    return texts[0], texts[1]


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
_MARKUP = re.compile(r"</[a-z]\w*>|<br\s*/?>|&(nbsp|quot|amp|lt|gt|#\d+);", re.IGNORECASE)


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
    lines = [line for line in sample[:SAMPLE_LINES] if not is_blank(line)]
    if lines and sum(bool(_MARKUP.search(line)) for line in lines) > len(lines) / 2:
        raise FormatError("has HTML in its sentences; export it as plain text")


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
_TYPED_SEPARATORS = {
    "|": "a vertical bar",
    **dict.fromkeys((" - ", " – ", " — "), "a dash"),
    **dict.fromkeys((" -> ", " => ", " → ", " ⇒ "), "an arrow"),
    " = ": "an equals sign",
    " / ": "a slash",
}
TABLE = PairFormat(_TABLE_SEPARATORS["\t"], _split_at("\t", skip_blank=False), is_table=True)
"""The format of `source TAB target` on each line, whose further columns are ignored."""
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
Layout = tuple[PairFormat, list[Cells]]
"""A format with the rows of the first lines."""


def _layout(lines: list[str], name: str) -> Layout:
    for separator in _TABLE_SEPARATORS:
        if lines and sum(separator in line for line in lines) >= len(lines) / 2:
            return _table(separator, lines)
    if re.search(r"\.csv(\.gz)?$", name.lower()):
        layout = _csv(lines, certain=True) or _typed(lines)
    else:
        layout = _typed(lines) or _csv(lines, certain=False)
    return layout or (TABLE, [])


def _table(separator: str, lines: list[str]) -> Layout:
    format = PairFormat(_TABLE_SEPARATORS[separator], _split_at(separator))
    rows = [line.split(separator) for line in lines]
    if separator != "\t":
        return format, rows
    if not _is_quoted(rows):
        return TABLE, rows
    format = replace(format, rows=_csv_rows(separator))
    return format, [cells for _, cells in format.rows(lines)]


def _is_quoted(rows: list[Cells]) -> bool:
    """Whether a spreadsheet has quoted the cells: at least those with a comma or a quotation
    mark."""
    cells = list(chain.from_iterable(rows))
    return sum('"' in cell for cell in cells) >= MIN_ROWS and all(
        _QUOTED.fullmatch(cell) for cell in cells if '"' in cell or "," in cell
    )


def _typed(lines: list[str]) -> Layout | None:
    """Return the format with a separator that nearly every line has exactly once."""
    for separator, name in _TYPED_SEPARATORS.items():
        if sum(line.count(separator) == 1 for line in lines) > MIN_SHARE * len(lines):
            format = PairFormat(
                f"{name} between source and target", _split_at(separator), n_cells=2
            )
            return format, [line.split(separator) for line in lines]
    return None


def _csv(lines: list[str], *, certain: bool) -> Layout | None:
    """Return the format of comma-separated or semicolon-separated rows of equal length.

    A sentence may contain the other character, so the one that fewer spaces follow comes first.
    """
    for separator in sorted(",;", key=lambda mark: sum(f"{mark} " in line for line in lines)):
        format = PairFormat(
            "comma-separated or semicolon-separated values",
            _csv_rows(separator),
            hint=f", in quotes where a text contains {separator!r}",
        )
        try:
            rows = [cells for _, cells in format.rows(lines)]
        except FormatError:
            continue
        if len(lines) >= SAMPLE_LINES:
            rows = rows[:-1]  # it may be incomplete
        n, count = Counter(map(len, rows)).most_common(1)[0] if rows else (0, 0)
        is_prose = any(f"{separator} " in line and '"' not in line for line in lines)
        is_uncertain = count < len(rows) or (is_prose and not is_header(rows))
        if n >= 2 and (certain or not is_uncertain):
            return replace(format, n_cells=n), rows
    return None
