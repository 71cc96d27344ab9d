"""The toolbar, the help sheet, the keys and the table, which all views share."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.explorer_file import (
    SVG,
    TRACE,
    bounding_box,
    open_explorer,
    open_html,
    table,
)
from transformer.figures import ExplorerView, PackedTrace


def check_help_sheet(page: Page, tmp_path: Path) -> None:
    open_explorer(page, tmp_path, TRACE)
    sheet = page.get_by_role("dialog", name="Help")
    page.locator(".hu-canvas").focus()
    page.keyboard.press("?")
    expect(sheet).to_be_visible()
    for sentence in (
        "A row sums to 1",
        "a → b",
        "<s> and </s>",
        "masked",
        "next head",
        "cell by cell",
    ):
        expect(sheet).to_contain_text(sentence)
    for _ in range(5):
        page.keyboard.press("Tab")
        # The browser's own controls may get the focus, but nothing behind the sheet.
        assert page.evaluate(
            "document.activeElement === document.body || !!document.activeElement.closest('dialog')"
        )
    page.keyboard.press("h")  # behind the sheet, the key has no effect
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    expect(page.locator(".hu-canvas")).to_be_focused()
    expect(page.locator(".hu-title")).to_have_text("Layer 1, head 1")
    button = page.get_by_role("button", name="Help and keys")
    button.click()
    sheet.get_by_role("button", name="Close").click()
    expect(button).to_be_focused()
    button.click()
    page.mouse.click(5, 5)
    expect(sheet).to_be_hidden()


def check_width_of_a_phone(page: Page, tmp_path: Path) -> None:
    page.set_viewport_size({"width": 390, "height": 900})
    open_explorer(page, tmp_path, TRACE, size="large")
    table(page)
    page.get_by_role("button", name="Export").click()
    for part in (".hu-menu", ".hu-data-table"):
        box = page.locator(part).bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Help and keys").click()
    box = bounding_box(page.get_by_role("dialog"))
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    assert box["height"] <= 900
    expect(page.get_by_role("button", name="Close")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def check_keys(page: Page, tmp_path: Path) -> None:
    open_explorer(page, tmp_path, TRACE, layer=2, head=3)
    title, canvas = page.locator(".hu-title"), page.locator(".hu-canvas")
    canvas.focus()
    for key, displayed in [
        ("h", (3, 1)),
        ("H", (3, 4)),
        ("l", (1, 4)),
    ]:
        page.keyboard.press(key)
        expect(title).to_have_text("Layer {}, head {}".format(*displayed))
    kinds = page.locator(".hu-kinds [aria-pressed=true]")
    for kind in ("Encoder self-attention", "Decoder self-attention", "Cross-attention"):
        page.keyboard.press("k")
        expect(kinds).to_have_text(kind)
    tokens_button = page.get_by_role("button", name="Show tokens", exact=True)
    for value in ("false", "true"):
        page.keyboard.press("w")
        expect(tokens_button).to_have_attribute("aria-pressed", value)
        expect(title).to_have_text("Layer 1, head 4")  # tokens have other names, heads do not
    special = page.get_by_role("combobox", name="Start and end")
    for value in ("dimmed", "hidden", "shown"):
        page.keyboard.press("s")
        expect(special).to_have_value(value)
    larger = page.get_by_role("button", name="Larger")
    usual_size = page.locator(".hu-title").evaluate("(node) => getComputedStyle(node).fontSize")
    page.keyboard.press("p")
    expect(larger).to_have_attribute("aria-pressed", "true")
    large = page.locator(".hu-title").evaluate("(node) => getComputedStyle(node).fontSize")
    assert float(large[:-2]) == pytest.approx(1.35 * float(usual_size[:-2]), abs=0.01)
    larger.click()
    expect(larger).to_have_attribute("aria-pressed", "false")

    open_explorer(page, tmp_path, TRACE)
    views = page.locator(".hu-tabs [role=tab]")
    for number in (1, views.count(), 2):
        page.keyboard.press("Tab")
        page.locator(".hu-tabs [aria-selected=true]").focus()
        page.keyboard.press(str(number))
        expect(views.nth(number - 1)).to_have_attribute("aria-selected", "true")
    canvas = page.locator(".hu-canvas")
    page.locator("[data-view=heatmap]").click()
    canvas.focus()
    page.keyboard.press("1" if views.first.get_attribute("data-view") != "heatmap" else "2")
    expect(page.locator(".hu-tabs [aria-selected=true]")).to_be_focused()


def check_keys_that_have_no_effect(page: Page, tmp_path: Path) -> None:
    open_explorer(page, tmp_path, TRACE, layer=1, head=1)
    title = page.locator(".hu-title")
    page.get_by_role("combobox", name="Colour").focus()
    page.keyboard.press("h")
    expect(title).to_have_text("Layer 2, head 2")
    page.locator(".hu-canvas").focus()
    for key in ("Control+h", "Alt+l", "Meta+k", "x", "0", "9"):
        page.keyboard.press(key)
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("h")
    page.locator(".hu-canvas").focus()
    page.keyboard.press("ArrowDown")
    expect(title).to_have_text("Layer 2, head 2")
    expect(page.locator(".hu-kinds [aria-pressed=true]")).to_have_text("Cross-attention")


def check_notebook_frame(page: Page, tmp_path: Path) -> None:
    state = {"view": "heatmap", "layer": 1, "head": 2, "more": 1}
    explorer = ExplorerView([PackedTrace(TRACE)], state)
    open_html(page, tmp_path, f"<p>{explorer._repr_html_()}</p>")
    notebook_frame = page.frame_locator("iframe")
    expect(notebook_frame.locator(".hu-title")).to_have_text("Layer 2, head 3")
    notebook_frame.locator(".hu-canvas").focus()
    page.keyboard.press("h")
    expect(notebook_frame.locator(".hu-title")).to_have_text("Layer 2, head 4")
    notebook_frame.get_by_role("button", name="Export").click()
    with page.expect_download() as exported:
        notebook_frame.get_by_role("button", name=SVG).click()
    assert exported.value.suggested_filename.endswith("-cross-L2-H4.svg")
    assert page.evaluate("document.querySelector('iframe').contentDocument") is None


def test_help_keys_and_exports_work_in_a_file_and_a_notebook(page: Page, tmp_path: Path) -> None:
    check_help_sheet(page, tmp_path)
    check_keys_that_have_no_effect(page, tmp_path)
    check_keys(page, tmp_path)
    check_notebook_frame(page, tmp_path)
    check_width_of_a_phone(page, tmp_path)
