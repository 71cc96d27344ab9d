"""A race that came with the app: written by running it, and read for the layers of today alone."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pandas as pd
import pytest

from transformer.jobs.race_runs import COLUMNS
from transformer.jobs.races import RACES
from transformer.jobs.shipped_race import MAX_BYTES, read, write

SHIPPED = Path(__file__).resolve().parents[2] / "checkpoints"
TABLE = pd.DataFrame(
    [
        ("a", 1, 500, 3, 1.0, math.inf, 0.125, 100, 8),
        ("a", 1, 500, 6, 0.5, math.inf, 0.125, 100, 8),
        ("b", 1, 500, 3, 0.25, 4.0, 0.125, 101, 9),
    ],
    columns=list(COLUMNS),
)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    write(tmp_path, "layers", TABLE)
    found = read(tmp_path, "layers", ["b", "a"])
    assert found is not None
    pd.testing.assert_frame_equal(found.table, TABLE, check_dtype=False)


def test_a_race_of_other_layers_is_none(tmp_path: Path) -> None:
    path = write(tmp_path, "layers", TABLE)
    assert read(tmp_path, "layers", ["a"]) is None
    assert read(tmp_path, "layers", ["a", "b", "c"]) is None
    assert read(tmp_path, "heads", ["a", "b"]) is None
    found = json.loads(path.read_text())
    found["lines"][0]["accuracy"] = None
    path.write_text(json.dumps(found))
    assert read(tmp_path, "layers", ["a", "b"]) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"lines": 3, "when": 1}', " " * (MAX_BYTES + 1)])
def test_any_other_file_is_none(tmp_path: Path, text: str) -> None:
    write(tmp_path, "layers", TABLE).write_text(text)
    assert read(tmp_path, "layers", ["a", "b"]) is None


def test_the_one_that_ships_is_of_the_layers_of_today() -> None:
    """Else: `python docs/shipped_runs.py --race layers`."""
    found = read(SHIPPED, "layers", RACES["layers"].entries)
    assert found is not None
    assert found.table["accuracy"].between(0, 1).all()
