"""Trace the sentences of a corpus one by one and write them as one dataset."""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from transformer.analysis.corpora import Corpus
from transformer.analysis.corpora.passes import Progress, no_progress, scaled_progress
from transformer.analysis.dataset.files import SCHEMAS, Tables, WeightsWriter, head_code
from transformer.analysis.interventions.switching import Head, check_heads, named_heads
from transformer.cancellation import check_cancelled
from transformer.checkpoint import checkpoint_hash
from transformer.inference import Decoding, Translator
from transformer.inference.trace import WEIGHTS
from transformer.inference.translator import load_unchanged
from transformer.measures import MEASURES
from transformer.text import CorpusError
from transformer.text.files import write_json

FORMAT = 1
ABOUT = "about.json"
MAX_BYTES = 2**31
"""Maximum size of the weights before compression: 2 GB."""
MAX_PAGE_BYTES = 2**27
"""Maximum size of the weights of a dataset that a page offers for download: 134 MB."""
PREVIEW_SENTENCES = 5
"""Number of sentences in the page's preview."""
TRACING_SHARE = 0.9
"""Share of the time for tracing; the rest is for compressing the weights."""


def write_dataset(
    translator: Translator,
    corpus: Corpus,
    out: str | os.PathLike[str],
    *,
    heads: Iterable[Head] = (),
    options: Mapping[str, Any] | None = None,
    progress: Progress = no_progress,
    max_bytes: int = MAX_BYTES,
) -> None:
    """Trace each sentence as `translator.trace(source, target or None, **options)` does.

    A sentence with a target is traced with that target; all others are translated. `out` is
    complete or does not exist: cancelling or an error leaves nothing there, and a killed process
    leaves at most a hidden folder next to it.

    Args:
        out: a folder, or a file "….zip" with the same files in it; it must not exist yet.
        heads: (kind, layer, head) of the heads whose weights are written; measures cover all heads.
        options: of decoding, as in `Decoding`.
        max_bytes: maximum size of the weights before compression.

    Raises:
        ValueError: for invalid options or heads, weights beyond `max_bytes`, or (a `CorpusError`,
            with its line) a sentence that is too long.
        FileExistsError: if `out` exists.
    """
    target, options = Path(out), dict(options or {})
    selected_heads = check_heads(translator.model.config, heads)
    if target.exists() or target.is_symlink():
        raise FileExistsError(f"{target} exists already; choose another name, or remove it")
    about = _about(translator, corpus, selected_heads, _decoding(corpus, options))
    _check_sentences(translator, corpus)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as work_folder:
        folder = Path(work_folder) / "dataset"
        folder.mkdir()
        write_json(folder / ABOUT, about, indent=2)
        with (
            WeightsWriter(Path(work_folder), selected_heads, max_bytes) as weights,
            Tables(folder) as tables,
        ):
            _trace(translator, corpus, options, (tables, weights), progress)
            weights.finish(folder, scaled_progress(progress, TRACING_SHARE, 1 - TRACING_SHARE))
        if target.suffix == ".zip":
            folder = _zip_folder(folder, Path(work_folder) / "dataset.zip")
        os.rename(folder, target)
    progress(1.0, "written")


def _decoding(corpus: Corpus, options: dict[str, Any]) -> Decoding:
    """Validate the options. Raises ValueError for search options if targets are scored."""
    decoding = Decoding.of(options)
    search_options = [name for name in options if name != "candidates"]
    if search_options and any(sentence.target for sentence in corpus.sentences):
        raise ValueError(
            f"{corpus.name} has targets, which are scored without a search: omit "
            f"{search_options[0]}"
        )
    return decoding


def _check_sentences(translator: Translator, corpus: Corpus) -> None:
    """Raise CorpusError, with the line, for a sentence that cannot be traced, before any work is
    done."""
    for number, sentence in enumerate(corpus.sentences, start=1):
        check_cancelled()
        try:
            translator.check(sentence.source, sentence.target or None)
        except ValueError as error:
            raise CorpusError(f"{corpus.name}, line {number}: {error}") from error


def _trace(
    translator: Translator,
    corpus: Corpus,
    options: dict[str, Any],
    writers: tuple[Tables, WeightsWriter],
    progress: Progress,
) -> None:
    """Trace all sentences one by one, so that no result depends on padding or other sentences."""
    n_layers = translator.model.config.n_layers
    sites = [name.format(layer) for name in WEIGHTS.values() for layer in range(n_layers)]
    tables, weights = writers
    for number, sentence in enumerate(corpus.sentences):
        check_cancelled()
        progress(TRACING_SHARE * number / len(corpus), "tracing")
        trace = translator.trace(sentence.source, sentence.target or None, names=sites, **options)
        tables.add(number, trace)
        weights.add(trace)


def _about(
    translator: Translator, corpus: Corpus, heads: list[Head], decoding: Decoding
) -> dict[str, Any]:
    """Return the content of about.json: how the dataset was made, and what its columns mean."""
    folder = translator.folder
    return {
        "format": FORMAT,
        "checkpoint": None if folder is None else folder.resolve().name,
        "checkpoint_hash": None if folder is None else checkpoint_hash(folder),
        "model": translator.model.config.to_dict(),
        "made_with": {"torch": torch.__version__, "numpy": np.__version__},
        "corpus": {"name": corpus.name, "hash": corpus.hash, "sentences": len(corpus)},
        "decoding": asdict(decoding),
        "heads": [head_code(head) for head in heads],
        "tables": {name: schema.names for name, schema in SCHEMAS.items()},
        "measures": {
            measure.name: {"label": measure.label, "unit": measure.unit, "note": measure.note}
            for measure in MEASURES.values()
        },
    }


def _zip_folder(folder: Path, file: Path) -> Path:
    """Store all files of `folder` in one zip without compressing them again."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, path.name)
    return file


def compute(request: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Write a dataset for a page, in a separate process, as a zip file at `request["file"]`.

    The result has "files", the size of each file in bytes, "bytes", the size of the zip, and
    "first", the first sentences with their translations.

    Args:
        request: "checkpoint", its folder; "hash"; "corpus", as `Corpus.to_dict`; "heads", as
            `--heads`; "options", of decoding; "file".

    Raises:
        ValueError, OSError: for a checkpoint that has changed, and as `write_dataset` does.
    """
    progress(0.0, "loading the model")
    out = Path(request["file"])
    translator = load_unchanged(request["checkpoint"], request["hash"])
    out.unlink(missing_ok=True)  # from an earlier request
    write_dataset(
        translator,
        Corpus.from_dict(request["corpus"]),
        out,
        heads=named_heads(translator.model.config, request["heads"]),
        options=request["options"],
        progress=progress,
        max_bytes=MAX_PAGE_BYTES,
    )
    with zipfile.ZipFile(out) as archive:
        files = {info.filename: info.file_size for info in archive.infolist()}
        with archive.open("translations.parquet") as table:
            translations = pd.read_parquet(table, columns=["source", "text"])
    preview = [
        [str(source), str(text)] for source, text in translations.head(PREVIEW_SENTENCES).to_numpy()
    ]
    return {"files": files, "bytes": out.stat().st_size, "first": preview}
