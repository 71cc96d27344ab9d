"""Parallel text as streams of (source, target) pairs; errors name the file and the line."""

import gzip
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Protocol

from transformer.text import pair_formats
from transformer.text.pair_formats import FormatError, PairFormat
from transformer.text.visible import is_blank

Pair = tuple[str, str]
PathLike = str | os.PathLike[str]

MAX_LINE_BYTES = 1_000_000
"""Largest size of a line."""
_CHUNK_BYTES = 1 << 16
_OTHER_LINE_END = re.compile(r"[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_OTHER_FILES = {
    b"BZh91AY&": "compressed with bzip2",
    b"\xfd7zXZ\x00": "compressed with xz",
    b"\x28\xb5\x2f\xfd": "compressed with zstd",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"PK\x03\x04": "a zip archive, such as .docx or .xlsx",
    b"PAR1\x15": "a Parquet file",
    b"SQLite f": "a SQLite database",
    b"\x89PNG\r\n": "a picture",
    b"\xff\xd8\xff": "a picture",
}
"""Files that are not text, by their first bytes."""


class CorpusError(ValueError):
    """A corpus cannot be read; the message is one sentence with the file and the line."""


def read_pairs(path: PathLike, tgt_path: PathLike | None = None) -> Iterator[Pair]:
    """Stream the (source, target) pairs of a corpus; gzip files are recognised.

    One path: a table with `source TAB target` on each line, whose further columns are ignored, or
    another format of `pair_formats`. Two paths:
    parallel files; line i of the second translates line i of the first. Leading and trailing white
    space is removed. A missing file is reported at once, other errors when the stream reaches them.
    Raises CorpusError.
    """
    for file in (path,) if tgt_path is None else (path, tgt_path):
        _check_file(file)
    return _parse_later(path) if tgt_path is None else _read_parallel(path, tgt_path)


def parse_pairs(lines: Iterable[str], name: str) -> Iterator[Pair]:
    """Parse lines with a pair each, in one of the formats of `pair_formats`.

    Split pasted text with `split_text`: `.splitlines()` also breaks at rarer characters that a
    sentence may contain. Blank lines at the end are ignored. Raises CorpusError.
    `name` is the name of the text in error messages.
    """
    sample, lines = _sample(lines)
    try:
        format = pair_formats.recognise(sample, name)
    except FormatError as error:
        raise CorpusError(f"{name} {error}.") from error
    return pairs_of(lines, format, name)


def pairs_of(lines: Iterable[str], format: PairFormat, name: str) -> Iterator[Pair]:
    """Parse lines in a known format; see `parse_pairs`."""
    blank, empty = 0, True
    for number, cells in _rows(lines, format, name):
        if format.is_table and len(cells) == 1 and is_blank(cells[0]):
            blank = blank or number
            continue
        if blank:
            raise CorpusError(
                f"{name}, line {blank} is blank; every line needs a source, a tab and a target."
            )
        _check_cells(cells, format, name, number)
        empty = False
        source, target = format.texts(cells)[:2]
        yield _checked_pair(source, target, name, name, number)
    if empty:
        raise CorpusError(
            f"{name} is empty; it needs at least one line: a source, a tab, a target."
        )


def _rows(lines: Iterable[str], format: PairFormat, name: str) -> Iterator[tuple[int, list[str]]]:
    try:
        yield from islice(format.rows(lines), format.header, None)
    except FormatError as error:
        raise CorpusError(f"{name}, {error}.") from error


