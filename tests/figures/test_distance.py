"""Accuracy against distance: means, spreads, reach and chance as they are drawn."""

from __future__ import annotations

import math

import numpy as np

from transformer.figures.distance import accuracy_by_distance

X = np.array([2.0, 4.0, 8.0])
NEAR = [(X, np.array([1.0, 0.5, 0.1])), (X, np.array([1.0, 0.7, 0.3]))]
FAR = [(X, np.array([1.0, 1.0, 1.0]))]


def test_the_mean_of_the_seeds_with_the_worst_and_the_best() -> None:
    figure = accuracy_by_distance(
        {"near <b>": NEAR, "far": FAR, "waits": []}, {"near <b>": 4, "far": math.inf}, 0.25
    )
    lines = {trace.name: trace for trace in figure.data if trace.mode == "lines+markers"}
    assert list(lines) == ["near &lt;b&gt;", "far"]
    np.testing.assert_allclose(lines["near &lt;b&gt;"].y, [1.0, 0.6, 0.2])
    assert list(lines["far"].y) == [1.0, 1.0, 1.0]
    (band,) = (trace for trace in figure.data if trace.fill == "toself")
    assert list(band.x) == [2, 4, 8, 8, 4, 2]
    assert list(band.y) == [1.0, 0.7, 0.3, 0.1, 0.5, 1.0]
    (mark,) = (trace for trace in figure.data if trace.mode == "lines+text")
    assert list(mark.x) == [4.5, 4.5]
    assert mark.text[1] == "reach 4"
    assert figure.layout.shapes[0].y0 == 0.25
    assert figure.layout.annotations[0].text == "chance 25.0%"
    assert list(figure.layout.xaxis.tickvals) == [2, 4, 8]


def test_an_entry_keeps_its_colour_before_others_have_begun() -> None:
    alone = accuracy_by_distance({"near": [], "far": FAR}, {}, 0.25)
    both = accuracy_by_distance({"near": NEAR, "far": FAR}, {}, 0.25)
    first = next(t for t in alone.data if t.name == "far" and t.mode == "lines+markers")
    later = next(t for t in both.data if t.name == "far" and t.mode == "lines+markers")
    assert (first.line.color, first.line.dash) == (later.line.color, later.line.dash)


def test_nothing_to_draw_says_so() -> None:
    figure = accuracy_by_distance({"near": []}, {}, 0.25)
    assert "Nothing to draw yet" in [note.text for note in figure.layout.annotations]
