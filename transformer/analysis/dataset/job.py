"""A dataset made in a process of its own, as one zip beside its result."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.passes import Progress
from transformer.analysis.dataset.writing import write_dataset
from transformer.analysis.interventions.switching import named_heads
from transformer.checkpoint import checkpoint_hash
from transformer.inference import Translator

MOST_BYTES = 2**27
"""Of the weights of a dataset that a page gives away, before they are packed: 134 MB."""
SHOWN = 5
"""Sentences that the page shows."""


def compute(given: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Write the zip to `given["file"]`; "files" has the bytes of each in it, "bytes" those of all,
    "first" the first sentences with their translations.

    Args:
        given: "checkpoint", its folder; "hash"; "corpus", as `Corpus.to_dict`; "heads", as
            `--heads`; "options", of decoding; "file".

    Raises:
        ValueError, OSError: for a checkpoint that is another by now, and as `write_dataset` does.
    """
    progress(0.0, "loading the model")
    folder, out = Path(given["checkpoint"]), Path(given["file"])
    if checkpoint_hash(folder) != given["hash"]:
        raise ValueError(f"the checkpoint {folder.name} has changed meanwhile; ask again")
    translator = Translator.load(folder)
    out.unlink(missing_ok=True)  # of an earlier answer
    write_dataset(
        translator,
        Corpus.from_dict(given["corpus"]),
        out,
        heads=named_heads(translator.model.config, given["heads"]),
        options=given["options"],
        progress=progress,
        most_bytes=MOST_BYTES,
    )
    with zipfile.ZipFile(out) as packed:
        files = {info.filename: info.file_size for info in packed.infolist()}
        with packed.open("translations.parquet") as table:
            said = pd.read_parquet(table, columns=["source", "text"])
    first = [[str(source), str(text)] for source, text in said.head(SHOWN).to_numpy()]
    return {"files": files, "bytes": out.stat().st_size, "first": first}
