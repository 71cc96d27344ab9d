"""Figures of the lab: word alignment, offsets, and what a token was made of."""

from __future__ import annotations

import numpy as np
import pytest

from transformer.figures.alignment import alignment, two_rows
from transformer.figures.contributions import CellValues, answers, contributions_data, source_curve
from transformer.figures.offsets import named, offsets
from transformer.figures.packing import unpack

SOURCE, TARGET = ("the", "the", "<b>"), ("le", "extraordinairement")
SCORES = np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])
FOUND = {(0, 0), (2, 1)}
WEIGHT = CellValues("weight", "weight", "Weight", "a share", np.array([[0.25, 0.75], [1.0, 0.0]]))
SLOPE = CellValues("slope", "slope", "Slope", "nats", np.array([[0.5, -2.0], [0.0, 1.0]]), True)
LABELS = {"kind": "cross", "rows": ["<s>", "a"], "columns": ["<b>x", "</s>"]}


def lines(figure: object) -> dict[str, set[tuple[int, int]]]:
    """By name what lines go from where to where."""
    found = {}
    for trace in figure.data:  # type: ignore[attr-defined]
        if trace.mode == "lines":
            ends = [(x, y) for x, y in zip(trace.x, trace.y, strict=True) if x is not None]
            found[trace.name] = {(a[1], b[1]) for a, b in zip(ends[::2], ends[1::2], strict=True)}
            assert all(a[0] == 0 for a in ends[::2])
    return found


def test_links_are_told_apart_by_what_gold_says() -> None:
    figure = alignment(
        SOURCE, TARGET, FOUND, SCORES, sure={(0, 0), (1, 0)}, possible={(0, 0), (1, 1)}
    )
    assert lines(figure) == {
        "gold links": {(0, 0), (1, 0)},
        "possible gold links": {(1, 1)},
        "links of the head that are gold": {(0, 0)},
        "and that are not": {(2, 1)},
    }
    middles = figure.data[-1]
    assert list(middles.customdata) == [
        "the – le: 0.700; gold",
        "&lt;b&gt; – extraordinairement: 0.700; not gold",
    ]
    assert [x.strip("\N{EN SPACE}") for x in figure.data[-2].text] == ["le", "extraordinair…"]
    assert figure.data[-3].text[2].strip("\N{EN SPACE}") == "&lt;b&gt;"


def test_without_gold_all_links_are_alike() -> None:
    figure = alignment(SOURCE, TARGET, FOUND, SCORES, dark=True)
    assert lines(figure) == {"links of the head": FOUND}
    assert figure.data[-1].customdata[0] == "the – le: 0.700"


def test_a_link_to_nowhere_is_refused() -> None:
    with pytest.raises(ValueError, match="no link 3-0"):
        alignment(SOURCE, TARGET, {(3, 0)}, SCORES)


def test_each_row_has_a_bar_a_word_and_its_greatest_number() -> None:
    figure = two_rows(SOURCE, [("writes <x>", SCORES[0]), ("reads", SCORES[1])], "weight")
    assert [bar.name for bar in figure.data] == ["writes &lt;x&gt;", "reads"]
    np.testing.assert_allclose([bar.x for bar in figure.data], SCORES)
    assert [list(bar.text) for bar in figure.data] == [["0.70", "", ""], ["", "", "0.70"]]
    assert list(figure.layout.yaxis.tickvals) == [0, 1, 2]


def test_offsets_are_shares_of_the_rows() -> None:
    figure = offsets([(-16, 1), (-1, 6), (0, 3)], 16)
    (bars,) = figure.data
    np.testing.assert_allclose(bars.y, [0.1, 0.6, 0.3])
    assert [told[0] for told in bars.customdata] == ["−16 or less", "−1", "0"]
    colours = bars.marker.color
    assert colours[1] not in (colours[0], colours[2])
    assert [named(at) for at in (-2, 0, 3)] == ["−2", "0", "+3"]
    with pytest.raises(ValueError, match="no rows"):
        offsets([], 16)


def test_the_browser_gets_every_number_and_what_is_chosen() -> None:
    data = contributions_data(
        [WEIGHT, SLOPE], ("slope", "weight"), **LABELS, cell=(1, 0), writes=["a", "b"]
    )
    header, parts = unpack(data)
    assert header["shown"] == ["slope", "weight"]
    assert (header["cell"], header["writes"]) == ([1, 0], ["a", "b"])
    for quantity, told in zip((WEIGHT, SLOPE), header["quantities"], strict=True):
        np.testing.assert_array_equal(parts[quantity.name].array, quantity.values)
        assert (told["name"], told["signed"]) == (quantity.name, quantity.signed)
    assert [told["most"] for told in header["quantities"]] == [1.0, 2.0]


def test_what_does_not_fit_is_said() -> None:
    with pytest.raises(ValueError, match="no 'norm' to draw; there is weight, slope"):
        contributions_data([WEIGHT, SLOPE], ("weight", "norm"), **LABELS)
    with pytest.raises(ValueError, match=r"weight of shape \(2, 2\) does not fit 3 rows"):
        contributions_data([WEIGHT], ("weight", "weight"), **{**LABELS, "rows": ["a", "b", "c"]})


def test_a_percent_is_equally_long_in_every_panel() -> None:
    methods = {
        "One": np.array([0.9, 0.05, 0.05]),
        "Two": np.array([0.3, 0.3, 0.4]),
        "Three": np.array([0.5, -0.3, 0.2]),
    }
    figure = answers(["▁a", "<b>", "▁a"], 2, methods)
    longs, lows = [], []
    for number in ("", "2", "3"):
        axis = figure.layout[f"xaxis{number}"]
        low, high = axis.range
        longs.append((axis.domain[1] - axis.domain[0]) / (high - low))
        lows.append(low)
    np.testing.assert_allclose(longs, longs[0], rtol=1e-6)
    assert lows == [0, 0, -0.3]
    for bar, values in zip(figure.data, methods.values(), strict=True):
        np.testing.assert_array_equal(bar.x, values)
        assert list(bar.y) == [0, 1, 3]  # a gap between source and prefix
    colours = figure.data[2].marker.color
    assert len(set(colours)) == 3  # source, against, prefix
    ticks = figure.layout.yaxis.ticktext
    assert "&lt;b&gt;" in ticks[1]
    assert ticks[0] == ticks[2]


def test_the_curve_marks_the_chosen_token() -> None:
    figure = source_curve(["<s>", "b", "b"], np.array([0.5, 0.7, 0.6]), 0.75, at=1)
    level, share = figure.data
    assert list(level.y) == [0.75] * 3
    assert list(share.y) == [0.5, 0.7, 0.6]
    sizes = list(share.marker.size)
    assert sizes.index(max(sizes)) == 1
    assert list(figure.layout.xaxis.ticktext)[1:] == ["b", "b"]
