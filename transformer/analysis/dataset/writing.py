"""Every sentence of a corpus traced by itself, and written as one dataset, whole or not at all."""

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
from transformer.analysis.corpora.passes import Progress, part, silent
from transformer.analysis.dataset.files import SCHEMAS, Ragged, Tables, written
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
MOST_BYTES = 2**31
"""Of the weights before they are packed: 2 GB."""
PAGE_BYTES = 2**27
"""The same of a dataset that a page gives away: 134 MB."""
SHOWN = 5
"""Sentences that the page shows."""
TRACED = 0.9
"""Share of the time that goes by before weights are packed."""


def write_dataset(
    translator: Translator,
    corpus: Corpus,
    out: str | os.PathLike[str],
    *,
    heads: Iterable[Head] = (),
    options: Mapping[str, Any] | None = None,
    progress: Progress = silent,
    most_bytes: int = MOST_BYTES,
) -> None:
    """Trace each sentence as `translator.trace(source, target or None, **options)` does.

    A sentence that has a target is forced to it; all others are translated. What is cancelled or
    fails leaves nothing at `out`; a killed process may leave a hidden folder beside it.

    Args:
        out: a folder, or a file "….zip" with the same files in it; neither may be there yet.
        heads: (kind, layer, head), those whose weights are kept; measures are of all heads.
        options: of decoding, as `Decoding` has them.
        most_bytes: that the weights may have before they are packed.

    Raises:
        ValueError: for options or heads that do not fit, weights beyond `most_bytes`, or (a
            `CorpusError`, with its line) a sentence that is too long.
        FileExistsError: if there is something at `out`.
    """
    target, options = Path(out), dict(options or {})
    chosen = check_heads(translator.model.config, heads)
    if target.exists() or target.is_symlink():
        raise FileExistsError(f"{target} is there already; give another name, or remove it")
    about = _about(translator, corpus, chosen, _decoding(corpus, options))
    _check(translator, corpus)
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as beside:
        made = Path(beside) / "dataset"
        made.mkdir()
        write_json(made / ABOUT, about, indent=2)
        with Ragged(Path(beside), chosen, most_bytes) as weights, Tables(made) as tables:
            _trace(translator, corpus, options, (tables, weights), progress)
            weights.finish(made, part(progress, TRACED, 1 - TRACED))
        if target.suffix == ".zip":
            made = _packed(made, Path(beside) / "dataset.zip")
        os.rename(made, target)
    progress(1.0, "written")


def _decoding(corpus: Corpus, options: dict[str, Any]) -> Decoding:
    """The options, validated. Raises ValueError for those of a search where nothing is searched."""
    decoding = Decoding.of(options)
    searched = [name for name in options if name != "candidates"]
    if searched and any(sentence.target for sentence in corpus.sentences):
        raise ValueError(
            f"{corpus.name} has targets, which are scored and not searched for: leave "
            f"{searched[0]} out"
        )
    return decoding


def _check(translator: Translator, corpus: Corpus) -> None:
    """Raises CorpusError, with the line, for what cannot be traced: before any work is done."""
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
    kept: tuple[Tables, Ragged],
    progress: Progress,
) -> None:
    """All sentences, one after the other: none is padded, so none changes with its neighbours."""
    n_layers = translator.model.config.n_layers
    sites = [name.format(layer) for name in WEIGHTS.values() for layer in range(n_layers)]
    tables, weights = kept
    for number, sentence in enumerate(corpus.sentences):
        check_cancelled()
        progress(TRACED * number / len(corpus), "tracing")
        trace = translator.trace(sentence.source, sentence.target or None, names=sites, **options)
        tables.add(number, trace)
        weights.add(trace)


def _about(
    translator: Translator, corpus: Corpus, heads: list[Head], decoding: Decoding
) -> dict[str, Any]:
    """What made the dataset, and what its columns of measures are."""
    folder = translator.folder
    return {
        "format": FORMAT,
        "checkpoint": None if folder is None else folder.resolve().name,
        "checkpoint_hash": None if folder is None else checkpoint_hash(folder),
        "model": translator.model.config.to_dict(),
        "made_with": {"torch": torch.__version__, "numpy": np.__version__},
        "corpus": {"name": corpus.name, "hash": corpus.hash, "sentences": len(corpus)},
        "decoding": asdict(decoding),
        "heads": [written(head) for head in heads],
        "tables": {name: schema.names for name, schema in SCHEMAS.items()},
        "measures": {
            one.name: {"label": one.label, "unit": one.unit, "note": one.note}
            for one in MEASURES.values()
        },
    }


def _packed(folder: Path, file: Path) -> Path:
    """All files of `folder` in one zip, as they are: each is compressed already."""
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as packed:
        for path in sorted(folder.iterdir()):
            packed.write(path, path.name)
    return file


def compute(given: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """The same for a page, in a process of its own: a zip at `given["file"]`.

    "files" has the bytes of each in it, "bytes" those of all, "first" the first sentences with
    their translations.

    Args:
        given: "checkpoint", its folder; "hash"; "corpus", as `Corpus.to_dict`; "heads", as
            `--heads`; "options", of decoding; "file".

    Raises:
        ValueError, OSError: for a checkpoint that is another by now, and as `write_dataset` does.
    """
    progress(0.0, "loading the model")
    out = Path(given["file"])
    translator = load_unchanged(given["checkpoint"], given["hash"])
    out.unlink(missing_ok=True)  # of an earlier answer
    write_dataset(
        translator,
        Corpus.from_dict(given["corpus"]),
        out,
        heads=named_heads(translator.model.config, given["heads"]),
        options=given["options"],
        progress=progress,
        most_bytes=PAGE_BYTES,
    )
    with zipfile.ZipFile(out) as packed:
        files = {info.filename: info.file_size for info in packed.infolist()}
        with packed.open("translations.parquet") as table:
            said = pd.read_parquet(table, columns=["source", "text"])
    first = [[str(source), str(text)] for source, text in said.head(SHOWN).to_numpy()]
    return {"files": files, "bytes": out.stat().st_size, "first": first}
