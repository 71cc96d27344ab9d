"""The map of queries and keys in a browser: asked for, a point clicked, lines, a reload."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from benchmarks.browser import settled, wait_until

pytestmark = pytest.mark.browser


def test_a_point_that_is_clicked_is_linked(app: str, page: Page) -> None:
    page.goto(f"{app}/lab?lab=map&kind=encoder&layer=1&head=2&sentences=2")
    page.get_by_role("button", name="Draw the map").click()
    points = page.locator(".js-plotly-plot .scatterlayer .point")
    expect(points.first).to_be_visible()
    settled(page)
    expect(page.get_by_text("Click a disc")).to_be_visible()
    points.first.click(force=True)
    expect(page.get_by_text(re.compile("attends to|is attended to by"))).to_be_visible()
    wait_until(page, "/point=[qk]\\d+\\.\\d+/.test(location.search)")
    expect(page.locator(".js-plotly-plot .scatterlayer .js-line").first).to_be_attached()
    settled(page)
    page.reload()
    expect(page.get_by_text(re.compile("attends to|is attended to by"))).to_be_visible()
