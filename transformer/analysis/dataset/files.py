"""The files of a dataset: tables in Parquet, and weights of some heads in one npz, unpadded.

A row of `translations` is a sentence, of `steps` one output token, of `measures` one sentence ×
head. `sentence` counts from 0 in all of them, as layers, heads and steps do.

weights.npz holds, for each head, its weights over all sentences concatenated as one flat float32
array, named as in `--heads` ("c5.0": cross-attention, layer 5, head 0); and for each kind of
attention among them "KIND.offsets" (sentences + 1) and "KIND.shapes" (sentences, 2). Sentence i of
"c5.0" is `flat[offsets[i]:offsets[i + 1]].reshape(shapes[i])`, (query, key), rows sum to 1.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from transformer.analysis.corpora.passes import Progress, no_progress
from transformer.analysis.interventions.switching import Head
from transformer.cancellation import check_cancelled
from transformer.inference import Trace
from transformer.inference.trace import WEIGHTS
from transformer.measures import MEASURES, OffsetShare, measure_heads
from transformer.measures.head_codes import LETTERS

_TEXTS, _IDS, _PROBABILITIES = pa.list_(pa.string()), pa.list_(pa.int32()), pa.list_(pa.float64())
MEASURE_COLUMNS = tuple(
    name
    for measure in MEASURES.values()
    for name in (
        (measure.offset, measure.name) if isinstance(measure, OffsetShare) else (measure.name,)
    )
)
"""Columns of measures, in the order of the registry."""
SCHEMAS = {
    "translations": pa.schema(
        {
            "sentence": pa.int32(),
            "source": pa.string(),
            "text": pa.string(),
            "method": pa.string(),
            "finished": pa.bool_(),
            "log_probability": pa.float64(),
            "score": pa.float64(),
            "seed": pa.int64(),
            "src_tokens": _TEXTS,
            "src_ids": _IDS,
            "tokens": _TEXTS,
            "ids": _IDS,
        }
    ),
    "steps": pa.schema(
        {
            "sentence": pa.int32(),
            "step": pa.int32(),
            "input_token": pa.string(),
            "token": pa.string(),
            "id": pa.int32(),
            "probability": pa.float64(),
            "candidate_tokens": _TEXTS,
            "candidate_ids": _IDS,
            "candidate_probabilities": _PROBABILITIES,
        }
    ),
    "measures": pa.schema(
        {
            "sentence": pa.int32(),
            "kind": pa.string(),
            "layer": pa.int32(),
            "head": pa.int32(),
            **dict.fromkeys(MEASURE_COLUMNS, pa.float64()),
        }
    ),
}
"""Columns of each table. A measure is null where it does not apply: for another kind of attention,
or if the sentence has no such row (`measures.measure_heads`)."""
BUFFERED_ROWS = 20_000
"""Rows that are buffered before they are written."""


def table_rows(number: int, trace: Trace) -> dict[str, list[dict[str, Any]]]:
    """Return one sentence's rows of each table; `number` is the number of the sentence."""
    translation = trace.translation
    line = {name: getattr(translation, name) for name in SCHEMAS["translations"].names[1:]}
    return {
        "translations": [{"sentence": number, **line}],
        "steps": [
            {
                "sentence": number,
                "step": step.position,
                "input_token": step.input_tokens[-1],
                "token": step.chosen.token,
                "id": step.chosen.id,
                "probability": step.probability,
                "candidate_tokens": [candidate.token for candidate in step.candidates],
                "candidate_ids": [candidate.id for candidate in step.candidates],
                "candidate_probabilities": [candidate.probability for candidate in step.candidates],
            }
            for step in translation.steps
        ],
        "measures": [{"sentence": number, **measures} for measures in _measures(trace)],
    }


def _measures(trace: Trace) -> Iterator[dict[str, Any]]:
    for kind in WEIGHTS:
        for layer in range(trace.depth(kind)):
            by_measure = measure_heads(trace, kind, layer)
            for head in range(trace.n_heads):
                means = {name: float(values[head]) for name, values in by_measure.items()}
                yield {"kind": kind, "layer": layer, "head": head, **means}


