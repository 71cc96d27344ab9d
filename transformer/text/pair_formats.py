"""Formats of a text with sentence pairs, recognised from its first lines.

Source and target may be separated by a tab, by ` ||| ` (fast_align, Moses), by a vertical bar, by
commas or semicolons (CSV), by a dash, an arrow or an equals sign between spaces, or by two or more
spaces; or they may be on alternating lines. Columns of ids, scores and language codes, a header row
and the header lines of an Anki export are recognised and left out.
"""

from __future__ import annotations

import csv
import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

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
        has_html: whether texts contain HTML, which `texts` removes.
        doubt: why the format is not certain, "" if it is.
    """

    description: str
    rows: Callable[[Iterable[str]], Rows]
    is_table: bool = False
    columns: tuple[int, int] = (0, 1)
    header: int = 0
    n_cells: int = 0
    max_cells: int = 0
    hint: str = ""
    has_html: bool = False
    doubt: str = ""

    @property
    def is_certain_or_lines(self) -> bool:
        """Whether the format is certain, or its lines may be single sentences."""
        return not self.doubt or self.rows is _alternating_rows

    def texts(self, cells: Cells) -> Cells:
        """Return source, target and the cells after the target, or all cells if there are too
        few."""
        source, target = self.columns
        if len(cells) > max(source, target):
            cells = [cells[source], cells[target], *cells[target + 1 :]]
        return [_without_html(cell) for cell in cells] if self.has_html else cells


def recognise(sample: Sequence[str], name: str) -> PairFormat | None:
    """Return the format of a text with pairs, or None if it is not recognised.

    Args:
        sample: the first lines; `SAMPLE_LINES` of them, not counting blank ones, are enough.
        name: file name of the text; an ending `.csv` is evidence of commas or semicolons.

    Raises:
        FormatError: for JSON, HTML, XML, subtitles, or columns with one text only.
    """
    anki = _anki_options(sample)
    sample = sample[len(anki) :] if anki is not None else sample
    check_text(sample)
    if sample and re.fullmatch(r"\ufeff?sep=.", sample[0].strip(), re.IGNORECASE):
        raise FormatError(f"begins with the line {sample[0].strip()!r}; delete this line")
    lines = [line for line in sample if not is_blank(line)]
    if not lines:
        return None
    if anki is not None:
        return _anki_format(anki, lines)
    if _share(lines, "\t") >= 0.5:
        return _table("\t", "a tab between source and target", lines)
    if _share(lines, "|||") >= 0.5:
        return _table("|||", "||| between source and target", lines)
    is_csv = bool(re.search(r"\.csv(\.gz)?$", name.lower()))
    return (
        (_csv(lines, certain=True) if is_csv else None)
        or _split(_bar_cells, "a vertical bar between source and target", lines, 0.5)
        or _separator(lines)
        or _csv(lines, certain=is_csv)
        or _split(_column_cells, "two columns", lines, 0.5)
        or _alternating(sample, lines)
    )


_OTHER_FORMATS = {
    "a Jupyter notebook": r'\{\s*"(cells|nbformat|metadata)"\s*:',
    "JSON": r'\{\s*"[^"]*"\s*:|\{\s*\Z'
    r'|\[\s*(\{\s*"|\[\s*["\d\[]|"[^"]*"\s*[,\]]|-?\d+(\.\d+)?\s*,)',
    "HTML": r"<(!doctype\s+html|html|head|body)\b",
    "XML": r"<(\?xml|!doctype|!--|(tmx|tei|corpus|doc|text|srcset|refset|tstset|mteval)\b)"
    r"|<([a-z][\w:.-]*)(\s[^<>]*)?>(\s*(\Z|<)|[^\n]*</[\w:.-]+>\s*(\n|\Z))",
    "RTF": r"\{\\rtf",
    "PDF": r"%pdf-",
    "subtitles with times": r"(webvtt|\d+\s+\d\d:\d\d:\d\d[.,]\d+ +-->)",
    "a gettext catalogue": r'(#[^\n]*\n|\s)*(msgctxt|msgid)\s+"',
    "Python data": r"[\[({]\s*'[^\n]*'\s*[:,]",
}


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


def sample_lines(lines: Sequence[str]) -> Sequence[str]:
    """Return the first lines, as many as `recognise` needs."""
    n_visible = 0
    for n, line in enumerate(lines, start=1):
        n_visible += not is_blank(line)
        if n_visible == SAMPLE_LINES:
            return lines[:n]
    return lines


def split_text(text: str) -> list[str]:
    r"""Return the lines of a text; \n, \r\n and \r end a line, rarer characters do not."""
    *complete_lines, last = text.split("\n")
    lines = [part for line in complete_lines for part in line.rstrip("\r").split("\r")]
    return [*lines, *last.split("\r")]


def _share(lines: Sequence[str], text: str) -> float:
    return sum(text in line for line in lines) / len(lines)


def _table(separator: str, description: str, lines: list[str]) -> PairFormat:
    rows = [line.split(separator) for line in lines]
    is_tab = separator == "\t"
    if is_tab and (_all_quoted(rows) or _quoted_where_necessary(rows)):
        split = _csv_rows(separator)
        rows = [cells for _, cells in split(lines)]
        is_tab = False  # its rows may have several lines
    else:
        split = _line_rows(lambda line: line.split(separator), skip_blank=not is_tab)
    return _with_columns(PairFormat(description, split, is_table=is_tab), rows)


def _all_quoted(rows: list[Cells]) -> bool:
    cells = list(chain.from_iterable(rows))
    return len(rows) >= MIN_ROWS and all(
        len(cell) > 1 and cell[0] == cell[-1] == '"' for cell in cells if not is_blank(cell)
    )


_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_NEEDS_QUOTES = re.compile(r'[,\n]|""')
"""What makes a spreadsheet quote a cell of a table with tabs."""


def _quoted_where_necessary(rows: list[Cells]) -> bool:
    """Whether cells are quoted as a spreadsheet does: those with a comma or a quotation mark."""
    cells = list(chain.from_iterable(rows))
    quoted = [cell for cell in cells if '"' in cell]
    return len(quoted) >= MIN_ROWS and all(
        _QUOTED.fullmatch(cell) and _NEEDS_QUOTES.search(cell[1:-1])
        if '"' in cell
        else "," not in cell
        for cell in cells
    )


def _split(
    cells: Callable[[str], Cells], description: str, lines: list[str], share: float
) -> PairFormat | None:
    """Return the format if more than this share of the lines have exactly two parts."""
    rows = [row for row in map(cells, lines) if row]
    if not rows or sum(len(row) == 2 for row in rows) <= share * len(rows):
        return None
    split = _line_rows(cells)
    if cells is _bar_cells and _all_quoted(rows):
        split = _csv_rows("|")
        rows = [row for _, row in split(lines)]
    return _with_columns(PairFormat(description, split, n_cells=2), rows)


_SEPARATORS = {
    **{f" {dash} ": "a dash between source and target" for dash in "-–—"},
    **{f" {arrow} ": "an arrow between source and target" for arrow in ("->", "=>", "→", "⇒")},
    " = ": "an equals sign between source and target",
    " / ": "a slash between source and target",
}


def _separator(lines: list[str]) -> PairFormat | None:
    for separator, description in _SEPARATORS.items():
        format = _split(_cells_between(separator), description, lines, MIN_SHARE)
        if format is not None:
            return format
    return None


def _cells_between(separator: str) -> Callable[[str], Cells]:
    return lambda line: line.split(separator)


def _csv(lines: list[str], *, certain: bool) -> PairFormat | None:
    """Return the format of comma-separated or semicolon-separated rows of equal length.

    If both separators give such rows, it is the one that leaves no doubt and no broken quote, and
    then the one that fewer spaces follow: a sentence may contain the other.
    """
    formats: list[tuple[bool, bool, int, PairFormat]] = []
    for separator in ",;":
        split = _csv_rows(separator)
        try:
            rows = [cells for _, cells in split(lines)]
        except ValueError:
            continue
        if len(lines) >= SAMPLE_LINES:
            rows = rows[:-1]  # it may be incomplete
        n, count = Counter(map(len, rows)).most_common(1)[0] if rows else (0, 0)
        if n < 2 or (count < len(rows) and not certain):
            continue
        format = PairFormat(
            "comma-separated or semicolon-separated values",
            split,
            n_cells=n,
            hint=f", in quotes where a text contains {separator!r}",
        )
        try:
            format = _with_columns(format, rows)
        except FormatError:
            if certain:
                raise
            continue
        is_prose = any(f"{separator} " in line and '"' not in line for line in lines)
        if not certain and is_prose and not format.header:
            continue  # a sentence may contain the separator too
        if n > 2 and len(text_columns(rows[format.header :])) > 2 and not format.header:
            format = _doubtful(format, f"each row has {n} texts and no header names them")
        broken = any('"' in cell for cells in rows for cell in cells)
        if broken and not certain:
            format = _doubtful(format, "a quotation mark is in the middle of a cell")
        spaces = sum(f"{separator} " in line for line in lines)
        formats.append((bool(format.doubt), broken, spaces, format))
    return min(formats, key=lambda one: one[:3])[-1] if formats else None


def _doubtful(format: PairFormat, doubt: str) -> PairFormat:
    return replace(format, doubt=format.doubt or doubt)


def _alternating(sample: Sequence[str], lines: list[str]) -> PairFormat | None:
    """Return alternating lines; certain if blank lines separate the pairs."""
    if len(lines) < 2:
        return None
    blocks = [block for block in re.split(r"\n\s*\n", "\n".join(sample)) if not is_blank(block)]
    pairs = all(len(block.strip("\n").split("\n")) == 2 for block in blocks[:-1])
    certain = len(blocks) >= MIN_ROWS and pairs
    return PairFormat(
        "alternating lines: a source, then its target",
        _alternating_rows,
        n_cells=2,
        doubt="" if certain else "nothing marks which lines belong together",
    )


def _alternating_rows(lines: Iterable[str]) -> Rows:
    source: tuple[int, str] | None = None
    for number, line in enumerate(lines, start=1):
        if is_blank(line):
            continue
        if source is None:
            source = number, line
        else:
            yield source[0], [source[1], line]
            source = None
    if source is not None:
        yield source[0], [source[1]]


def _line_rows(
    cells: Callable[[str], Cells], *, skip_blank: bool = True
) -> Callable[[Iterable[str]], Rows]:
    def rows(lines: Iterable[str]) -> Rows:
        for number, line in enumerate(lines, start=1):
            if skip_blank and is_blank(line):
                continue
            if row := cells(line):
                yield number, row

    return rows


def _csv_rows(separator: str) -> Callable[[Iterable[str]], Rows]:
    """Return a function that reads rows whose cells may be quoted and contain line ends. It raises
    FormatError for an unclosed quote or a cell that is too long."""

    def rows(lines: Iterable[str]) -> Rows:
        reader = csv.reader((f"{line}\n" for line in lines), delimiter=separator)
        try:
            for cells in reader:
                if not all(map(is_blank, cells)):
                    yield reader.line_num, cells
        except csv.Error as error:
            raise FormatError(f"line {reader.line_num} has an invalid cell: {error}") from error

    return rows


TABLE = PairFormat(
    "a tab between source and target",
    _line_rows(lambda line: line.split("\t"), skip_blank=False),
    is_table=True,
)
"""The format of `source TAB target` on each line, whose further columns are ignored."""


_TABLE_RULE = re.compile(r"[\s|:+-]+")
"""The line between the header and the rows of a Markdown table."""


def _bar_cells(line: str) -> Cells:
    """Return the cells between vertical bars; none for the rule of a Markdown table."""
    if "|" in line and _TABLE_RULE.fullmatch(line):
        return []
    cells = line.split("|")
    framed = len(cells) > 2 and is_blank(cells[0]) and is_blank(cells[-1])
    return cells[1:-1] if framed else cells


def _column_cells(line: str) -> Cells:
    return re.split(r"\s{2,}", line.strip())


def _with_columns(format: PairFormat, rows: list[Cells]) -> PairFormat:
    """Return the format with the columns of source and target and the number of header rows.
    Raises FormatError if only one column is text."""
    header = int(is_header(rows))
    body = rows[header:]
    texts = text_columns(body)
    columns, doubt = (0, 1), ""
    if header and len(texts) > 2:
        named = [i for i, cell in enumerate(rows[0]) if i in texts and header_word(cell)]
        if len(named) == 2:
            texts = named
        else:
            doubt = f"{len(texts)} columns have texts and the header does not say which two to use"
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
            doubt = f"column {labels[0] + 1} has only a few different values"
    elif n == 2 and is_numbered_list(body):
        doubt = "the first column may be a number, not a source"
    description = format.description
    if header:
        description += "; the first line is a header"
    if columns != (0, 1):
        description += "; columns {} and {}".format(*(column + 1 for column in columns))
    changed = replace(
        format,
        columns=columns,
        header=header,
        description=description,
        max_cells=max(map(len, body), default=0),
    )
    return _doubtful(changed, doubt)


_ANKI_LINE = re.compile(r"#(separator|html|columns|deck|notetype|guid|tags)( column)?:(.*)")
_ANKI_SEPARATORS = {
    "comma": ",",
    "semicolon": ";",
    "tab": "\t",
    "space": " ",
    "pipe": "|",
    "colon": ":",
}


def _anki_options(sample: Sequence[str]) -> dict[str, str] | None:
    """Return the header lines of an Anki export by name, one entry per line; None without any."""
    options: dict[str, str] = {}
    for line in sample:
        match = _ANKI_LINE.fullmatch(line.strip())
        if not match:
            break
        options[f"{match[1]}{match[2] or ''}"] = match[3].strip()
    return options or None


def _anki_format(options: dict[str, str], lines: list[str]) -> PairFormat:
    separator = options.get("separator", "tab")
    separator = _ANKI_SEPARATORS.get(separator.lower(), separator[:1] or "\t")
    split = _csv_rows(separator)
    rows = [cells for _, cells in split(lines)]
    other = {int(v) - 1 for k, v in options.items() if k.endswith(" column") and v.isdigit()}
    n = min(map(len, rows))
    names = options.get("columns", "").split(separator)
    named = [i for i, name in enumerate(names) if i < n and header_word(name)]
    texts = named if len(named) == 2 else [i for i in range(n) if i not in other]
    if len(texts) < 2:
        raise FormatError("is an Anki export without a second column of text")
    n_header = len(options)

    def rows_without_header(all_lines: Iterable[str]) -> Rows:
        lines = (line for i, line in enumerate(all_lines) if i >= n_header)
        return ((number + n_header, cells) for number, cells in split(lines))

    return PairFormat(
        "an Anki export",
        rows_without_header,
        columns=(texts[0], texts[1]),
        has_html=options.get("html", "").lower() == "true",
    )


def _without_html(text: str) -> str:
    """Return the text without HTML and without the names of Anki's sound files."""
    return html.unescape(re.sub(r"<[^<>]*>|\[sound:[^\]]*\]", " ", text))
