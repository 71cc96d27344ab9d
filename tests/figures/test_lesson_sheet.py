"""A sheet to print: everything is in it, escaped, and it needs nobody."""

from __future__ import annotations

import re

import numpy as np
import pytest

from transformer.figures.lesson_sheet import Exercise, Picture, sheet_page, weights_drawing

WEIGHTS = np.array([[0.25, 0.75], [1.0, 0.0]])


def picture(lit: int | None = None) -> Picture:
    return Picture(WEIGHTS, ["<s>", "b&c"], ["one", "</svg>"], 'A "caption" <i>', lit)


def squares(svg: str) -> list[tuple[float, float]]:
    """Width and weight of every square."""
    found = re.findall(r'width="([\d.]+)" height="[\d.]+" fill="#\w+"><title>([\d.]+)</title>', svg)
    return [(float(width), float(weight)) for width, weight in found]


def test_the_area_of_a_square_is_its_weight() -> None:
    drawn = squares(weights_drawing(picture()))
    assert [weight for _, weight in drawn] == [0.25, 0.75, 1.0, 0.0]
    widest = max(width for width, _ in drawn)
    for width, weight in drawn:  # widths are written with one digit
        assert width == pytest.approx(widest * weight**0.5, abs=0.051)


def test_the_row_that_is_asked_about_has_a_frame_and_a_bold_word() -> None:
    assert 'stroke-width="2.5"' not in weights_drawing(picture())
    lit = weights_drawing(picture(lit=1))
    assert lit.count('stroke-width="2.5"') == 1
    assert re.search(r'font-weight="700">b&amp;c</text>', lit)


def test_what_is_foreign_is_escaped_and_nothing_is_fetched() -> None:
    one = Exercise(
        title="1. A <script>", meta="1 min", notes=["a <b> note"], question="What?",
        options=["`<s>`", "</ul>"], quote="*as* it is", picture=picture(), lines=4,
    )  # fmt: skip
    page = sheet_page("Sheet <1>", [one, one], "about & so on")
    assert page.count("<section>") == 2
    assert page.count('class="lines"') == 8
    assert page.count("<svg") == page.count("</svg>") == 2
    assert "<script" not in page
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|src=|@import|url\(", page)
    assert "break-inside: avoid" in page
    assert "@page" in page


def test_an_answer_takes_the_place_of_the_lines() -> None:
    one = Exercise(title="a", meta="", notes=[], question="?", answer="**so**")
    page = sheet_page("a", [one])
    assert '<div class="answer"><b>so</b></div>' in page
    assert 'class="lines"' not in page
