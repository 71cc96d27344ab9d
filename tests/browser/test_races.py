"""A race in a real browser, with a real worker: started, watched, stopped, deleted."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from benchmarks.browser import wait_until

pytestmark = pytest.mark.browser


def test_a_race_is_watched_by_its_address_and_stopped_as_a_whole(app: str, page: Page) -> None:
    page.goto(f"{app}/train")
    page.get_by_text("1, a first look").click()
    expect(page.get_by_text("2 settings × 1 seed = 2 runs")).to_be_visible()
    page.locator(".st-key-start-race-warm-up").get_by_role("button").click()
    wait_until(page, "location.search.includes('race=warm-up')")
    grid = page.locator("table", has_text="Where the runs stand")
    expect(grid.get_by_text(re.compile(r"step \d+ of 600")).first).to_be_visible()
    expect(page.locator(".js-plotly-plot .scatterlayer path.js-line").first).to_be_visible()
    page.reload()  # the address leads back, and the race is still one's own
    expect(grid.locator("tbody tr")).to_have_count(2)
    page.get_by_role("button", name="Stop the whole race").click()
    expect(grid.get_by_text("cancelled")).to_have_count(2)
    expect(page.get_by_role("button", name="Stop the whole race")).to_have_count(0)
    words = page.get_by_text("a verdict needs 3 finished seeds of each side, and there are 0 and 0")
    expect(words).to_be_visible()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("button", name="Delete the race").click()
    wait_until(page, "!location.search.includes('race=')")
    expect(page.get_by_text("0 of 2 runs over")).to_have_count(0)
    expect(page.get_by_role("heading", name="Races")).to_be_visible()
