"""Figures 1 and 2 of the paper: the drawing, the data of their boxes, and of the tables."""

from __future__ import annotations

import itertools
import re
from xml.etree import ElementTree

import numpy as np

from transformer.analysis.inside import boxes
from transformer.config import ModelConfig
from transformer.figures.figure1 import ATTENTION, FIGURE_1, STOPS, BoxContent, figure_data
from transformer.figures.modules import CLIENT
from transformer.figures.packing import unpack
from transformer.figures.tensors import Table, tensor_data

PHONE_WIDTH = 358
"""Width of a drawing on a phone of 390 pixels."""
MIN_TARGET = 24
"""Smallest width and height of a button in pixels (WCAG 2.2, 2.5.8)."""
Rectangle = tuple[float, float, float, float]


def drawings() -> list[ElementTree.Element]:
    script = (CLIENT / "views/inside/figure1-drawing.js").read_text(encoding="utf-8")
    return [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", script, re.DOTALL)]


def rectangles(svg: ElementTree.Element) -> dict[str, Rectangle]:
    """Return left, top, width and height of each box by its name."""
    result = {}
    for group in svg.iter("g"):
        assert group.get("data-name")
        rect = group.find("rect")
        assert rect is not None
        x, y, width, height = (float(rect.get(name, "")) for name in ("x", "y", "width", "height"))
        result[group.get("data-box", "")] = (x, y, width, height)
    return result


def test_each_drawing_has_every_box_once_apart_and_large_enough_for_a_finger() -> None:
    for svg, names in zip(drawings(), (FIGURE_1, ATTENTION), strict=True):
        drawn = rectangles(svg)
        assert sorted(drawn) == sorted(names)
        left, top, width, height = map(float, svg.get("viewBox", "").split())
        for x, y, w, h in drawn.values():
            assert left <= x < x + w <= left + width
            assert top <= y < y + h <= top + height
            assert min(w, h) * PHONE_WIDTH / width >= MIN_TARGET
        for (a, first), (b, second) in itertools.combinations(drawn.items(), 2):
            beside = first[0] + first[2] <= second[0] or second[0] + second[2] <= first[0]
            above = first[1] + first[3] <= second[1] or second[1] + second[3] <= first[1]
            assert beside or above, (a, b)


def test_figure_1_is_read_upwards() -> None:
    drawn = rectangles(drawings()[0])
    for stack in ("encoder", "decoder"):
        column = [
            name for name in FIGURE_1 if name.startswith(stack) and not name.endswith("positions")
        ]
        tops = [drawn[name][1] for name in column]
        assert tops == sorted(tops, reverse=True)


def test_the_order_of_boxes_is_that_of_the_computation() -> None:
    """Compare one layer with the names of `analysis.inside`."""
    computed_boxes = boxes(ModelConfig.preset("tiny", vocab_size=320, n_layers=1))
    assert tuple(box.stop for box in computed_boxes) == STOPS


def test_boxes_are_packed_with_hints_and_thumbnails() -> None:
    contents = [
        BoxContent("query", "3 × 4", np.eye(3), signed=False),
        BoxContent("mask", "<b>head 1</b>", location="encoder"),
    ]
    header, parts = unpack(figure_data("figure-2", contents, "mask", caption="Figure 2"))
    assert header["boxes"] == [
        {"id": "query", "hint": "3 × 4", "location": ""},
        {"id": "mask", "hint": "<b>head 1</b>", "location": "encoder"},
    ]
    assert (header["figure"], header["opened"], header["signed"]) == ("figure-2", "mask", ["mask"])
    assert list(parts) == ["query"]
    assert parts["query"].array.tolist() == (255 * np.eye(3)).tolist()


def table(**changes: object) -> Table:
    fields = {
        "id": "q",
        "title": "Queries",
        "values": np.array([[1.0, -2.0], [0.5, -np.inf]]),
        "rows": ("<s>", "▁a"),
        "columns": ("x", "y"),
        "row_axis": "token",
        "column_axis": "dimension",
        "kind": "signed",
    }
    return Table(**{**fields, **changes})  # type: ignore[arg-type]


def test_a_table_is_packed_unchanged() -> None:
    header, parts = unpack(tensor_data(table(), (1, 0), size="large"))
    np.testing.assert_array_equal(parts["values"].array, table().values.astype(np.float32))
    assert header["max_abs"] == 2.0  # of what is finite
    assert header["cell"] == {"row": 1, "column": 0, "in_this_table": True}
    assert (header["rows"], header["columns"], header["signed"]) == (
        ["<s>", "▁a"],
        ["x", "y"],
        True,
    )
    assert header["large"]
    shares, _ = unpack(tensor_data(table(values=np.full((2, 2), 0.25), kind="share", columns=())))
    assert (shares["max_abs"], shares["columns"], shares["columns_count"]) == (1.0, None, 2)
    assert shares["cell"] is None