def _check_cells(cells: list[str], format: PairFormat, name: str, number: int) -> None:
    """Raise CorpusError if a row has too few cells, or too many for a format that has two, or is
    several lines with other line ends than a line feed or a carriage return."""
    separators = [_OTHER_LINE_END.search(cell) for cell in cells[1:-1]]
    if separators and all(separators):
        end = separators[0]
        assert end is not None
        raise CorpusError(
            f"{name}, line {number} seems to be several lines with U+{ord(end[0]):04X} between "
            "them; convert the line ends to line feeds."
        )
    if format.is_table and len(cells) < 2:
        raise CorpusError(
            f"{name}, line {number} has no tab; every line needs a source, a tab and a target."
        )
    if format.is_table and len(cells) > format.max_cells > 0 and not is_blank(cells[-1]):
        raise CorpusError(
            f"{name}, line {number} has {len(cells)} columns and the first lines have at most "
            f"{format.max_cells}; all lines need the same columns."
        )
    n_required = max(format.columns) + 1
    if len(cells) < n_required or (format.n_cells and len(cells) != format.n_cells):
        parts = "1 part" if len(cells) == 1 else f"{len(cells)} parts"
        n = format.n_cells or n_required
        required = "two, a source and a target" if n == 2 else f"{n}"
        raise CorpusError(
            f"{name}, line {number} has {parts}; every line needs {required}{format.hint}."
        )


def _sample(lines: Iterable[str]) -> tuple[list[str], Iterator[str]]:
    """Return the first lines, and an iterator over all. An error in the first lines is raised by
    the iterator, after the lines before it."""
    iterator, sample = iter(lines), list[str]()
    n_visible = 0
    try:
        for line in iterator:
            sample.append(line)
            n_visible += not is_blank(line)
            if n_visible == pair_formats.SAMPLE_LINES:
                break
    except CorpusError as error:
        return sample, chain(sample, _raise(error))
    return sample, chain(sample, iterator)


def _raise(error: CorpusError) -> Iterator[str]:
    raise error
    yield


def read_references(
    path: PathLike, tgt_path: PathLike | None = None, *, merge_repeated: bool = False
) -> tuple[list[str], list[list[str]]]:
    """Return the sources of an evaluation corpus and the references of each, in the order of the
    file.

    Each line is a source with one reference. With `merge_repeated`, all lines with the same source
    are one source with several references. Raises CorpusError as `read_pairs` does.
    """
    pairs = read_pairs(path, tgt_path)
    if not merge_repeated:
        sources, targets = zip(*pairs, strict=True)
        return list(sources), [[target] for target in targets]
    references: dict[str, list[str]] = {}
    for source, target in pairs:
        references.setdefault(source, []).append(target)
    return list(references), list(references.values())


def _parse_later(path: PathLike) -> Iterator[Pair]:
    yield from parse_pairs(read_lines(path), str(path))


def _read_parallel(src_path: PathLike, tgt_path: PathLike) -> Iterator[Pair]:
    number = 0
    sources, targets = read_sentences(src_path), read_sentences(tgt_path)
    for number, (source, target) in enumerate(zip_longest(sources, targets), start=1):
        if source is None or target is None:
            short, long = (src_path, tgt_path) if source is None else (tgt_path, src_path)
            # Count the rest: the message names both numbers.
            total = number + sum(1 for _ in (targets if source is None else sources))
            raise CorpusError(
                f"{short} has {number - 1} lines and {long} has {total}; "
                "parallel files need the same number."
            )
        yield _checked_pair(source, target, str(src_path), str(tgt_path), number)
    if number == 0:
        raise CorpusError(f"{src_path} and {tgt_path} are empty; they need at least one line each.")


def _checked_pair(source: str, target: str, src_name: str, tgt_name: str, number: int) -> Pair:
    source, target = source.strip(), target.strip()
    if is_blank(source):
        raise CorpusError(f"{src_name}, line {number} has an empty source; both sides need text.")
    if is_blank(target):
        raise CorpusError(f"{tgt_name}, line {number} has an empty target; both sides need text.")
    return source, target


def _check_file(path: PathLike) -> None:
    if not os.fspath(path):
        raise CorpusError("The name of a file is empty; give the path of a text file.")
    if Path(path).is_dir():
        raise CorpusError(f"{path} is a folder; give a text file or a .gz of one.")
    if not Path(path).exists():
        raise CorpusError(f"There is no file {path}; give the path of a text file or a .gz of one.")


