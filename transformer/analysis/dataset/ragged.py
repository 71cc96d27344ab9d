"""Weights of some heads over sentences of different lengths, in one npz without padding.

weights.npz holds, for each head, its weights over all sentences end to end as one flat float32
array, called as `--heads` writes it ("c5.0": cross attention, layer 5, head 0); and for each kind
of attention among them "KIND.offsets" (sentences + 1) and "KIND.shapes" (sentences, 2). Sentence i
of "c5.0" is `flat[offsets[i]:offsets[i + 1]].reshape(shapes[i])`, (query, key), rows sum to 1.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from transformer.analysis.corpora.passes import Progress, silent
from transformer.analysis.interventions.switching import Head
from transformer.cancellation import check_cancelled
from transformer.figures.switchboard import LETTERS
from transformer.inference import Trace

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
