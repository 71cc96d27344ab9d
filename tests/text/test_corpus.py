"""Pairs from text, tables, parallel and compressed files, and errors that name the line."""

from __future__ import annotations

import gzip
import io
import json
import re
import tracemalloc
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.text import CorpusError, parse_pairs, read_pairs, read_references
from transformer.text.corpus import MAX_LINE_BYTES, split_bytes
from transformer.text.pair_formats import split_text
from transformer.text.visible import escape_controls, is_blank

SIDE = (
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\t\n\r\0"), min_size=1)
    .map(str.strip)
    .filter(lambda side: not is_blank(side))
)


def write(path: Path, data: bytes | str) -> Path:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


@given(pairs=st.lists(st.tuples(SIDE, SIDE), min_size=1), zipped=st.booleans())
def test_pairs_written_are_the_pairs_read(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]], zipped: bool
) -> None:
    folder = tmp_path_factory.mktemp("corpus")
    name, pack = ("c.tsv.gz", gzip.compress) if zipped else ("c.tsv", bytes)
    table = "".join(f"{source}\t{target}\n" for source, target in pairs)
    assert list(read_pairs(write(folder / name, pack(table.encode())))) == pairs
    sides = [
        write(folder / f"side{i}", pack("".join(pair[i] + "\n" for pair in pairs).encode()))
        for i in (0, 1)
    ]
    assert list(read_pairs(sides[0], sides[1])) == pairs


def test_extra_columns_line_ends_and_bom_are_ignored(tmp_path: Path) -> None:
    path = write(tmp_path / "c.tsv", b"\xef\xbb\xbfa\tb\tCC-BY\tme\r\n c \t d\t\r\n\r\n\n")
    assert list(read_pairs(path)) == [("a", "b"), ("c", "d")]


@given(text=st.text("ab\r\n", max_size=30), size=st.integers(1, 7))
def test_every_line_end_ends_a_line(text: str, size: int) -> None:
    """The lines are those that Python finds, wherever a chunk of the file ends. Some programs end
    lines with `\\r\\r\\n`."""
    text = text.lstrip("\r\n")
    expected = re.sub(r"\r+\n", "\n", text).replace("\r", "\n").split("\n")
    assert split_text(text) == expected

    class Chunks(io.BytesIO):
        def read1(self, _: int | None = -1, /) -> bytes:
            return self.read(size)

    lines = [line.decode() for line in split_bytes(Chunks(text.encode()))]
    assert lines == (expected if expected[-1] else expected[:-1])


def test_an_infinite_stream_can_be_parsed() -> None:
    def endless() -> Iterator[str]:
        while True:
            yield "yes\toui"

    stream = parse_pairs(endless(), "the text")
    assert [next(stream) for _ in range(3)] == [("yes", "oui")] * 3


TABLE_ERRORS = {
    "no tab": (b"a\tb\nc d\n", r"c\.tsv, line 2 has no tab; .*a source, a tab and a target"),
    "empty source": (b"a\tb\n \tb\n", r"c\.tsv, line 2 has an empty source"),
    "empty target": (b"a\tb\nc\td\ne\t \tf\n", r"c\.tsv, line 3 has an empty target"),
    "blank line inside": (b"a\tb\n\n\nc\td\n", r"c\.tsv, line 2 is blank"),
    "empty file": (b"", r"c\.tsv is empty; it needs at least one line"),
    "blank file": (b"\n \n", r"c\.tsv is empty"),
    "latin-1": ("a\tb\nété\tsummer\n".encode("latin-1"), r"line 2 is not UTF-8 \(byte 0xe9 at"),
    "utf-16 with mark": (
        "a\tb\n".encode("utf-16"),
        r"line 1 is not UTF-8 .*save it as UTF-8",
    ),
    "utf-16 without": ("a\tb\n".encode("utf-16-le"), r"line 1 contains a NUL character; .*UTF-8"),
}


@pytest.mark.parametrize("case", TABLE_ERRORS)
@pytest.mark.parametrize("zipped", [False, True])
def test_errors_in_a_table_name_the_line(tmp_path: Path, case: str, zipped: bool) -> None:
    data, message = TABLE_ERRORS[case]
    if zipped:
        data, message = gzip.compress(data), message.replace(r"\.tsv", r"\.tsv\.gz")
    path = write(tmp_path / ("c.tsv.gz" if zipped else "c.tsv"), data)
    with pytest.raises(CorpusError, match=message) as caught:
        list(read_pairs(path))
    assert str(tmp_path) in str(caught.value)
    assert str(caught.value).count("\n") == 0


