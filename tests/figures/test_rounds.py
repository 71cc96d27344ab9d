"""The table of votes in two rounds and the line of their difference."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from transformer.figures.rounds import difference_line, difference_text, rounds_table


def test_the_table_has_the_votes_and_their_shares() -> None:
    html = rounds_table(["<b>A</b> & co", "B"], [("Before", [6, 2]), ("After", [1, 3])], 1)
    table = ElementTree.fromstring(html)
    heads = ["".join(head.itertext()) for head in table.iter("th")]
    assert heads == ["Option", "Before 8 answers", "After 4 answers", "<b>A</b> & co", "B correct"]
    cells = ["".join(cell.itertext()).strip() for cell in table.iter("td")]
    assert cells == ["6 · 75%", "1 · 25%", "2 · 25%", "3 · 75%"]
    widths = [float(width) for width in re.findall(r"width:([\d.]+)%", html)]
    assert widths == [75, 25, 25, 75]
    assert [cell.get("data-round") for cell in table.iter("td")][:2] == ["Before (8)", "After (4)"]


def test_the_line_runs_from_minus_to_plus_100_points() -> None:
    line = ElementTree.fromstring(difference_line((-0.27, 0.5, 0.91)))
    zero, bar, dot = (mark.get("style") for mark in line.iter("i"))
    assert zero == "left:50%"
    assert bar == "left:36.50%;right:calc(100% - 95.50%)"
    assert dot == "left:75.00%"
    text = "+50 percentage points (95% interval −27 to +91)"
    assert difference_text((-0.27, 0.5, 0.91)) == text
    assert next(line.iter("div")).find("div").get("aria-label") == text  # type: ignore[union-attr]
