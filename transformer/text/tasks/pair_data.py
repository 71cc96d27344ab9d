"""A task's examples as data for training in the page, for a task that the page cannot generate."""

from __future__ import annotations

import json
from typing import Any

from transformer.text.tasks.task import Task, split

N_TRAIN, N_VALID, SEED = 12_000, 500, 1


def pair_data(task: Task) -> dict[str, Any]:
    """Return `PairData` of `figures/browser/training/protocol.d.ts`: symbols, training pairs as
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
    return f"export const PAIR_DATA = {data};\n"
