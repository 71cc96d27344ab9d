"""Parallel text as streams of (source, target) pairs; errors name the file and the line."""

import gzip
import os
import zlib
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path

from transformer.text.visible import is_blank

Pair = tuple[str, str]
PathLike = str | os.PathLike[str]

MAX_LINE_BYTES = 1_000_000
"""Largest size of a line."""


class CorpusError(ValueError):
    """A corpus cannot be read; the message is one sentence with the file and the line."""


def read_pairs(path: PathLike, tgt_path: PathLike | None = None) -> Iterator[Pair]:
    """Stream the (source, target) pairs of a corpus; gzip files are recognised.

    One path: a table with `source TAB target` on each line; further columns are ignored. Two paths:
    parallel files; line i of the second translates line i of the first. Leading and trailing white
    space is removed. A missing file is reported at once, other errors when the stream reaches them.
    Raises CorpusError.
    """
    if tgt_path is None:
        _check_file(path)
        return parse_pairs(read_lines(path), str(path))
    _check_file(path)
    _check_file(tgt_path)
    return _read_parallel(path, tgt_path)


def parse_pairs(lines: Iterable[str], name: str) -> Iterator[Pair]:
    """Parse lines of `source TAB target`; `name` is the name of the text in error messages.

    Split pasted text with `.split("\\n")`: `.splitlines()` also breaks at rarer characters that a
    sentence may contain. Blank lines at the end are ignored. Raises CorpusError.
    """
    blank = 0
    empty = True
    for number, line in enumerate(lines, start=1):
        if is_blank(line):
            blank = blank or number
            continue
        if blank:
            raise CorpusError(
                f"{name}, line {blank} is blank; every line needs a source, a tab and a target."
            )
        source, tab, columns = line.partition("\t")
        if not tab:
            raise CorpusError(
                f"{name}, line {number} has no tab; every line needs a source, a tab and a target."
            )
        empty = False
        yield _checked_pair(source, columns.partition("\t")[0], name, name, number)
    if empty:
        raise CorpusError(
            f"{name} is empty; it needs at least one line: a source, a tab, a target."
        )


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


def _read_parallel(src_path: PathLike, tgt_path: PathLike) -> Iterator[Pair]:
    number = 0
    sources, targets = read_lines(src_path), read_lines(tgt_path)
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
    if Path(path).is_dir():
        raise CorpusError(f"{path} is a folder; give a text file or a .gz of one.")
    if not Path(path).exists():
        raise CorpusError(f"There is no file {path}; give the path of a text file or a .gz of one.")


def read_lines(path: PathLike) -> Iterator[str]:
    """Stream the lines of a UTF-8 file without their line ends. The file is read as bytes, so that
    only a newline ends a line and an invalid byte is reported with its line."""
    number = 0
    try:
        with open(path, "rb") as raw_file:
            is_gzip = str(path).endswith(".gz") or raw_file.peek(2)[:2] == b"\x1f\x8b"
            file = gzip.GzipFile(fileobj=raw_file) if is_gzip else raw_file
            # Bounded reads: a small .gz may contain one line of many gigabytes.
            lines = iter(lambda: file.readline(MAX_LINE_BYTES + 1), b"")
            for number, raw_line in enumerate(lines, start=1):
                if len(raw_line) > MAX_LINE_BYTES:
                    raise CorpusError(
                        f"{path}, line {number} has more than {MAX_LINE_BYTES:,} bytes; put "
                        "each sentence on its own line."
                    )
                if number == 1:
                    raw_line = raw_line.removeprefix(b"\xef\xbb\xbf")
                line = raw_line.decode("utf-8")
                if "\0" in line:  # English UTF-16 without a BOM decodes as UTF-8 with NULs
                    raise CorpusError(
                        f"{path}, line {number} contains a NUL character; save the file as UTF-8."
                    )
                yield line.rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise CorpusError(
            f"{path}, line {number} is not UTF-8 (byte {error.object[error.start]:#04x} at "
            f"position {error.start + 1}); save the file as UTF-8."
        ) from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise CorpusError(
            f"{path} is not a complete gzip file: it ends or is corrupt after line {number}; "
            "download or compress it again."
        ) from error
    except OSError as error:
        raise CorpusError(f"{path} cannot be read: {error.strerror}.") from error
