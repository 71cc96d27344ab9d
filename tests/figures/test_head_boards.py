"""A number or a switch for every head: grids of which a cell is chosen, and boards."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from tests.figures.made import HOSTILE, made
from transformer.figures import ExplorerData
from transformer.figures.before_after import LEAST, effects, pairs
from transformer.figures.headgrid import Grid, headgrid_data, headgrid_page
from transformer.figures.packing import unpack, weights_of
from transformer.figures.switchboard import heads_of, switchboard_data

LABELS = {"encoder": "Encoder", "decoder": "Decoder, masked", "cross": "Encoder–decoder"}
VALUES = np.array([[0.0, 1.0, math.nan], [2.0, 5.0, -1.0]])
MARKS = [["", "↔", ""], ["", "", "="]]
TOLD = [[f"head {layer}.{head}" for head in range(3)] for layer in range(2)]
GRID = Grid("cross", "Cross <b>", VALUES, MARKS, TOLD)


def test_heads_are_read_once_each_and_a_layer_is_all_of_its_heads() -> None:
    found, missing = heads_of("e1.2,c2,c2.1,e1.2", 3, 4)
    assert found == [("encoder", 1, 2), *(("cross", 2, head) for head in range(4))]
    assert missing == []
    assert heads_of("", 3, 4) == ([], [])


def test_heads_that_are_not_there_are_named() -> None:
    assert heads_of("d3,e0.4,d2.3", 3, 4) == ([("decoder", 2, 3)], ["d3", "e0.4"])


def test_every_head_has_its_picture() -> None:
    side = ExplorerData(made(HOSTILE, ["<s>", "▁a", "▁a"]))
    header, parts = unpack(switchboard_data(side, LABELS, "c1.1"))
    assert [kind["letter"] for kind in header["kinds"]] == ["e", "d", "c"]
    assert (header["n_layers"], header["n_heads"], header["off"]) == (3, 4, "c1.1")
    assert not header["moved"]
    for kind in LABELS:
        wanted = np.stack([side.traced.weights(kind, layer) for layer in range(3)])
        np.testing.assert_allclose(weights_of(parts[f"thumbs.{kind}"]), wanted, atol=0.005)


def test_a_long_sentence_has_pictures_no_larger_than_they_are_drawn() -> None:
    side = ExplorerData(made(["▁a"] * 60, ["<s>"] * 30))
    _, parts = unpack(switchboard_data(side, LABELS, ""))
    assert parts["thumbs.encoder"].array.shape == (3, 4, 24, 24)
    greatest = max(side.traced.weights("encoder", layer).max() for layer in range(3))
    assert weights_of(parts["thumbs.encoder"]).max() == pytest.approx(greatest, abs=0.005)


def test_how_far_heads_moved_of_the_kinds_that_can_be_compared() -> None:
    side = ExplorerData(made(["a", "b"], ["<s>", "c"]))
    moved = {"decoder": np.arange(12, dtype=np.float32).reshape(3, 4) / 12}
    data = switchboard_data(side, LABELS, "", moved=moved, chosen=("decoder", 2, 1))
    header, parts = unpack(data)
    assert [kind["name"] for kind in header["kinds"]] == ["decoder"]
    assert (header["moved"], header["chosen"]) == (True, ["decoder", 2, 1])
    np.testing.assert_array_equal(parts["moved.decoder"].array, moved["decoder"])
    with pytest.raises(ValueError, match=r"decoder has numbers of shape \(4, 3\) for \(3, 4\)"):
        switchboard_data(side, LABELS, "", moved={"decoder": moved["decoder"].T})


@pytest.mark.parametrize("dark", [False, True])
def test_bars_in_pairs(dark: bool) -> None:
    before, after = np.array([0.9, 0.1, 0.5]), np.array([0.2, 0.1, 0.6])
    figure = pairs(["▁the", "▁the", "<b>"], before, after, across="p", marked=(2,), dark=dark)
    for bars, wanted in zip(figure.data, (before, after), strict=True):
        np.testing.assert_array_equal(bars.x, wanted)
        np.testing.assert_array_equal(bars.y, [0, 1, 2])  # places keep repeated tokens apart
    assert figure.layout.yaxis.ticktext[2] == "<b>&lt;b&gt;</b>"
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]  # the first token on top


def test_every_cell_is_a_point_on_its_side() -> None:
    sizes = np.array([0.5, 0.0, 0.25, 1.0])
    changes = np.array([-0.1, 0.2, 0.0, -3.0])
    told = [("<i>", "a"), ("b", "c"), ("d", "e"), ("f", "g")]
    figure = effects(sizes, changes, told, across="weight", chosen=1)
    less, more, ring = figure.data
    np.testing.assert_allclose(less.y, [0.1, 3.0])
    np.testing.assert_allclose(more.x, [LEAST, 0.25])
    np.testing.assert_allclose(more.y, [0.2, LEAST])
    assert [point[0] for point in (*less.customdata, *more.customdata)] == [0, 3, 1, 2]
    assert less.customdata[0][1] == "&lt;i&gt;"
    assert (ring.x[0], ring.y[0]) == (LEAST, 0.2)
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("log", "log")


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
