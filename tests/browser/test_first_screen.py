"""The first screen of a page shows what the page is about, on a laptop and on a phone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NewPage
from tests.browser.explorer_file import bounding_box
from tests.browser.test_lessons import answer_if_asked
from tests.live_app import open_expander, wait_for_script_run
from transformer.ui.widgets.lessons.course import LESSONS


@pytest.mark.journey
@pytest.mark.parametrize(("width", "height", "lowest"), [(1366, 768, 300), (390, 844, 420)])
def test_heads_lessons_and_examples_are_on_the_first_screen(
    bundled_app: str, new_page: NewPage, width: int, height: int, lowest: int
) -> None:
    page = new_page(width)
    page.set_viewport_size({"width": width, "height": height})
    is_phone = width < 400
    page.goto(f"{bundled_app}/?depth=heads{'&more=1' * is_phone}")
    wait_for_script_run(page)
    top = bounding_box(page.locator(".hu-mosaic [role=radio]").first)["y"]
    assert top <= lowest
    if is_phone:
        chosen = bounding_box(page.locator(".hu-kinds [aria-pressed=true]"))  # its row scrolls
        assert 0 <= chosen["x"] <= width - chosen["width"] / 2
        assert bounding_box(page.get_by_role("button", name="Compare", exact=True))["y"] > top
    page.goto(f"{bundled_app}/?depth=off")
    expect(page.locator(".hu-switchboard")).to_be_visible()
    wait_for_script_run(page)
    assert bounding_box(page.locator(".hu-switchboard h2").first)["y"] <= lowest
    assert bounding_box(page.locator(".hu-switchboard [data-head]").first)["y"] <= lowest + 60

    page.goto(f"{bundled_app}/train")
    wait_for_script_run(page)
    cards, pictures = page.locator(".st-key-example-cards > *"), page.locator(".hu-head:has(i)")
    expect(cards).to_have_count(3)
    expect(pictures).to_have_count(3)
    expect(pictures.first).to_have_attribute("aria-label", re.compile("Attention of a trained"))
    assert bounding_box(pictures.first)["y"] <= lowest
    last = bounding_box(cards.nth(2))
    assert last["y"] + last["height"] <= height
    assert page.evaluate("document.documentElement.scrollWidth") <= width

    page.goto(f"{bundled_app}/learn")
    expect(page.locator(".lesson-thumbnail")).to_have_count(len(LESSONS))
    wait_for_script_run(page)
    assert bounding_box(page.locator(".lesson-thumbnail").first)["y"] <= lowest
    card = page.locator(".st-key-lesson")
    for lesson in ("umbrella", "infinity"):  # asked by JavaScript, by Python
        page.goto(f"{bundled_app}/learn?lesson={lesson}")
        expect(card.locator(".st-key-lesson-options button").first).to_be_visible()
        expect(card.locator(".hu-hidden").first).to_be_visible()
        wait_for_script_run(page)
        assert bounding_box(card.locator(".hu-lesson-picture"))["y"] <= lowest
        expect(card.locator(".hu-marked")).to_have_count(0)
        assert answer_if_asked(page)
        open_expander(page, "Show the question again")
        expect(card.locator(".hu-lesson-picture")).to_be_visible()
        expect(card.locator(".hu-hidden")).to_have_count(0)
        if lesson == "umbrella":
            expect(card.locator(".hu-marked")).to_have_count(1)
