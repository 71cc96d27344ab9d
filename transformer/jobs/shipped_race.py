"""The shipped race of layers: results for users who have not run one yet.

`checkpoints/races/layers.json` is written by
`python docs/shipped_runs.py --race layers`.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from transformer.jobs.race_runs import COLUMNS
from transformer.text.files import read_json, write_json

RACES = "races"
"""Name of the folder of shipped races in a folder of checkpoints."""
MAX_BYTES = 200_000


@dataclass(frozen=True, eq=False)
class ShippedRace:
    """The result of a race.

    Attributes:
        measured_at: time of the race, in seconds since 1970.
        table: as returned by `race_runs.distance_accuracies`.
    """

    measured_at: float
    table: pd.DataFrame


def write_race(folder: Path, name: str, table: pd.DataFrame) -> Path:
    """Write a race for `read_race` and return the path."""
    lines: list[dict[str, Any]] = json.loads(table.to_json(orient="records"))  # infinite as null
    path = folder / RACES / f"{name}.json"
    write_json(path, {"when": int(time.time()), "lines": lines})
    return path


def read_race(folder: Path, name: str, entries: Collection[str]) -> ShippedRace | None:
    """Read a shipped race; None if not found or not with exactly these entries."""
    path = folder / RACES / f"{name}.json"
    try:
        if path.stat().st_size > MAX_BYTES:
            return None
        content = read_json(path)
        table = pd.DataFrame(content["lines"], columns=list(COLUMNS))
        table["reach"] = table["reach"].astype(float).fillna(math.inf)
        numbers = table.drop(columns=["entry", "reach"])
        complete = set(table["entry"]) == set(entries) and bool(numbers.notna().all().all())
        table[numbers.columns] = numbers.astype(float)
        return ShippedRace(float(content["when"]), table) if complete else None
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return None
