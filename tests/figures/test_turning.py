"""Clocks over words: every hand stands where sine and cosine of its place say."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from transformer.analysis.positions import sinusoidal, wavelengths
from transformer.figures.turning import LONGEST, angle, turning

WORDS = ["She", "<b>hides</b>", "the", "lamp"]


def test_hands_are_the_numbers_of_the_formula() -> None:
    rows, lengths = sinusoidal(40, 16), wavelengths(16)
    for place in range(40):
        for pair, length in enumerate(lengths):
            turned = math.radians(angle(place, float(length)))
            expected = rows[place, 2 * pair], rows[place, 2 * pair + 1]
            np.testing.assert_allclose((math.sin(turned), math.cos(turned)), expected, atol=1e-5)


def test_every_word_has_its_row_and_the_large_ones_end_at_the_last() -> None:
    made = turning(WORDS, [6.0, 60.0])
    found = [float(value) for value in re.findall(r"--end:([\d.]+)deg", made)]
    assert found[:2] == [angle(3, 6.0), angle(3, 60.0)]
    assert found[2:] == [angle(at, length) for at in range(4) for length in (6.0, 60.0)]
    assert "<b>hides</b>" not in made.replace("&lt;b&gt;hides&lt;/b&gt;", "")
    assert "&lt;b&gt;hides" in made


@pytest.mark.parametrize("count", [1, 2, 7, 30])
def test_nothing_moves_for_longer_than_it_may(count: int) -> None:
    made = turning(["a"] * count, [6.0])
    waits = [float(value) for value in re.findall(r"--wait:([\d.]+)s", made)]
    one = float(re.findall(r"--one:([\d.]+)s", made)[0])
    assert max(waits) + one <= LONGEST + 0.01 * count
    assert float(re.findall(r"--all:([\d.]+)s", made)[0]) <= LONGEST


def test_without_words_there_is_nothing_to_turn_over() -> None:
    with pytest.raises(ValueError, match="there are none"):
        turning([], [6.0])
