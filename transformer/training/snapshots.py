"""What was seen of a run while it learned, read back: snapshots, examples, one matrix's moments.

A reader may come at any time: what is half written or cut off is left out, never an error.
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
    snapshots/labels.json   for each probe its tokens: {"src", "tgt", "predicted"}
    examples.jsonl          a line a look: {"step", "examples": [{"src", "tgt", "output", "right"}]}
    inspect.json            one matrix's corner, its gradient, Adam's moments and the step taken
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
        """The steps of which there is a snapshot, in order."""
        return sorted(int(path.stem) for path in self.snapshots_path.glob("[0-9]*.npz"))

    def snapshot(self, step: int) -> Snapshot:
        """Attention weights by `{probe}.{kind}`; nothing if there is no whole file of that step."""
        try:
            with np.load(self.snapshots_path / f"{step:08d}.npz", allow_pickle=False) as file:
                return {name: file[name] for name in file.files}
        except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile):
            return {}

    def labels(self) -> list[dict[str, list[str]]]:
        """The tokens of every probe: "src", "tgt" (what the decoder read) and "predicted"."""
        found = _read_json(self.snapshots_path / "labels.json")
        return found if isinstance(found, list) else []

    def examples(self) -> list[dict[str, Any]]:
        """Every look at the examples, in order."""
        return whole_lines(self.examples_path)

    def inspect(self) -> dict[str, Any]:
        """The newest Adam step of the chosen corner (`Moments`); nothing before the first."""
        found = _read_json(self.inspect_path)
        return found if isinstance(found, dict) else {}

    def forget_seen(self, step: int) -> None:
        """Drop what was seen after `step`: a resumed run takes those steps again."""
        for later in self.snapshots():
            if later > step:
                (self.snapshots_path / f"{later:08d}.npz").unlink(missing_ok=True)
        if self.examples_path.is_file():
            keep_until(step, self.examples_path)


def keep_until(step: int, path: Path) -> None:
    """Of a file of lines that say their step, those up to this one."""
    kept = [json.dumps(line) for line in whole_lines(path) if line["step"] <= step]
    with atomic_path(path) as temporary:
        temporary.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")


def whole_lines(path: Path, last: int = 0) -> list[dict[str, Any]]:
    """Every whole line of a file of JSON objects, or those within its `last` bytes."""
    try:
        with path.open("rb") as file:
            begins = max(0, file.seek(0, 2) - last) if last else 0
            file.seek(begins)
            content = file.read()
    except OSError:
        return []
    return parsed(content.partition(b"\n")[2] if begins else content)


def parsed(content: bytes) -> list[dict[str, Any]]:
    """JSON objects, a line each; a line that is cut off or none is left out."""
    lines = []
    for raw in content.splitlines():
        try:
            line = json.loads(raw)
        except (ValueError, RecursionError):  # no JSON, cut off within a character, too deep
            continue
        if isinstance(line, dict):
            lines.append(line)
    return lines


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
