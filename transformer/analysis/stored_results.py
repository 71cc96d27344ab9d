"""Results measured with one checkpoint, stored as JSON in its folder for the pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transformer.text.files import read_json

MAX_BYTES = 50_000


def read_result(path: Path, digest: str) -> dict[str, Any]:
    """Read a result whose "checkpoint" names the weights that it was measured with.

    Args:
        digest: `checkpoint_hash` of the folder.

    Raises:
        OSError: if the file cannot be read.
        ValueError: if it is not a JSON object, is too large, or was measured with other weights.
    """
    if (size := path.stat().st_size) > MAX_BYTES:
        raise ValueError(f"{path.name} has {size:,} bytes; a result has at most {MAX_BYTES:,}")
    values = read_json(path)
    if values.get("checkpoint") != digest:
        raise ValueError(f"{path.name} was measured with other weights")
    return values
