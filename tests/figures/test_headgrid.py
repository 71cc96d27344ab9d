"""Numbers of all heads on their way to the browser."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from transformer.figures.headgrid import Grid, headgrid_data, headgrid_page

VALUES = np.array([[0.0, 1.0, math.nan], [2.0, 5.0, -1.0]])
MARKS = [["", "↔", ""], ["", "", "="]]
TOLD = [[f"head {layer}.{head}" for head in range(3)] for layer in range(2)]
GRID = Grid("cross", "Cross <b>", VALUES, MARKS, TOLD)


def test_levels_are_shares_of_the_scale_and_what_is_not_measured_has_none() -> None:
    data = headgrid_data([GRID], low=0, high=4, legend="bits", chosen=("cross", 1, 0))
    (grid,) = data["grids"]
    assert grid["levels"] == [[0.0, 0.25, None], [0.5, 1, 0]]
    assert (grid["rows"], grid["columns"]) == (["0", "1"], ["0", "1", "2"])
    assert (grid["marks"], grid["told"]) == (MARKS, TOLD)
    assert data["ticks"] == [[0.0, "0"], [1.0, "4"]]
    assert data["chosen"] == ["cross", 1, 0]
    json.dumps(data, allow_nan=False)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="it must go up"):
        headgrid_data([GRID], low=1, high=1, legend="")
    with pytest.raises(ValueError, match="marks and words for all of its heads"):
        headgrid_data([replace(GRID, marks=MARKS[:1])], low=0, high=1, legend="")


def test_a_page_holds_its_data_as_data() -> None:
    page = headgrid_page(headgrid_data([GRID], low=0, high=4, legend="</script>"), "A <title>")
    assert "A &lt;title&gt;" in page
    assert "Cross \\u003cb>" in page
    assert page.count("</script>") == 2  # its data, and what shows them
