"""An update of Adam in numbers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.explorer_file import bounding_box, open_html
from tests.figures.fake_traces import update
from transformer.figures.moments import moments_data
from transformer.figures.views import view_page


def open_update(page: Page, folder: Path, data: dict[str, Any]) -> Page:
    return open_html(page, folder, view_page("moments", moments_data(data), "Moments"))


def numbers_of_last_line(page: Page) -> list[float]:
    """Return the numbers of the equation of θ in their order."""
    text = page.locator(".hu-equation").last.evaluate(
        """(node) => {
          const read = (element) => {
            const separator = { msup: "^", mfrac: " / " }[element.localName] || "";
            if (!element.children.length) return element.textContent;
            return [...element.children].map(read).join(separator);
          };
          return read(node);
        }"""
    )
    right_side = text.replace("−", "-").split("=", 2)[2]
    matches = re.findall(
        r"-?\d+(?:\.\d+)?(?:×10\^-?\d+)?", re.sub(r"(?<=[\d)])-", "- ", right_side)
    )
    return [float(number.replace("×10^", "e")) for number in matches]


def test_the_entry_with_the_greatest_change_is_computed_first(page: Page, tmp_path: Path) -> None:
    data = update()
    open_update(page, tmp_path, data)
    step = np.array(data["step"])
    row, column = np.unravel_index(abs(step).argmax(), step.shape)
    expect(page.locator(".hu-update h4")).to_have_text(f"Row {row}, column {column}, written out")
    entry = {name: values[row][column] for name, values in data.items() if isinstance(values, list)
          and name != "shape"}  # fmt: skip
    before, alpha, m_hat, v_hat, epsilon, before_again, change, value = numbers_of_last_line(page)
    assert (before, before_again, value) == pytest.approx(
        (entry["before"],) * 2 + (entry["value"],), rel=1e-6
    )
    assert (alpha, epsilon) == (0.01, 1e-9)
    assert (m_hat, v_hat, change) == pytest.approx(
        (entry["m_hat"], entry["v_hat"], entry["step"]), rel=1e-3
    )
    assert before - alpha * m_hat / (v_hat**0.5 + epsilon) == pytest.approx(value, abs=1e-4)

    message = page.locator(".hu-update h4")
    picture = page.locator(".hu-matrix").nth(3)
    box = bounding_box(picture)
    picture.click(position={"x": box["width"] * 2.5 / 4, "y": box["height"] * 1.5 / 3})
    expect(message).to_have_text("Row 1, column 2, written out")
    page.locator(".hu-matrices").focus()
    for key, row, column in [("ArrowDown", 2, 2), ("ArrowDown", 2, 2), ("ArrowLeft", 2, 1)]:
        page.keyboard.press(key)
        expect(message).to_have_text(f"Row {row}, column {column}, written out")

    open_update(page, tmp_path, {})
    expect(page.get_by_text("No update yet")).to_be_visible()
    expect(page.locator(".hu-matrices")).to_be_hidden()
