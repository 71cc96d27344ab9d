"""The frame of every page: navigation on a phone and by keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.app_pages import navigation
from tests.browser.conftest import NewPage
from tests.live_app import wait_for_script_run
from transformer.ui.base.registry import HOME, PAGES

IN_NAVIGATION = [entry.title for entry in PAGES.values()]
MENU = "[data-testid=stMainMenu], [data-testid=stMainMenuButton]"


def open_page(page: Page, address: str) -> Page:
    page.goto(address)
    page.get_by_role("heading", level=1).wait_for()
    wait_for_script_run(page)
    return page


@pytest.mark.journey
def test_all_pages_are_reached_on_a_phone_and_by_keyboard(
    app: str, new_page: NewPage, page: Page
) -> None:
    page = new_page(390)
    failed_urls: list[str] = []
    page.on(
        "response",
        lambda response: failed_urls.append(response.url) if response.status >= 400 else None,
    )
    for page_path in ("?depth=heads", "research"):
        open_page(page, f"{app}/{page_path}")
        boxes = [
            navigation(page).get_by_role("link", name=name, exact=True).bounding_box()
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
    assert not failed_urls

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

    with page.context.expect_page() as new_tab:
        navigation(page).get_by_role("link", name="Try", exact=True).click(button="middle")
    expect(new_tab.value.get_by_role("heading", level=1)).to_have_text(PAGES[HOME].heading)