@pytest.mark.parametrize("zipped", [False, True])
def test_a_huge_line_is_refused_before_it_is_in_memory(tmp_path: Path, zipped: bool) -> None:
    """A file of 200 kB may unpack to one such line."""
    path = tmp_path / "bomb"
    content = b"a\tb\n" + b"a" * 200 * 10**6
    path.write_bytes(gzip.compress(content) if zipped else content)
    tracemalloc.start()
    try:
        with pytest.raises(CorpusError, match="line 2 has more than 1,000,000 bytes; put each"):
            list(read_pairs(path))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20 * 10**6
    path.write_bytes(b"a\t" + b"b" * (MAX_LINE_BYTES - 3) + b"\nc\td\n")  # the maximum
    assert [len(target) for _, target in read_pairs(path)] == [MAX_LINE_BYTES - 3, 1]


def test_missing_files_and_folders_are_refused_before_reading(tmp_path: Path) -> None:
    existing = write(tmp_path / "there", "a\n")
    for paths in (
        (tmp_path / "absent",),
        (existing, tmp_path / "absent"),
        (tmp_path / "absent", existing),
    ):
        with pytest.raises(CorpusError, match=r"There is no file .*absent"):
            read_pairs(*paths)
    for paths in ((tmp_path,), (existing, tmp_path), (tmp_path, existing)):
        with pytest.raises(CorpusError, match="is a folder; give a text file"):
            read_pairs(*paths)


def test_a_truncated_gzip_is_refused_after_its_complete_lines(tmp_path: Path) -> None:
    lines = "".join(f"sentence {i}\tphrase {i * 7919 % 1000}\n" for i in range(5000)).encode()
    path = write(tmp_path / "c.tsv.gz", gzip.compress(lines)[:-2000])
    pairs_read = []
    with pytest.raises(CorpusError, match=r"c\.tsv\.gz is not a complete gzip file") as caught:
        pairs_read.extend(read_pairs(path))
    assert f"after line {len(pairs_read)};" in str(caught.value)
    assert 0 < len(pairs_read) < 5000


def test_damaged_and_wrong_gzip_files_are_refused(tmp_path: Path) -> None:
    compressed = gzip.compress(b"a\tb\n" * 1000)
    damaged = bytearray(compressed)
    damaged[14] ^= 0xFF
    for data in (b"a\tb\n", bytes(damaged), compressed[:-8] + bytes(8)):
        with pytest.raises(CorpusError, match="is not a complete gzip file"):
            list(read_pairs(write(tmp_path / "c.tsv.gz", data)))


@pytest.mark.parametrize(("n_src", "n_tgt"), [(2, 5), (5, 2), (0, 3), (3, 0)])
def test_parallel_files_of_unequal_length_are_refused(
    tmp_path: Path, n_src: int, n_tgt: int
) -> None:
    src, tgt = write(tmp_path / "c.en", "a\n" * n_src), write(tmp_path / "c.fr", "b\n" * n_tgt)
    names = {n_src: r"c\.en", n_tgt: r"c\.fr"}
    low, high = sorted(names)
    message = rf"{names[low]} has {low} lines and .*{names[high]} has {high}; "
    with pytest.raises(CorpusError, match=message):
        list(read_pairs(src, tgt))


def test_parallel_files_with_an_empty_side_or_line_are_refused(tmp_path: Path) -> None:
    empty = write(tmp_path / "empty", "")
    with pytest.raises(CorpusError, match=r"empty and .*empty are empty"):
        list(read_pairs(empty, empty))
    full, hole = write(tmp_path / "full", "a\nb\nc\n"), write(tmp_path / "hole", "a\n\nc\n")
    with pytest.raises(CorpusError, match="hole, line 2 has an empty target"):
        list(read_pairs(full, hole))
    with pytest.raises(CorpusError, match="hole, line 2 has an empty source"):
        list(read_pairs(hole, full))


def test_references_of_one_source_are_merged_if_requested(tmp_path: Path) -> None:
    path = write(tmp_path / "c.tsv", "b\tB1\na\tA1\nb\tB2\nc\tC1\nb\tB2\na\tA2\n")
    sources, references = read_references(path)
    assert sources == ["b", "a", "b", "c", "b", "a"]
    assert references == [["B1"], ["A1"], ["B2"], ["C1"], ["B2"], ["A2"]]
    sources, references = read_references(path, merge_repeated=True)
    assert sources == ["b", "a", "c"]
    assert references == [["B1", "B2", "B2"], ["A1", "A2"], ["C1"]]
    with pytest.raises(CorpusError, match="is empty"):
        read_references(write(path, ""))


@given(st.text())
def test_escaped_text_has_no_control_characters(text: str) -> None:
    """Of control characters only tab and line feed remain, and JSON restores the text."""
    out = escape_controls(text)
    assert not {s for s in out if unicodedata.category(s) == "Cc"} - {"\t", "\n"}
    assert json.loads(escape_controls(json.dumps(text, ensure_ascii=False))) == text
