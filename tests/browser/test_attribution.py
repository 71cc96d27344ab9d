"""Attribution in a browser: two tables of one head mark the same cell; contrast tokens."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from tests.browser.app_pages import wait_for_address
from tests.browser.conftest import NewPage
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_token_and_its_contrast_change_the_pictures(app: str, page: Page) -> None:
    short_target = {"method": "forced", "target": "Elle cache."}  # for value zeroing
    open_experiment(app, page, **short_target)
    curve = page.locator(".st-key-source-share-curve")
    curve.scroll_into_view_if_needed()
    curve.locator(".scatterlayer .trace").nth(1).locator(".point").nth(2).click(force=True)
    wait_for_address(page, "/research", **FIELDS, **short_target, step="2")
    expect(page.locator(".st-key-attribution-token")).to_be_visible()
    message = page.get_by_text("everything written to the decoder's residual stream")
    expect(message).to_contain_text("above the mean of all tokens")
    for kind in ("cross", "decoder"):
        grid = page.locator(f".st-key-adds-{kind} .js-plotly-plot")
        grid.scroll_into_view_if_needed()
        expect(grid.locator(".heatmaplayer image")).to_have_count(1)
    grid.locator(".nsewdrag").hover()
    expect(grid.locator(".hoverlayer .hovertext")).to_contain_text("adds to the logit")
    menu = page.get_by_role("combobox", name="Compare with token")
    menu.scroll_into_view_if_needed()
    menu.click()
    page.get_by_role("option").nth(1).click()
    expect(page.get_by_text(re.compile(r"The logit of .* above “"))).to_be_visible()
    expect(page.get_by_text("How reliable is this?")).to_be_visible()
    expect(page.get_by_text("To choose, the model had the whole source")).to_be_visible()
    expect(page.locator(".st-key-attribution-token .bars path").first).to_be_visible()
    expect(page).to_have_url(re.compile("against="))
    page.reload()
    expect(page.get_by_text("To choose, the model had the whole source")).to_be_visible()


def test_it_fits_a_phone(app: str, new_page: NewPage) -> None:
    page = new_page(390, "dark")
    open_experiment(app, page, measure_pair="weight-gradient")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    boxes = [
        element.bounding_box() for element in page.locator(".hu-contributions .hu-canvas").all()
    ]
    assert boxes[0]
    assert boxes[1]
    assert boxes[1]["y"] > boxes[0]["y"] + boxes[0]["height"]  # one below the other
