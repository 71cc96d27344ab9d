"""Named arrays and a JSON header in one file; never a pickle."""

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
UNREADABLE = (
    *(KeyError, ValueError, TypeError, AttributeError),
    *(EOFError, OSError, zipfile.BadZipFile, zlib.error),
)
"""What numpy and zlib raise for a file of another kind, or half a file."""

Array = npt.NDArray[Any]


def write_npz(
    path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, Array]
) -> None:
    """All of it or nothing; the header becomes an array of its UTF-8 bytes."""
    text = json.dumps({"format": FORMAT, **header}, ensure_ascii=False)
    named: dict[str, Any] = {HEADER: np.frombuffer(text.encode(), dtype=np.uint8), **arrays}
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, **named)


def read_npz(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and arrays. Raises FileNotFoundError, or ValueError if it is no such file."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"There is no trace file at {path}.")
    try:
        with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        header = json.loads(arrays.pop(HEADER).tobytes().decode())
    except UNREADABLE as error:
        raise ValueError(f"{path} is cut off or is not a trace file: {error}") from error
    return checked(header, str(path)), arrays


def to_text(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> str:
    """JSON. Raises ValueError for an array with a number that JSON lacks (NaN, infinity)."""
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise ValueError(f"{name} holds a number that is not finite; JSON has none (use .npz)")
    tensors = {name: array.tolist() for name, array in arrays.items()}
    return json.dumps({"format": FORMAT, **header, "tensors": tensors}, ensure_ascii=False)


def from_text(text: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """The inverse of `to_text`, arrays as float32."""
    try:
        header = checked(json.loads(text), "the text")
        tensors = header.pop("tensors")
        arrays = {name: np.array(values, dtype=np.float32) for name, values in tensors.items()}
    except (json.JSONDecodeError, KeyError, AttributeError, TypeError) as error:
        raise ValueError(f"the text is not the JSON of a trace: {error}") from error
    return header, arrays


def checked(header: object, where: str) -> dict[str, Any]:
    """The header without its format number. Raises ValueError if it has another."""
    if not isinstance(header, dict):
        raise ValueError(f"{where} holds no trace")
    found = header.pop("format", None)
    if found != FORMAT:
        raise ValueError(f"{where} has trace format {found!r}; this version reads {FORMAT}")
    return header