class Tables:
    """Writer for the tables of one dataset, as a context manager."""

    def __init__(self, folder: Path) -> None:
        self._buffered: dict[str, list[dict[str, Any]]] = {name: [] for name in SCHEMAS}
        self._files = {
            name: pq.ParquetWriter(folder / f"{name}.parquet", schema, compression="zstd")
            for name, schema in SCHEMAS.items()
        }

    def add(self, number: int, trace: Trace) -> None:
        """Add one sentence's rows."""
        for name, rows in table_rows(number, trace).items():
            self._buffered[name] += rows
            if len(self._buffered[name]) >= BUFFERED_ROWS:
                self._write(name)

    def _write(self, name: str) -> None:
        table = pa.Table.from_pylist(self._buffered[name], schema=SCHEMAS[name])
        self._files[name].write_table(table)
        self._buffered[name].clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        try:
            for name in SCHEMAS if failed is None else ():
                self._write(name)
        finally:
            for file in self._files.values():
                file.close()


WEIGHTS_FILE = "weights.npz"
_FLOAT = np.dtype("<f4")


def head_code(head: Head) -> str:
    """Return the code of a head as in `--heads`: "c5.0"."""
    kind, layer, number = head
    return f"{LETTERS[kind]}{layer}.{number}"


class WeightsWriter:
    """Writer for the weights of some heads, as a context manager.

    Until `finish` the weights are stored on disk, in `work_folder`.
    """

    def __init__(self, work_folder: Path, heads: Sequence[Head], max_bytes: int) -> None:
        self.heads, self._max_bytes, self._bytes = tuple(heads), max_bytes, 0
        self._shapes: dict[str, list[tuple[int, int]]] = {kind: [] for kind, _, _ in heads}
        self._parts = {head: work_folder / f"{head_code(head)}.part" for head in heads}
        self._opened = ExitStack()
        self._files = {
            head: self._opened.enter_context(part.open("wb")) for head, part in self._parts.items()
        }

    def add(self, trace: Trace) -> None:
        """Add one sentence's weights.

        Raises:
            ValueError: if the weights become too large.
        """
        for kind in self._shapes:
            query, key = trace.labels(kind)
            self._shapes[kind].append((len(query), len(key)))
        for head, file in self._files.items():
            kind, layer, number = head
            weights = trace.weights(kind, layer)[number].astype(_FLOAT)
            self._bytes += weights.nbytes
            if self._bytes > self._max_bytes:
                raise ValueError(
                    f"the weights of {len(self.heads)} heads have more than {self._max_bytes:,} "
                    "bytes; choose fewer heads, or fewer sentences"
                )
            file.write(weights.tobytes())

    def finish(self, folder: Path, progress: Progress = no_progress) -> None:
        """Write weights.npz into `folder`; no file if no head was selected."""
        self._opened.close()
        if not self.heads:
            return
        arrays: dict[str, npt.NDArray[Any]] = {}
        for kind, shapes in self._shapes.items():
            sizes = np.array(shapes, dtype=np.int64)
            arrays[f"{kind}.shapes"] = sizes
            arrays[f"{kind}.offsets"] = np.concatenate([[0], np.cumsum(sizes.prod(axis=1))])
        arrays |= {
            head_code(head): np.memmap(part, _FLOAT, "r") for head, part in self._parts.items()
        }
        # The format of `np.savez_compressed`, which has no progress and cannot be cancelled.
        with zipfile.ZipFile(folder / WEIGHTS_FILE, "w", zipfile.ZIP_DEFLATED) as archive:
            for done, (name, array) in enumerate(arrays.items()):
                check_cancelled()
                progress(done / len(arrays), "packing weights")
                with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                    np.lib.format.write_array(file, array, allow_pickle=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()
