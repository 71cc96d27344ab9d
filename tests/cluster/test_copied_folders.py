"""Files copied between machines: valid names, sizes, chunks, and repeated copies of a folder."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.cluster import folders, host
from transformer.cluster.copying import Mirror


@pytest.mark.parametrize(
    "name", ["config.json", "weights/00000120.safetensors", "_a-b.c", "x" * 99]
)
def test_valid_file_names_are_accepted(name: str, tmp_path: Path) -> None:
    assert folders.checked_path(tmp_path, name) == tmp_path / name


@pytest.mark.parametrize(
    "name",
    [
        *("", ".", "..", "../x", "/etc/passwd", "a/../b", "a/b/c", ".hidden", "a/.b", "a\\b"),
        *("a\0", "x\n", "x" * 101, "a//b", "a/", "C:x"),
    ],
)
def test_names_outside_the_folder_are_rejected(name: str, tmp_path: Path) -> None:
    with pytest.raises(folders.CopyError, match="is not the name of a file that may be copied"):
        folders.checked_path(tmp_path, name)


@given(st.text())
def test_no_name_leaves_its_folder(name: str) -> None:
    folder = Path("/somewhere/run")
    with suppress(folders.CopyError):
        assert folder in Path(os.path.normpath(folders.checked_path(folder, name))).parents


def test_links_are_never_followed(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "secret").mkdir()
    (tmp_path / "run" / "weights").symlink_to(tmp_path / "secret")
    (tmp_path / "run" / "config.json").symlink_to(tmp_path / "secret" / "x")
    for name in ("weights/x", "config.json"):
        with pytest.raises(folders.CopyError):
            folders.checked_path(tmp_path / "run", name)


def test_listings_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    (tmp_path / ".a.tmp").write_bytes(b"half")
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "b").write_bytes(b"1")
    files = folders.listing(tmp_path, frozenset({"weights/b"}))
    assert [(name, size) for name, (size, _, _) in files.items()] == [("a", 5)]
    folders.check_listing(files, tmp_path)
    monkeypatch.setattr(folders, "MAX_BYTES", 4)
    with pytest.raises(folders.CopyError, match="the limit for copying"):
        folders.check_listing(files, tmp_path)
    monkeypatch.setattr(folders, "MAX_FILES", 0)
    with pytest.raises(folders.CopyError, match="0 files"):
        folders.check_listing(files, tmp_path)


def test_invalid_listings_of_a_worker_write_nothing(tmp_path: Path) -> None:
    mirror, connection = _mirror(tmp_path)
    for name in ("../x", "/etc/cron.d/x", ".ssh/authorized_keys", "a/b/c"):
        with pytest.raises(folders.CopyError):
            asyncio.run(mirror.update({"good": (0, 0, 0), name: (1, 1, 1)}))
    assert connection.n_bytes == 0
    assert [*(tmp_path / "local").iterdir()] == []


def test_chunks_are_appended_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "PIECE_BYTES", 4)
    (tmp_path / "a").write_bytes(b"0123456789")
    for offset in (0, 4, 8):
        folders.write_piece(
            tmp_path / "remote" / "a", offset, folders.read_piece(tmp_path / "a", offset)
        )
    assert (tmp_path / "remote" / "a").read_bytes() == b"0123456789"
    for offset, content in ((4, b"x"), (10, b"12345")):
        with pytest.raises(folders.CopyError, match="does not follow"):
            folders.write_piece(tmp_path / "remote" / "a", offset, content)


def test_appended_and_replaced_files_are_distinguished(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text("1\n")
    original = folders.stamp(path)
    with path.open("a") as file:
        file.write("2\n")
    assert folders.is_unchanged_or_grown("metrics.jsonl", folders.stamp(path), original)
    assert not folders.is_unchanged_or_grown("state.bin", folders.stamp(path), original)
    (tmp_path / "new").write_text("1\n2\n3\n")
    (tmp_path / "new").rename(path)
    assert not folders.is_unchanged_or_grown("metrics.jsonl", folders.stamp(path), original)


class FakeConnection:
    """A fake connection: `host.read_file_piece` reads from a local folder."""

    def __init__(self, remote: Path, before_read: Callable[[str], object]) -> None:
        self.folder, self.before_read, self.n_bytes = remote, before_read, 0

    async def call(self, worker: str, function: Any, *arguments: Any) -> bytes | None:
        assert function is host.read_file_piece
        _, name, expected, offset = arguments
        self.before_read(name)
        path = self.folder / name
        if not path.exists() or not folders.is_unchanged_or_grown(
            name, folders.stamp(path), expected
        ):
            return None
        content = folders.read_piece(path, offset)
        self.n_bytes += len(content)
        return content


def _mirror(
    tmp_path: Path, before_read: Callable[[str], object] = print
) -> tuple[Mirror, FakeConnection]:
    (tmp_path / "remote").mkdir()
    (tmp_path / "local").mkdir()
    connection = FakeConnection(tmp_path / "remote", before_read)
    return Mirror(connection, "worker", "token", tmp_path / "local"), connection  # type: ignore[arg-type]


def test_repeated_copies_equal_the_original(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "PIECE_BYTES", 7)
    mirror, connection = _mirror(tmp_path)
    remote, local = tmp_path / "remote", tmp_path / "local"
    (remote / "weights").mkdir()
    for step in range(1, 6):
        with (remote / "metrics.jsonl").open("a") as file:
            file.write('{"step": 1}\n')
        (remote / "new").write_bytes(secrets.token_bytes(20))
        (remote / "new").rename(remote / "resume.safetensors")
        (remote / "weights" / f"{step}").write_bytes(secrets.token_bytes(10))
        (remote / "weights" / f"{step - 2}").unlink(missing_ok=True)
        connection.n_bytes = 0
        asyncio.run(mirror.update(folders.listing(remote)))
        assert connection.n_bytes == 12 + 20 + 10  # only the new line
        for name in folders.listing(remote):
            assert (local / name).read_bytes() == (remote / name).read_bytes()
        assert folders.listing(local).keys() == folders.listing(remote).keys()


def test_a_save_is_never_copied_before_its_metrics(tmp_path: Path) -> None:
    remote, local = tmp_path / "remote", tmp_path / "local"

    def replace_weights(name: str) -> None:
        """Replace the weights just before they are read."""
        if name == "weights":
            (remote / "new").write_text("later")
            (remote / "new").rename(remote / "weights")

    mirror, _ = _mirror(tmp_path, replace_weights)
    for name in ("resume.safetensors", "metrics.jsonl", "weights"):
        (remote / name).write_text("first")
    asyncio.run(mirror.update(folders.listing(remote)))
    assert [*folders.listing(local)] == ["metrics.jsonl"]  # the rest follows at the next poll
