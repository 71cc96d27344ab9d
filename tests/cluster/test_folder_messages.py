"""A folder as messages: repeated changes reproduce it, and a save never precedes its lines."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Any

import pytest

from transformer.cluster.folders import (
    LOCAL_FILES,
    read_changes,
    write_changes,
)
from transformer.cluster.host import use_own_checkpoints
from transformer.text.files import Stamp, read_json, write_json


def contents(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_repeated_changes_reproduce_the_folder(tmp_path: Path) -> None:
    remote, local, sent = tmp_path / "remote", tmp_path / "local", dict[str, Stamp]()
    (remote / "weights").mkdir(parents=True)
    local.mkdir()
    for step in range(1, 6):
        with (remote / "metrics.jsonl").open("a") as file:
            file.write('{"step": 1}\n')
        (remote / "new").write_bytes(secrets.token_bytes(20))
        (remote / "new").rename(remote / "resume.safetensors")
        (remote / "weights" / f"{step}").write_bytes(secrets.token_bytes(10))
        (remote / "weights" / f"{step - 2}").unlink(missing_ok=True)
        changes, sent = read_changes(remote, sent)
        sizes = {name: len(change[1]) for name, change in changes.items() if change}
        assert sizes == {"metrics.jsonl": 12, "resume.safetensors": 20, f"weights/{step}": 10}
        write_changes(local, changes)
        assert contents(local) == contents(remote)
    assert read_changes(remote, sent) == ({}, sent)


def test_rewritten_lines_are_sent_again(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text("1\n2\n")
    _, sent = read_changes(tmp_path, {})
    (tmp_path / "new").write_text("1\n2\n3\n")
    (tmp_path / "new").rename(tmp_path / "metrics.jsonl")
    assert read_changes(tmp_path, sent)[0] == {"metrics.jsonl": (0, b"1\n2\n3\n")}


def test_hidden_and_local_files_are_not_sent(tmp_path: Path) -> None:
    (tmp_path / "weights").mkdir()
    for name in (*LOCAL_FILES, ".half.tmp", "weights/.half.tmp", "config.json"):
        (tmp_path / name).write_text(name)
    assert [*read_changes(tmp_path, {})[0]] == ["config.json"]


def test_a_save_never_precedes_the_lines_of_its_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trainer writes a line and a save while the folder is read."""
    remote, local = tmp_path / "remote", tmp_path / "local"
    for folder in (remote, local):
        folder.mkdir()
    for name in ("resume.safetensors", "metrics.jsonl", "weights.bin"):
        (remote / name).write_text("1")
    fstat, reads = Stamp.of, 0

    def train_after_each_read(status: object) -> Stamp:
        nonlocal reads
        reads += 1
        stamp = fstat(status)  # type: ignore[arg-type]
        with (remote / "metrics.jsonl").open("a") as file:
            file.write("1")
        (remote / "new").write_text("1" * (reads + 1))
        (remote / "new").rename(remote / "resume.safetensors")
        return stamp

    sent: dict[str, Stamp] = {}
    monkeypatch.setattr(Stamp, "of", train_after_each_read)
    for _ in range(3):
        changes, sent = read_changes(remote, sent)
        write_changes(local, changes)
        received = contents(local)
        assert len(received["metrics.jsonl"]) >= len(received["resume.safetensors"])


@pytest.mark.parametrize(
    ("arguments", "moved"),
    [
        ({"checkpoint": "/a", "what": "/a"}, {"checkpoint": "{0}", "what": "/a"}),
        ({"models": [["/a", "1"], ["/é", "2"]]}, {"models": [["{0}", "1"], ["{1}", "2"]]}),
        ({"workload": 1}, {"workload": 1}),
    ],
)
def test_the_checkpoints_of_a_computation_are_those_that_were_sent(
    tmp_path: Path, arguments: dict[str, Any], moved: dict[str, Any]
) -> None:
    write_json(tmp_path / "config.json", {"arguments": arguments})
    use_own_checkpoints(tmp_path / "config.json", tmp_path)
    text = json.dumps(read_json(tmp_path / "config.json")["arguments"])
    for number in range(2):
        text = text.replace(str(tmp_path / f"checkpoint-{number}"), f"{{{number}}}")
    assert json.loads(text) == moved
