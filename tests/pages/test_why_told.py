"""Why self-attention: beside each picture what to see, nothing empty, and no notes of anybody's."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.pages.conftest import Visit, messages
from transformer.ui.why import PARTS

PAGE = "pages/why.py"
PICTURES = {"table": 1, "time": 1, "paths": 3, "scores": 3, "results": 1}


@pytest.mark.parametrize("part", PARTS)
def test_every_part_shows_something_and_says_what_to_see(visit: Visit, part: str) -> None:
    app = visit(PAGE, part=part)
    assert not messages(app)
    told = "\n".join(one.value for one in [*app.markdown, *app.caption, *app.info])
    assert "notes" not in told.lower()
    assert told.count("**What to see.**") == PICTURES.get(part, 0)
    assert app.get("plotly_chart") or part == "race"


def test_before_the_clock_has_run_there_is_what_table_1_foretells(visit: Visit) -> None:
    app = visit(PAGE, part="time", d="32")
    (chart,) = (json.loads(one.proto.spec) for one in app.get("plotly_chart"))
    slopes = {
        line["name"]: np.polyfit(np.log10(line["x"]), np.log10(line["y"]), 1)[0]
        for line in chart["data"]
        if line.get("mode") == "lines"
    }
    assert {name: round(float(slope), 6) for name, slope in slopes.items()} == {
        "Self-attention": 2.0,
        "Recurrent": 1.0,
        "Convolutional": 1.0,
        "Restricted self-attention": 1.0,
    }
