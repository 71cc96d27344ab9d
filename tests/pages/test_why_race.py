"""The race of layers before anybody has run one here."""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path

import pandas as pd
from streamlit.testing.v1 import AppTest

from tests.pages.conftest import Visit, messages
from transformer.jobs.race_runs import COLUMNS
from transformer.jobs.races import RACES
from transformer.jobs.shipped_race import write
from transformer.text.files import read_json, write_json

PAGE = "pages/why.py"


def texts(app: AppTest) -> str:
    found = "\n".join(box.value for box in [*app.markdown, *app.caption, *app.subheader])
    return re.sub(r"\\(.)", r"\1", found)


def test_one_that_came_with_the_app_is_shown(
    visit: Visit, checkpoints: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(checkpoints, tmp_path / "checkpoints"))
    lines = [
        (entry, 1, 500, distance, 1 / distance, math.inf, 0.125, 100, 8)
        for entry in RACES["layers"].entries
        for distance in (3, 6)
    ]
    path = write(folder, "layers", pd.DataFrame(lines, columns=list(COLUMNS)))
    write_json(path, {**read_json(path), "when": 86400 * 31})
    app = visit(PAGE, folder, part="race")
    assert not messages(app)
    told = texts(app)
    assert "A race that came with the app: 1 Feb 1970, 1 seed each, 500 steps." in told
    assert "Races so far" not in told  # nobody has run one here
    (chart,) = (json.loads(chart.proto.spec) for chart in app.get("plotly_chart"))
    names = {trace.get("name") for trace in chart["data"]}
    assert set(RACES["layers"].entries) <= names


def test_without_one_there_is_still_a_way_to_start(visit: Visit) -> None:
    app = visit(PAGE, part="race")
    assert not messages(app)
    assert "came with the app" not in texts(app)
    assert "Start the race" in [button.label for button in app.button]
