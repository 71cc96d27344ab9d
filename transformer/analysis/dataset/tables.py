"""The tables of a dataset, in Parquet: translations, their steps, and every head's measures.

A line of `translations` is a sentence, of `steps` one piece that was written, of `measures` one
sentence × head. `sentence` counts from 0 in all of them, as layers, heads and steps do.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from transformer.inference import Trace
from transformer.inference.trace import WEIGHTS
from transformer.measures import MEASURES, OffsetShare, of_trace

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
or where the sentence has no such row (`measures.of_trace`)."""
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
            found = of_trace(trace, kind, layer)
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
