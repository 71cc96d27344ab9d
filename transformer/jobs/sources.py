"""A fingerprint of the code that makes results: what other code made is nobody's any more."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

HOUSE = Path(__file__).resolve().parents[1]
BESIDE = ("cli", "jobs", "ui")
"""Rooms that show results or have them made, and change no number of them. The rules of roles and
the words that pieces make are in `figures`."""


@lru_cache
def fingerprint(house: Path = HOUSE, beside: tuple[str, ...] = BESIDE) -> str:
    """16 hexadecimal digits of all Python below `house` but the rooms `beside`, and of the versions
    of what computes. Read once: a process keeps the code that it has begun with."""
    import numpy
    import torch

    digest = hashlib.sha256(f"torch {torch.__version__}, numpy {numpy.__version__}".encode())
    for path in sorted(house.rglob("*.py")):
        name = path.relative_to(house)
        if name.parts[0] not in beside:
            content = path.read_bytes()
            digest.update(f"{name.as_posix()} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:16]
