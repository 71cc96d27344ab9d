"""Atomic writing over links, pipes, devices and files with a mode."""

from __future__ import annotations

import os
import stat
import sys
import threading
from pathlib import Path

import pytest

from transformer.text.files import atomic_path, write_text

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links and pipes of Unix")


def test_a_link_stays_a_link_and_its_target_gets_the_text(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    target = tmp_path / "folder" / "real.txt"
    for name, points_to in (("absolute", target), ("relative", Path("folder/real.txt"))):
        link = tmp_path / name
        link.symlink_to(points_to)
        write_text(link, name)  # the first time, the target does not exist
        assert link.is_symlink()
        assert target.read_text() == name
    assert os.listdir(tmp_path / "folder") == ["real.txt"]


def test_a_link_to_itself_is_refused_and_stays(tmp_path: Path) -> None:
    (link := tmp_path / "link").symlink_to("other")
    (tmp_path / "other").symlink_to("link")
    with pytest.raises(OSError, match="leads to itself"):
        write_text(link, "text")
    assert link.is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["link", "other"]


def write_half(path: Path) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt


def test_an_interrupted_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "old.txt"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        write_half(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["old.txt"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_a_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "private.txt"
    path.touch()
    path.chmod(mode)
    write_text(path, "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe, texts = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: texts.append(pipe.read_text()))
    reader.start()
    write_text(pipe, "Merci.\n")
    reader.join(10)
    assert texts == ["Merci.\n"]
    assert pipe.is_fifo()


def test_devices_and_open_files_are_written_to(tmp_path: Path) -> None:
    write_text("/dev/null", "gone")
    assert Path("/dev/null").is_char_device()
    with (tmp_path / "out").open("w+") as file:
        write_text(f"/dev/fd/{file.fileno()}", "kept")
        assert file.read() == "kept"