def read_sentences(path: PathLike) -> Iterator[str]:
    """Stream the lines of a text file as `read_lines`. Raises CorpusError also for JSON, HTML and
    other formats."""
    sample, lines = _sample(read_lines(path))
    try:
        pair_formats.check_text(sample)
    except FormatError as error:
        raise CorpusError(f"{path} {error}.") from error
    yield from lines


def read_lines(path: PathLike) -> Iterator[str]:
    r"""Stream the lines of a UTF-8 file without their line ends, \n, \r\n or \r.

    The file is read as bytes, so that no other character ends a line and an invalid byte is
    reported with its line. Raises CorpusError.
    """
    number = 0
    try:
        with open(path, "rb") as raw_file:
            beginning = raw_file.peek(8)[:8]
            for magic, kind in _OTHER_FILES.items():
                if beginning.startswith(magic):
                    raise CorpusError(
                        f"{path} is {kind}; give a text file in UTF-8, or a .gz of one."
                    )
            is_gzip = str(path).endswith(".gz") or beginning.startswith(b"\x1f\x8b")
            file = gzip.GzipFile(fileobj=raw_file) if is_gzip else raw_file
            for line in decoded_lines(file, str(path)):
                number += 1
                yield line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise CorpusError(
            f"{path} is not a complete gzip file: it ends or is corrupt after line {number}; "
            "download or compress it again."
        ) from error
    except OSError as error:
        raise CorpusError(f"{path} cannot be read: {error.strerror}.") from error


class _Chunks(Protocol):
    def read1(self, size: int, /) -> bytes: ...


def decoded_lines(file: _Chunks, name: str) -> Iterator[str]:
    """Stream the lines of a binary file in UTF-8, without a byte order mark. Raises CorpusError,
    with `name`, for a line in another encoding or of more than `MAX_LINE_BYTES`."""
    for number, raw_line in enumerate(split_bytes(file), start=1):
        if len(raw_line) > MAX_LINE_BYTES:
            raise CorpusError(
                f"{name}, line {number} has more than {MAX_LINE_BYTES:,} bytes; put each sentence "
                "on its own line."
            )
        try:
            line = raw_line.removeprefix(b"\xef\xbb\xbf" if number == 1 else b"").decode("utf-8")
        except UnicodeDecodeError as error:
            raise CorpusError(
                f"{name}, line {number} is not UTF-8 (byte {error.object[error.start]:#04x} at "
                f"position {error.start + 1}); save it as UTF-8."
            ) from error
        if "\0" in line:  # English UTF-16 without a BOM decodes as UTF-8 with NULs
            raise CorpusError(f"{name}, line {number} contains a NUL character; save it as UTF-8.")
        yield line


def split_bytes(file: _Chunks) -> Iterator[bytes]:
    r"""Stream the lines of a binary file without their line ends, \n, \r\n or \r. A line that is
    longer than `MAX_LINE_BYTES` is returned before its end has been read."""
    # Bounded reads: a small .gz may contain one line of many gigabytes.
    pending = b""
    while chunk := file.read1(_CHUNK_BYTES):
        *complete_lines, rest = (pending + chunk).split(b"\n")
        for line in complete_lines:
            yield from line.rstrip(b"\r").split(b"\r")
        text = rest.rstrip(b"\r")
        line_ends = rest[len(text) :]  # the next chunk may begin with \n
        *complete_lines, last = text.split(b"\r")
        yield from complete_lines
        if len(last) > MAX_LINE_BYTES:
            yield last
        if len(line_ends) > MAX_LINE_BYTES:
            yield from (b"" for _ in line_ends)
            line_ends = b""
        pending = last + line_ends
    *complete_lines, last = pending.split(b"\r")
    yield from complete_lines
    if last:
        yield last
