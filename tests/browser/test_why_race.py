"""The race of layers and the scores in a real browser, with a real worker."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from benchmarks.browser import wait_until

pytestmark = pytest.mark.browser


def test_a_race_of_layers_is_watched_survives_a_reload_and_is_stopped(
    app: str, page: Page, checkpoints: Path
) -> None:
    page.goto(f"{app}/why?part=race")
    page.get_by_role("button", name="Start the race").dblclick()  # a careless hand: still one race
    wait_until(page, "location.search.includes('race=layers-')")
    expect(page.get_by_text(re.compile(r"step \d+ of 500")).first).to_be_visible()
    expect(page.get_by_text("chance 12.5%", exact=True)).to_be_visible()  # the first look is there
    assert len(list((checkpoints.parent / "runs").glob("layers-*"))) == 7
    page.reload()
    grid = page.locator("table", has_text="Where the runs stand")
    expect(grid.locator("tbody tr")).to_have_count(7)
    page.get_by_role("button", name="Stop the whole race").click()
    expect(grid.get_by_text("cancelled")).to_have_count(7)
    expect(page.get_by_role("button", name="Stop the whole race")).to_have_count(0)
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("button", name="Delete the race").click()
    wait_until(page, "!location.search.includes('race=')")
    expect(page.get_by_role("button", name="Start the race")).to_be_visible()


def test_scores_follow_the_slider_and_the_address_follows_them(app: str, page: Page) -> None:
    page.goto(f"{app}/why?part=scores&dk=256")
    table = page.locator("table", has_text="256 random queries over 32 keys each, d_k 256")
    expect(table.locator("tbody tr")).to_have_count(3)
    page.get_by_role("slider", name="d_k, components of a query").press("ArrowRight")
    wait_until(page, "location.search.includes('dk=512')")
    expect(page.locator("table", has_text="d_k 512").locator("tbody tr")).to_have_count(3)
    expect(page.locator(".js-plotly-plot")).to_have_count(8)
