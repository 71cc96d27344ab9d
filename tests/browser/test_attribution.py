"""Attribution in a browser: two tables of one head mark the same cell; contrast tokens."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.app_pages import wait_for_address
from tests.browser.explorer_file import bounding_box
from tests.live_app import wait_for_script_run
from transformer import Translator
from transformer.analysis.attribution.norms import contributions

pytestmark = pytest.mark.browser

TEXT = "She hides books."
FIELDS = {
    "experiment": "attribution",
    "text": TEXT,
    "kind": "encoder",
    "layer": "1",
    "head": "2",
    "exact": "1",
}


def open_experiment(app: str, page: Page, **fields: str) -> None:
    page.goto(f"{app}/research?" + "&".join(f"{k}={v}" for k, v in {**FIELDS, **fields}.items()))
    expect(page.locator(".hu-contributions .hu-canvas")).to_have_count(2)
    wait_for_script_run(page)


def test_a_cell_shows_all_its_numbers_and_opens_step_by_step(
    app: str, page: Page, checkpoints: Path
) -> None:
    open_experiment(app, page)
    caption = page.locator(".hu-contribution-cell")
    expect(caption).to_contain_text("Hover over a cell")
    before = [
        element.screenshot() for element in page.locator(".hu-contributions .hu-canvas").all()
    ]
    left = page.locator(".hu-contributions .hu-canvas").first
    box = bounding_box(left)
    left.hover(position={"x": box["width"] * 0.6, "y": box["height"] * 0.6})
    for name in ("weight", "norm", "gradient", "gradient × weight"):
        expect(caption).to_contain_text(name)
        expect(page.locator(".hu-tip:visible")).to_contain_text(name)
    # Both tables frame the cell.
    assert all(
        element.screenshot() != screenshot
        for element, screenshot in zip(
            page.locator(".hu-contributions .hu-canvas").all(), before, strict=True
        )
    )
    right = page.locator(".hu-contributions .hu-canvas").nth(1)
    right.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    wait_for_address(page, "/research", **FIELDS, row="1", column="1")
    translator = Translator.load(checkpoints / "tiny", device="cpu")
    trace = translator.trace(TEXT)
    expected = [
        trace.weights("encoder", 1)[2, 1, 1],
        contributions(translator.model, trace, "encoder", 1)[2, 1, 1],
    ]
    page.mouse.move(1, 1)
    numbers = caption.locator(".hu-fact strong").all_inner_texts()[:2]
    np.testing.assert_allclose([float(number) for number in numbers], expected, rtol=0.01)
    page.keyboard.press("Escape")
    expect(caption).to_contain_text("Hover over a cell")
    wait_for_address(page, "/research", **FIELDS)

    right.focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    wait_for_address(page, "/research", **FIELDS, row="2", column="1")
    page.get_by_role("button", name="Calculate this cell step by step").click()
    expect(page.get_by_role("tab", name="Query–key")).to_have_attribute("aria-selected", "true")
    shared = {name: value for name, value in FIELDS.items() if name != "experiment"}
    wait_for_address(page, "/", depth="heads", **shared, view="query-key", row="2", column="1")
