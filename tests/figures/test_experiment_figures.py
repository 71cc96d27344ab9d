"""Figures of experiments: a number or a switch for every head, word alignment, offsets, and the
input tokens behind a token."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.figures.fake_traces import GRID
from transformer.figures.alignment import alignment
from transformer.figures.headgrid import headgrid_data
from transformer.figures.offsets import offsets, signed_offset
from transformer.measures.head_codes import parse_heads


def test_parsed_heads_are_unique_and_layers_are_expanded() -> None:
    heads, missing = parse_heads("e1.2,c2,c2.1,e1.2", 3, 4)
    assert heads == [("encoder", 1, 2), *(("cross", 2, head) for head in range(4))]
    assert missing == []
    assert parse_heads("", 3, 4) == ([], [])


def test_levels_are_shares_of_the_scale_and_nan_has_none() -> None:
    data = headgrid_data([GRID], low=0, high=4, legend="bits", selected=("cross", 1, 0))
    grid = data["kinds"]["cross"]
    assert grid["levels"] == [[0.0, 0.25, None], [0.5, 1, 0]]
    assert (grid["marks"], grid["descriptions"]) == (GRID.marks, GRID.descriptions)
    assert data["ticks"] == [[0.0, "0"], [1.0, "4"]]
    assert data["selected"] == {"kind": "cross", "layer": 1, "head": 0}
    json.dumps(data, allow_nan=False)


SOURCE, TARGET = ("the", "the", "<b>"), ("le", "extraordinairement")
SCORES = np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])
PREDICTED = {(0, 0), (2, 1)}


def lines(figure: object) -> dict[str, set[tuple[int, int]]]:
    """Return the links of the drawn lines, by name."""
    links_by_name = {}
    for trace in figure.data:  # type: ignore[attr-defined]
        if trace.mode == "lines":
            ends = [(x, y) for x, y in zip(trace.x, trace.y, strict=True) if x is not None]
            links_by_name[trace.name] = {
                (a[1], b[1]) for a, b in zip(ends[::2], ends[1::2], strict=True)
            }
            assert all(a[0] == 0 for a in ends[::2])
    return links_by_name


def test_links_are_drawn_by_whether_they_are_gold() -> None:
    figure = alignment(
        SOURCE, TARGET, PREDICTED, SCORES, sure={(0, 0), (1, 0)}, possible={(0, 0), (1, 1)}
    )
    assert lines(figure) == {
        "gold links": {(0, 0), (1, 0)},
        "possible gold links": {(1, 1)},
        "links of the head, gold": {(0, 0)},
        "links of the head, not gold": {(2, 1)},
    }
    middles = figure.data[-1]
    assert list(middles.customdata) == [
        "the – le: 0.700; gold",
        "&lt;b&gt; – extraordinairement: 0.700; not gold",
    ]
    assert [x.strip("\N{EN SPACE}") for x in figure.data[-2].text] == ["le", "extraordinair…"]
    assert figure.data[-3].text[2].strip("\N{EN SPACE}") == "&lt;b&gt;"


def test_offsets_are_shares_of_the_rows() -> None:
    figure = offsets([(-16, 1), (-1, 6), (0, 3)], 16)
    (bars,) = figure.data
    np.testing.assert_allclose(bars.y, [0.1, 0.6, 0.3])
    assert [custom[0] for custom in bars.customdata] == ["−16 or less", "−1", "0"]
    colours = bars.marker.color
    assert colours[1] not in (colours[0], colours[2])
    assert [signed_offset(at) for at in (-2, 0, 3)] == ["−2", "0", "+3"]
    with pytest.raises(ValueError, match="no rows"):
        offsets([], 16)
