"""A task's examples as data for training in the page, for a task that the page cannot generate."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

from transformer.text.tasks.task import Task, split

N_TRAIN, N_VALID, SEED = 12_000, 500, 1
_MODULE = """const packed = Uint8Array.from(atob("{}"), (letter) => letter.charCodeAt(0));
const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
export const PAIR_DATA = await new Response(stream).json();
"""


def pair_data(task: Task) -> dict[str, Any]:
    """Return `PairData` of `client/training/protocol.d.ts`: symbols, training pairs as
    [source, target], and validation pairs as [source, target, gold links]."""
    train, valid = split(task, N_TRAIN, N_VALID, SEED)
    return {
        "symbols": task.symbols,
        "train": [(example.src, example.tgt) for example in train],
        "valid": [(example.src, example.tgt, example.alignment) for example in valid],
    }


def pair_module(task: Task) -> str:
    """Return the data as the JavaScript module that `training/worker.js` imports."""
    data = json.dumps(pair_data(task), ensure_ascii=False, separators=(",", ":"))
    packed = base64.b64encode(gzip.compress(data.encode(), mtime=0)).decode()
    return _MODULE.format(packed)
