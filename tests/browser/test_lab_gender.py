"""A minimal pair in the browser, with the shipped model, on a phone."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from benchmarks.browser import settled
from tests.browser.conftest import NewPage

pytestmark = pytest.mark.browser


def test_it_fits_a_phone_in_dark_mode(shipped: str, new_page: NewPage) -> None:
    page = new_page(390, "dark")
    page.goto(f"{shipped}/lab?lab=job&silent=1")
    expect(page.get_by_role("heading", name="Without these heads")).to_be_visible()
    page.get_by_text("What the data is, and what it cannot show").click()
    expect(page.get_by_text("Two genders, because the data has two")).to_be_visible()
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
