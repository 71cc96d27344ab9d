"""Token ids of a corpus in one file on disk, read through a memory map.

The file is an Arrow IPC file with the columns `src` and `tgt` (lists of ids). It is written in
chunks and memory-mapped, so a corpus of many million pairs needs little memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from transformer.text.files import atomic_path
from transformer.text.vocabulary import Vocabulary

Ids = npt.NDArray[Any]  # uint16 or int32
Lengths = npt.NDArray[np.int32]

_KIND = b"transformer token store 1"


class TokenStore:
    """The encoded pairs of a corpus; created by `build`, reopened by `open`."""

    def __init__(self, path: Path, batches: list[pa.RecordBatch], max_len: int, n_dropped: int):
        self.path = path
        self.max_len = max_len
        self.n_dropped = n_dropped
        self._src = [_views(batch.column("src")) for batch in batches]
        self._tgt = [_views(batch.column("tgt")) for batch in batches]
        # The number of pairs before each chunk, and the total.
        self._starts = np.cumsum([0] + [batch.num_rows for batch in batches])
        self.src_lengths = _lengths(self._src)
        self.tgt_lengths = _lengths(self._tgt)

    @classmethod
    def build(
        cls,
        path: str | os.PathLike[str],
        pairs: Iterable[tuple[str, str]],
        vocabulary: Vocabulary,
        *,
        max_len: int = 128,
        chunk: int = 20_000,
        progress: Callable[[int], None] | None = None,
    ) -> TokenStore:
        """Encode a stream of pairs into the file `path`, `chunk` pairs in memory at a time.

        Pairs with a side of more than `max_len` ids (including `</s>`) are dropped and counted in
        `n_dropped`. `progress` is called with the number of pairs read so far. The file appears
        only when it is complete. Raises ValueError if no pair remains or more than half of the
        tokens are unknown to the vocabulary, and any error of `pairs`.
        """
        ids_type = pa.uint16() if len(vocabulary) <= 1 << 16 else pa.int32()
        fields = [(side, pa.list_(pa.field("id", ids_type, False))) for side in ("src", "tgt")]
        metadata = {
            b"kind": _KIND,
            b"vocabulary_sha256": vocabulary.sha256.encode(),
            b"max_len": str(max_len).encode(),
        }
        schema = pa.schema(fields, metadata=metadata)
        n_read = n_kept = n_tokens = n_unknown = 0
        with atomic_path(path) as temporary:
            with pa.OSFile(str(temporary), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
                for batch, n_in in _encoded(pairs, vocabulary, schema, max_len, chunk):
                    n_read += n_in
                    n_kept += batch.num_rows
                    for column in batch.columns:
                        ids = np.from_dlpack(column.values)
                        n_tokens += len(ids) - batch.num_rows  # without `</s>`
                        n_unknown += int(np.count_nonzero(ids == vocabulary.unk_id))
                    # Arrow writes the schema first, before the number of dropped pairs is known; so
                    # each chunk stores the count up to itself, and the last one the total.
                    counts = {b"n_dropped": str(n_read - n_kept).encode()}
                    writer.write_batch(batch, custom_metadata=counts)
                    if progress is not None:
                        progress(n_read)
            if n_kept == 0:
                raise ValueError(
                    f"No pair to store: of {n_read} pairs, 0 have both sides within "
                    f"max_len={max_len} ids; give more text or a larger limit "
                    "(--max-pieces on the command line)."
                )
            if 2 * n_unknown > n_tokens:
                raise ValueError(
                    f"{n_unknown:,} of {n_tokens:,} tokens are unknown to the vocabulary; use one "
                    "that was learned from such texts (--vocab-size on the command line)."
                )
        return cls.open(path, vocabulary)

    @classmethod
    def open(cls, path: str | os.PathLike[str], vocabulary: Vocabulary) -> TokenStore:
        """Map a store that `build` wrote with the same vocabulary. Raises FileNotFoundError, or
        ValueError if the file is not a complete store or was built with another vocabulary."""
        if not Path(path).is_file():
            raise FileNotFoundError(f"There is no token store at {path}.")
        try:
            reader = pa.ipc.open_file(pa.memory_map(str(path)))
            metadata = reader.schema.metadata or {}
            if metadata.get(b"kind") != _KIND:
                raise pa.ArrowInvalid("another kind of Arrow file")
            numbers = range(reader.num_record_batches)
            batches = [reader.get_batch_with_custom_metadata(number) for number in numbers]
        except (pa.ArrowInvalid, OSError) as error:
            raise ValueError(
                f"{path} is not a complete token store ({str(error).splitlines()[0]}); build "
                "it again."
            ) from error
        store_vocabulary = metadata[b"vocabulary_sha256"].decode()
        if store_vocabulary != vocabulary.sha256:
            raise ValueError(
                f"{path} was built with the vocabulary {store_vocabulary[:12]}, this one is "
                f"{vocabulary.sha256[:12]}; build the store again with this vocabulary."
            )
        n_dropped = int(batches[-1].custom_metadata[b"n_dropped"])
        max_len = int(metadata[b"max_len"])
        return cls(Path(path), [item.batch for item in batches], max_len, n_dropped)

    def __len__(self) -> int:
        return int(self._starts[-1])

    def pair(self, index: int) -> tuple[Ids, Ids]:
        """Return source and target ids of pair `index`, both ending in `</s>`: read-only views of
        the file (uint16, or int32 for a vocabulary of more than 65,536). Raises IndexError."""
        if not 0 <= index < len(self):
            raise IndexError(f"There is no pair {index}; the store has 0 to {len(self) - 1}.")
        chunk = int(np.searchsorted(self._starts, index, side="right")) - 1
        row = index - int(self._starts[chunk])
        (src_offsets, src), (tgt_offsets, tgt) = self._src[chunk], self._tgt[chunk]
        return (
            src[src_offsets[row] : src_offsets[row + 1]],
            tgt[tgt_offsets[row] : tgt_offsets[row + 1]],
        )


def _encoded(
    pairs: Iterable[tuple[str, str]],
    vocabulary: Vocabulary,
    schema: pa.Schema,
    max_len: int,
    chunk: int,
) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Yield record batches of up to `chunk` pairs, each with the number of pairs read for it."""
    stream = iter(pairs)
    while rows := list(islice(stream, chunk)):
        sources = vocabulary.encode_batch([source for source, _ in rows])
        targets = vocabulary.encode_batch([target for _, target in rows], target=True)
        selected = [
            (source, target)
            for source, target in zip(sources, targets, strict=True)
            if len(source) <= max_len and len(target) <= max_len
        ]
        columns = [
            _list_array([pair[side] for pair in selected], schema.field(side).type)
            for side in (0, 1)
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=schema), len(rows)


def _list_array(rows: list[list[int]], kind: pa.ListType) -> pa.ListArray:
    offsets = np.zeros(len(rows) + 1, dtype=np.int32)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    flat = np.fromiter(
        chain.from_iterable(rows), dtype=kind.value_type.to_pandas_dtype(), count=int(offsets[-1])
    )
    # `pa.array`, like `to_numpy`, would import pandas into each process that trains.
    values = pa.Array.from_buffers(kind.value_type, len(flat), [None, pa.py_buffer(flat)])
    buffers = [None, pa.py_buffer(offsets)]
    return pa.Array.from_buffers(kind, len(rows), buffers, children=[values])


def _views(column: pa.ListArray) -> tuple[Lengths, Ids]:
    """Return the offsets and ids of a column as views of the file."""
    offsets: Any = np.from_dlpack(column.offsets)
    return offsets, np.from_dlpack(column.values)


def _lengths(columns: list[tuple[Lengths, Ids]]) -> Lengths:
    return np.concatenate([np.diff(offsets) for offsets, _ in columns])
