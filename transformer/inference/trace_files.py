"""Trace files: named arrays and a JSON header in one .npz file, never a pickle; JSON for other
programs."""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from transformer.text.files import atomic_path

FORMAT = 1
HEADER = "header.json"
READ_ERRORS = (
    *(KeyError, ValueError, TypeError, AttributeError),
    *(EOFError, OSError, zipfile.BadZipFile, zlib.error),
)
"""Errors of numpy and zlib for a file of another kind or a truncated file."""

Array = npt.NDArray[Any]


def write_npz(
    path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, Array]
) -> None:
    """Write the file atomically; the header is stored as an array of its UTF-8 bytes."""
    text = json.dumps({"format": FORMAT, **header}, ensure_ascii=False)
    named: dict[str, Any] = {HEADER: np.frombuffer(text.encode(), dtype=np.uint8), **arrays}
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **named)


def read_npz(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return header and arrays. Raises FileNotFoundError, or ValueError for any other file."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"There is no trace file at {path}.")
    try:
        with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        header = json.loads(arrays.pop(HEADER).tobytes().decode())
    except READ_ERRORS as error:
        raise ValueError(f"{path} is truncated or is not a trace file: {error}") from error
    if not isinstance(header, dict):
        raise ValueError(f"{path} is not a trace file")
    version = header.pop("format", None)
    if version != FORMAT:
        raise ValueError(f"{path} has trace format {version!r}; this version reads {FORMAT}")
    return header, arrays


def to_text(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> str:
    """Return header and arrays as JSON. Raises ValueError for NaN and infinity."""
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise ValueError(f"{name} contains NaN or infinity, which JSON cannot store; use .npz")
    tensors = {name: array.tolist() for name, array in arrays.items()}
    return json.dumps({"format": FORMAT, **header, "tensors": tensors}, ensure_ascii=False)
