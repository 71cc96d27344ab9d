"""What every page has: all of it larger for a projector, a link to share, and a page on paper."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from benchmarks.browser import settled
from tests.browser.conftest import NewPage

LETTERS = "(node) => parseFloat(getComputedStyle(node).fontSize)"


def opened(page: Page, address: str) -> Page:
    """With our style, in which a heading has 2.1 rem."""
    page.goto(address)
    expect(page.get_by_role("heading", level=1)).to_have_css(
        "font-size", re.compile("33.6px|28.8px")
    )
    settled(page)
    return page


def larger(page: Page, size: str = "20.8px") -> None:
    page.get_by_role("button", name="Larger").click()
    expect(page.locator("html")).to_have_css("font-size", size)
    settled(page)


@pytest.mark.parametrize("path", ["translate", "attention", "findings"])
def test_all_is_larger_over_the_whole_width_and_no_link_says_so(
    app: str, new_page: NewPage, path: str
) -> None:
    page = opened(new_page(1900, alone=True), f"{app}/{path}")
    heading, way = page.get_by_role("heading", level=1), page.locator(".st-key-way-around p").first
    before = [one.evaluate(LETTERS) for one in (heading, way)]
    narrow = page.locator(".stMainBlockContainer").evaluate("(node) => node.clientWidth")
    larger(page)
    expect(heading).to_be_visible()
    after = [one.evaluate(LETTERS) for one in (heading, way)]
    assert [a / b for a, b in zip(after, before, strict=True)] == pytest.approx([1.3, 1.3])
    wide = page.locator(".stMainBlockContainer").evaluate("(node) => node.clientWidth")
    assert wide >= narrow
    assert wide == page.evaluate("document.documentElement.clientWidth")
    assert "size" not in page.url
    page.get_by_role("link", name="Why self-attention", exact=True).click()
    page.get_by_role("heading", name="Why self-attention", level=1).wait_for()
    settled(page)
    assert page.get_by_role("heading", level=1).evaluate(LETTERS) == pytest.approx(after[0])
    assert "size" not in page.url
    larger(page, "16px")
    assert page.get_by_role("heading", level=1).evaluate(LETTERS) == pytest.approx(before[0])


def test_the_drawing_grows_with_the_page(app: str, new_page: NewPage) -> None:
    page = opened(new_page(1400, alone=True), f"{app}/attention?view=heatmap")
    cell = page.locator(".hu-canvas").first
    cell.wait_for()
    before = page.locator(".hu-title").first.evaluate(LETTERS)
    larger(page)
    expect(page.locator(".hu-explorer")).to_have_attribute("data-size", "large")
    assert page.locator(".hu-title").first.evaluate(LETTERS) == pytest.approx(1.3 * before)


def test_share_copies_the_address_and_says_what_is_in_it(app: str, new_page: NewPage) -> None:
    page = new_page(1400, alone=True)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    opened(page, f"{app}/attention?text=the baker hides books&layer=1&head=2")
    page.get_by_role("button", name="Share").click()
    said = page.locator(".hu-link-said")
    expect(said).to_contain_text("Copied a link to Attention, “the baker hides books”")
    assert page.evaluate("navigator.clipboard.readText()") == page.url
    page.keyboard.press("Escape")
    expect(said).to_be_hidden()


@pytest.mark.parametrize("older", [True, False])
def test_share_without_the_clipboard_of_a_safe_address(
    app: str, new_page: NewPage, older: bool
) -> None:
    page = new_page(390, alone=True)
    page.add_init_script("Object.defineProperty(navigator, 'clipboard', { value: undefined });")
    if not older:
        page.add_init_script("document.execCommand = () => false;")
    opened(page, f"{app}/translate")
    page.get_by_role("button", name="Share").click()
    said = page.locator(".hu-link-said")
    if older:
        expect(said).to_contain_text("Copied a link to Translate")
    else:
        expect(said.get_by_label("The link")).to_have_value(page.url)
        assert said.evaluate("() => document.activeElement !== document.body")
    box = said.bounding_box()
    assert box
    assert 0 <= box["x"] <= 390 - box["width"]


def test_on_paper_are_the_pictures_and_not_what_one_clicks(app: str, new_page: NewPage) -> None:
    page = opened(new_page(1000, alone=True), f"{app}/attention")
    page.locator(".hu-canvas").first.wait_for()
    page.emulate_media(media="print")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator(".hu-canvas").first).to_be_visible()
    for control in (".st-key-way-around", ".hu-tools", ".hu-tabs", ".stButtonGroup"):
        expect(page.locator(control).first).to_be_hidden()
