"""Links between two sentences, the two rows of a word, and how far away a head looks."""

from __future__ import annotations

import numpy as np
import pytest

from transformer.figures.alignment import alignment, two_rows
from transformer.figures.offsets import named, offsets

SOURCE, TARGET = ("the", "the", "<b>"), ("le", "extraordinairement")
SCORES = np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])
FOUND = {(0, 0), (2, 1)}


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
