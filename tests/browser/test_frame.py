"""The frame of every page: navigation on a phone, the larger size, keyboard."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.live_app import wait_for_script_run
from transformer.ui.base.registry import PAGES

pytestmark = pytest.mark.browser
IN_NAVIGATION = [entry.title for entry in PAGES.values()]
LARGE_FONT_SIZE = "20.8px"
MENU = "[data-testid=stMainMenu], [data-testid=stMainMenuButton]"


def open_page(page: Page, address: str) -> Page:
    page.goto(address)
    page.get_by_role("heading", level=1).wait_for()
    wait_for_script_run(page)
    return page


@pytest.mark.parametrize("page_path", ["", "research"])
def test_a_phone_shows_the_links_to_all_pages(app: str, new_page: NewPage, page_path: str) -> None:
    page = open_page(new_page(390), f"{app}/{page_path}")
    boxes = [
        page.locator(".st-key-navigation-bar")
        .get_by_role("link", name=name, exact=True)
        .bounding_box()
        for name in IN_NAVIGATION
    ]
    menu = page.locator(MENU).first.bounding_box()
    assert menu
    for name, box in zip(IN_NAVIGATION, boxes, strict=True):
        assert box, name
        assert 0 <= box["x"] <= 390 - box["width"], name
        is_uncovered = (
            box["x"] + box["width"] <= menu["x"] or box["y"] >= menu["y"] + menu["height"]
        )
        assert is_uncovered, f"Streamlit's menu covers {name}"
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.slow
def test_the_larger_size_is_kept_when_an_address_is_opened(app: str, new_page: NewPage) -> None:
    page = open_page(new_page(1400, alone=True), f"{app}/?depth=steps")
    page.get_by_role("button", name="Larger").click()
    expect(page.locator("html")).to_have_css("font-size", LARGE_FONT_SIZE)
    wait_for_script_run(page)
    open_page(page, f"{app}/?depth=heads&layer=1&head=1")
    expect(page.locator("html")).to_have_css("font-size", LARGE_FONT_SIZE)
    page.get_by_role("button", name="Larger").click()
    expect(page.locator("html")).to_have_css("font-size", "16px")
    wait_for_script_run(page)
    open_page(page, f"{app}/?depth=steps")
    expect(page.locator("html")).to_have_css("font-size", "16px")


def test_the_larger_size_does_not_cut_the_models_name(bundled_app: str, new_page: NewPage) -> None:
    page = open_page(new_page(1400, alone=True), f"{bundled_app}/?depth=steps&model=en-fr")
    page.get_by_role("button", name="Larger").click()
    expect(page.locator("html")).to_have_css("font-size", LARGE_FONT_SIZE)
    wait_for_script_run(page)
    name = page.locator(".st-key-navigation-bar .stSelectbox input")
    expect(name).to_have_value(re.compile("en-fr"))
    assert name.evaluate("(node) => node.scrollWidth <= node.clientWidth")


def test_a_wide_screen_is_used(app: str, new_page: NewPage) -> None:
    page = open_page(new_page(1920), f"{app}/?depth=heads")
    width = page.locator(".stMainBlockContainer").evaluate("(node) => node.clientWidth")
    assert width >= 0.85 * 1920


def test_the_skip_link_skips_the_navigation(app: str, page: Page) -> None:
    open_page(page, f"{app}/glossary")
    page.get_by_role("button", name="Share").wait_for()  # its script moves the focus when it loads
    page.keyboard.press("Tab")
    skip_link = page.get_by_test_id("stSkipToContent")
    expect(skip_link).to_be_focused()
    expect(skip_link).to_have_css("background-color", "rgb(0, 101, 158)")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    page.keyboard.press("Tab")
    assert page.evaluate("!document.activeElement.closest('.st-key-navigation-bar')")


def test_a_page_opened_by_its_address_has_no_failed_requests(app: str, new_page: NewPage) -> None:
    page = new_page()
    failed_urls: list[str] = []
    page.on(
        "response",
        lambda response: failed_urls.append(response.url) if response.status >= 400 else None,
    )
    open_page(page, f"{app}/?depth=heads")
    assert not failed_urls
