"""The checkpoint that a computation was asked about, loaded where it still is that one."""

from __future__ import annotations

import os
from pathlib import Path

from transformer.checkpoint import checkpoint_hash
from transformer.inference import Translator


def load_unchanged(folder: str | os.PathLike[str], digest: str) -> Translator:
    """Raises ValueError, OSError: for a checkpoint that has another hash by now."""
    if checkpoint_hash(Path(folder)) != digest:
        raise ValueError(f"the checkpoint {Path(folder).name} has changed meanwhile; ask again")
    return Translator.load(folder)
