"""Inside's pages on learning and BLEU, and Results, in a browser: wide and on a phone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from benchmarks.browser import settled
from tests.browser.conftest import NewPage

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("width", [1400, 390])
def test_nothing_is_wider_than_the_window(app: str, new_page: NewPage, width: int) -> None:
    page = new_page(width)
    for path in (
        "inside?section=learning",
        "inside?section=bleu&target=Elle cache un bateau, la nuit.",
        "why?part=results",
    ):
        page.goto(f"{app}/{path}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        settled(page)
        expect(page.locator(".katex").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_another_step_of_training_draws_another_mask(app: str, page: Page) -> None:
    page.goto(f"{app}/inside?section=learning&dropout=0.5")
    line = page.get_by_text("numbers are gone")
    first = line.inner_text()
    page.get_by_role("button", name="Another step of training").click()
    expect(line).not_to_have_text(first)
    expect(page).to_have_url(re.compile("seed=2"))
