"""The files of a dataset: tables in Parquet, and weights of some heads in one npz, unpadded.

A line of `translations` is a sentence, of `steps` one piece that was written, of `measures` one
sentence × head. `sentence` counts from 0 in all of them, as layers, heads and steps do.

weights.npz holds, for each head, its weights over all sentences end to end as one flat float32
array, called as `--heads` writes it ("c5.0": cross attention, layer 5, head 0); and for each kind
of attention among them "KIND.offsets" (sentences + 1) and "KIND.shapes" (sentences, 2). Sentence i
of "c5.0" is `flat[offsets[i]:offsets[i + 1]].reshape(shapes[i])`, (query, key), rows sum to 1.
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

from transformer.analysis.corpora.passes import Progress, silent
from transformer.analysis.interventions.switching import Head
from transformer.cancellation import check_cancelled
from transformer.inference import Trace
from transformer.inference.trace import WEIGHTS
from transformer.measures import MEASURES, OffsetShare, measure_heads
from transformer.measures.head_codes import LETTERS

_TEXTS, _IDS, _SHARES = pa.list_(pa.string()), pa.list_(pa.int32()), pa.list_(pa.float64())
MEASURED = tuple(
    name
    for one in MEASURES.values()
    for name in ((one.offset, one.name) if isinstance(one, OffsetShare) else (one.name,))
)
"""Columns of measures, as the registry orders them."""
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
            "candidate_probabilities": _SHARES,
        }
    ),
    "measures": pa.schema(
        {
            "sentence": pa.int32(),
            "kind": pa.string(),
            "layer": pa.int32(),
            "head": pa.int32(),
            **dict.fromkeys(MEASURED, pa.float64()),
        }
    ),
}
"""Columns of each table. A measure is null where it has no meaning: of another kind of attention,
or where the sentence has no such row (`measures.measure_heads`)."""
ROWS = 20_000
"""Lines that are held before they are written."""


def lines(number: int, trace: Trace) -> dict[str, list[dict[str, Any]]]:
    """One sentence's lines of each table; `number` is the sentence's."""
    done = trace.translation
    line = {name: getattr(done, name) for name in SCHEMAS["translations"].names[1:]}
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
                "candidate_tokens": [one.token for one in step.candidates],
                "candidate_ids": [one.id for one in step.candidates],
                "candidate_probabilities": [one.probability for one in step.candidates],
            }
            for step in done.steps
        ],
        "measures": [{"sentence": number, **one} for one in _measures(trace)],
    }


def _measures(trace: Trace) -> Iterator[dict[str, Any]]:
    for kind in WEIGHTS:
        for layer in range(trace.depth(kind)):
            found = measure_heads(trace, kind, layer)
            for head in range(trace.n_heads):
                means = {name: float(values[head]) for name, values in found.items()}
                yield {"kind": kind, "layer": layer, "head": head, **means}


class Tables:
    """The tables of one dataset while they grow; to be used in a `with`."""

    def __init__(self, folder: Path) -> None:
        self._held: dict[str, list[dict[str, Any]]] = {name: [] for name in SCHEMAS}
        self._files = {
            name: pq.ParquetWriter(folder / f"{name}.parquet", schema, compression="zstd")
            for name, schema in SCHEMAS.items()
        }

    def add(self, number: int, trace: Trace) -> None:
        """One sentence's lines."""
        for name, more in lines(number, trace).items():
            self._held[name] += more
            if len(self._held[name]) >= ROWS:
                self._write(name)

    def _write(self, name: str) -> None:
        table = pa.Table.from_pylist(self._held[name], schema=SCHEMAS[name])
        self._files[name].write_table(table)
        self._held[name].clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        try:
            for name in SCHEMAS if failed is None else ():
                self._write(name)
        finally:
            for file in self._files.values():
                file.close()


FILE = "weights.npz"
_FLOAT = np.dtype("<f4")


def written(head: Head) -> str:
    """A head as `--heads` has it: "c5.0"."""
    kind, layer, number = head
    return f"{LETTERS[kind]}{layer}.{number}"


class Ragged:
    """The weights of these heads while sentences are added, kept on disk, in the folder `beside`
    until `finish`; to be used in a `with`."""

    def __init__(self, beside: Path, heads: Sequence[Head], most_bytes: int) -> None:
        self.heads, self._most, self._bytes = tuple(heads), most_bytes, 0
        self._shapes: dict[str, list[tuple[int, int]]] = {kind: [] for kind, _, _ in heads}
        self._parts = {head: beside / f"{written(head)}.part" for head in heads}
        self._opened = ExitStack()
        self._files = {
            head: self._opened.enter_context(part.open("wb")) for head, part in self._parts.items()
        }

    def add(self, trace: Trace) -> None:
        """One sentence's weights. Raises ValueError if they are too many."""
        for kind in self._shapes:
            query, key = trace.labels(kind)
            self._shapes[kind].append((len(query), len(key)))
        for head, file in self._files.items():
            kind, layer, number = head
            weights = trace.weights(kind, layer)[number].astype(_FLOAT)
            self._bytes += weights.nbytes
            if self._bytes > self._most:
                raise ValueError(
                    f"the weights of {len(self.heads)} heads have more than {self._most:,} bytes; "
                    "choose fewer heads, or fewer sentences"
                )
            file.write(weights.tobytes())

    def finish(self, folder: Path, progress: Progress = silent) -> None:
        """Write weights.npz into `folder`; no file where no head was chosen."""
        self._opened.close()
        if not self.heads:
            return
        arrays: dict[str, npt.NDArray[Any]] = {}
        for kind, shapes in self._shapes.items():
            made = np.array(shapes, dtype=np.int64)
            arrays[f"{kind}.shapes"] = made
            arrays[f"{kind}.offsets"] = np.concatenate([[0], np.cumsum(made.prod(axis=1))])
        arrays |= {
            written(head): np.memmap(part, _FLOAT, "r") for head, part in self._parts.items()
        }
        # As `np.savez_compressed` writes it, which cannot be asked how far it is, nor ended.
        with zipfile.ZipFile(folder / FILE, "w", zipfile.ZIP_DEFLATED) as packed:
            for done, (name, array) in enumerate(arrays.items()):
                check_cancelled()
                progress(done / len(arrays), "packing weights")
                with packed.open(f"{name}.npy", "w", force_zip64=True) as file:
                    np.lib.format.write_array(file, array, allow_pickle=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()
