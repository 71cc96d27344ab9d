"""Data of the paper's figures and of the tables next to them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from transformer.analysis.inside import boxes
from transformer.config import ModelConfig
from transformer.figures.box_layout import ATTENTION, STOPS, Drawing, Rectangle, figure_1, figure_2
from transformer.figures.figure1 import Button, figure_data
from transformer.figures.packing import unpack
from transformer.figures.tensors import Table, tensor_data

DRAWINGS = [figure_1(), *figure_2()]
TOLERANCE = 0.01


def touches(box: Rectangle, x: float, y: float) -> bool:
    """Return whether a point is on the edge of a box."""
    x0, top, width, height = box
    inside = (
        x0 - TOLERANCE <= x <= x0 + width + TOLERANCE
        and top - TOLERANCE <= y <= top + height + TOLERANCE
    )
    on_side = min(abs(x - x0), abs(x - x0 - width)) < TOLERANCE
    return inside and (on_side or min(abs(y - top), abs(y - top - height)) < TOLERANCE)


def box_at(drawing: Drawing, x: float, y: float) -> str:
    """Return the box with an edge at this point; of two boxes, the upper one if y is its bottom."""
    names = [name for name, box in drawing.boxes.items() if touches(box, x, y)]
    assert names, (x, y)
    return names[-1]


def edges(drawing: Drawing) -> set[tuple[str, str]]:
    """Return the boxes at which an arrow starts and ends; an arrow that continues another is
    joined with it."""
    ends = {point for path in drawing.arrows for point in (path[0], path[-1])}
    loose_ends = {
        point for point in ends if not any(touches(b, *point) for b in drawing.boxes.values())
    }
    stems = {path[-1]: path[0] for path in drawing.arrows if path[-1] in loose_ends}
    return {
        (box_at(drawing, *stems.get(path[0], path[0])), box_at(drawing, *path[-1]))
        for path in drawing.arrows
        if path[-1] not in loose_ends
    }


@pytest.mark.parametrize("drawing", DRAWINGS)
def test_boxes_are_disjoint_and_within_the_drawing(drawing: Drawing) -> None:
    width, height = drawing.size
    for x0, top, box_width, box_height in drawing.boxes.values():
        assert 0 <= x0 < x0 + box_width <= width
        assert 0 <= top < top + box_height <= height
    for (a, first), (b, second) in itertools.combinations(drawing.boxes.items(), 2):
        disjoint_in_x = first[0] + first[2] <= second[0] or second[0] + second[2] <= first[0]
        above = (
            first[1] + first[3] <= second[1] + TOLERANCE
            or second[1] + second[3] <= first[1] + TOLERANCE
        )
        assert disjoint_in_x or above, (a, b)


def test_the_order_of_boxes_is_that_of_the_computation() -> None:
    """Compare one layer with the names of `analysis.inside`."""
    computed_boxes = boxes(ModelConfig.preset("tiny", vocab_size=320, n_layers=1))
    assert tuple(box.stop for box in computed_boxes) == STOPS


def test_every_stop_is_a_box_or_inside_one() -> None:
    figure_boxes = figure_1().boxes
    inner = {stop for stop in STOPS if stop not in figure_boxes}
    blocks = ("encoder.self_attn", "decoder.self_attn", "decoder.cross_attn")
    assert inner == {f"{block}.{step}" for block in blocks for step in ATTENTION}
    assert figure_boxes.keys() == {stop for stop in STOPS if stop in figure_boxes} | set(blocks)
    assert all(set(drawing.boxes) == set(ATTENTION) for drawing in figure_2())


def test_the_arrows_of_figure_1_are_those_of_the_paper() -> None:
    """Upwards within stacks, and from the encoder's output to the decoder."""
    expected = {("encoder.memory", "decoder.cross_attn")}
    for stack, blocks in (
        ("encoder", ["self_attn", "ffn"]),
        ("decoder", ["self_attn", "cross_attn", "ffn"]),
    ):
        expected |= {
            (f"{stack}.embed.tokens", f"{stack}.embed.sum"),
            (f"{stack}.embed.positions", f"{stack}.embed.sum"),
        }
        previous_box = f"{stack}.embed.sum"
        for block in blocks:
            first = f"{stack}.ffn.hidden" if block == "ffn" else f"{stack}.{block}"
            last = f"{stack}.ffn.output" if block == "ffn" else f"{stack}.{block}"
            expected |= {(previous_box, first), (last, f"{stack}.{block}.add")}
            previous_box = f"{stack}.{block}.norm"
    expected |= {
        ("encoder.ffn.norm", "encoder.memory"),
        ("decoder.ffn.norm", "output.logits"),
        ("output.logits", "output.softmax"),
        ("output.softmax", "output.choice"),
    }
    assert edges(figure_1()) == expected


def test_a_residual_goes_around_each_sublayer_into_its_sum() -> None:
    drawing = figure_1()
    ends = sorted(box_at(drawing, *path[-1]) for path in drawing.residuals)
    assert ends == sorted(name for name in drawing.boxes if name.endswith(".add"))
    for path in drawing.residuals:
        block = box_at(drawing, *path[-1]).removesuffix(".add")
        part = block if block in drawing.boxes else f"{block}.hidden"
        _, top, _, height = drawing.boxes[part]
        assert path[0][1] > top + height  # the residual branches off below the sublayer
        x0, _, width, _ = drawing.boxes[part]
        assert path[0][0] == x0 + width / 2


@pytest.mark.parametrize("drawing", figure_2())
def test_figure_2_is_equation_1_within_many_heads(drawing: Drawing) -> None:
    assert edges(drawing) == {
        ("query", "scores"),
        ("key", "scores"),
        ("scores", "scale"),
        ("scale", "mask"),
        ("mask", "softmax"),
        ("softmax", "heads"),
        ("value", "heads"),
        ("heads", "concat"),
        ("concat", "output"),
    }


def test_buttons_are_packed_with_positions_and_thumbnails() -> None:
    picture = np.eye(3)
    buttons = [
        Button("query", "Q", "attention", "3 × 4", picture, signed=False),
        Button("mask", "<b>Mask</b>", "attention"),
    ]
    header, parts = unpack(figure_data(figure_2(), buttons, "mask", caption="Figure 2"))
    assert [box["id"] for box in header["boxes"]] == ["query", "mask"]
    assert header["boxes"][1]["label"] == "<b>Mask</b>"
    assert header["opened"] == "mask"
    assert header["drawings"][0]["boxes"]["query"] == list(figure_2()[0].boxes["query"])
    assert list(parts) == ["query"]
    assert parts["query"].array.tolist() == (255 * np.eye(3)).tolist()
    with pytest.raises(ValueError, match=r"no box .nowhere."):
        figure_data(figure_2(), [Button("nowhere", "", "norm")], "", caption="")


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
