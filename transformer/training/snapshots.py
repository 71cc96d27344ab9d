"""Reading the evaluations of a run: attention snapshots, examples, Adam's moments.

Files may be read while they are written: incomplete files and lines are skipped without an error.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from transformer.text.files import atomic_path

Snapshot = dict[str, npt.NDArray[np.float16]]


class Snapshots:
    """The part of a run folder that `evaluation_callback.py` writes.

    snapshots/00000120.npz  attention of the probes at that step, `{probe}.{kind}`:
                            (layers, heads, query, key), float16; kinds as in `Trace.weights`
    snapshots/labels.json   tokens of each probe: {"src", "tgt", "predicted"}
    examples.jsonl          one line per evaluation:
                            {"step", "examples": [{"src", "tgt", "output", "right"}]}
    inspect.json            corner of one matrix, its gradient, Adam's moments and the update
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def snapshots_path(self) -> Path:
        return self.path / "snapshots"

    @property
    def examples_path(self) -> Path:
        return self.path / "examples.jsonl"

    @property
    def inspect_path(self) -> Path:
        return self.path / "inspect.json"

    def snapshots(self) -> list[int]:
        """Return the steps that have a snapshot, in order."""
        return sorted(int(path.stem) for path in self.snapshots_path.glob("[0-9]*.npz"))

    def snapshot(self, step: int) -> Snapshot:
        """Return attention weights by "{probe}.{kind}"; empty if the file is not complete."""
        try:
            with np.load(self.snapshots_path / f"{step:08d}.npz", allow_pickle=False) as file:
                return {name: file[name] for name in file.files}
        except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile):
            return {}

    def labels(self) -> list[dict[str, list[str]]]:
        """Return the tokens of every probe: "src", "tgt" (decoder input) and "predicted"."""
        labels = _read_json(self.snapshots_path / "labels.json")
        return labels if isinstance(labels, list) else []

    def examples(self) -> list[dict[str, Any]]:
        """Return the lines of examples.jsonl, in order."""
        return read_json_lines(self.examples_path)

    def inspect(self) -> dict[str, Any]:
        """Return the last recorded update of the inspected matrix (`Moments`); empty if none."""
        content = _read_json(self.inspect_path)
        return content if isinstance(content, dict) else {}

    def delete_snapshots_after(self, step: int) -> None:
        """Delete snapshots and examples after `step`; a resumed run writes them again."""
        for later_step in self.snapshots():
            if later_step > step:
                (self.snapshots_path / f"{later_step:08d}.npz").unlink(missing_ok=True)
        if self.examples_path.is_file():
            drop_lines_after(step, self.examples_path)


def drop_lines_after(step: int, path: Path) -> None:
    """Delete the lines of a file of JSON objects whose "step" is above `step`."""
    lines = [json.dumps(line) for line in read_json_lines(path) if line["step"] <= step]
    with atomic_path(path) as temporary:
        temporary.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def read_json_lines(path: Path, last_bytes: int = 0) -> list[dict[str, Any]]:
    """Return the complete lines of a file of JSON objects, or (above 0) of its `last_bytes`."""
    try:
        with path.open("rb") as file:
            start = max(0, file.seek(0, 2) - last_bytes) if last_bytes else 0
            file.seek(start)
            content = file.read()
    except OSError:
        return []
    return parse_json_lines(content.partition(b"\n")[2] if start else content)


def parse_json_lines(content: bytes) -> list[dict[str, Any]]:
    """Return the JSON objects of the lines; invalid or incomplete lines are left out."""
    lines = []
    for raw in content.splitlines():
        try:
            line = json.loads(raw)
        except (ValueError, RecursionError):  # invalid JSON or UTF-8, or too deeply nested
            continue
        if isinstance(line, dict):
            lines.append(line)
    return lines


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
