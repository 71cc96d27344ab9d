"""A patching sweep and the map of queries and keys as a visitor asks for them, through a reload."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from benchmarks.browser import ROOT, served, settled, wait_until
from tests.browser.test_app import wait_for_address

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app with the checkpoints that come with it: the tiny one says the same to all."""
    runs: Path = tmp_path_factory.mktemp("sweep") / "runs"
    with served(ROOT / "checkpoints", HEADS_UP_RUNS=str(runs)) as (address, _):
        yield address


def test_a_pair_is_patched_and_still_there_after_a_reload(trained: str, page: Page) -> None:
    page.goto(f"{trained}/lab?lab=sweep")
    page.get_by_role("button", name="letter → book").click()
    wait_for_address(
        page,
        "/lab",
        model="en-fr",
        lab="sweep",
        text="She reads the letter.",
        other="She reads the book.",
    )
    page.get_by_role("button", name="Patch every site").click()
    expect(page.get_by_role("progressbar")).to_be_visible()
    page.reload()
    expect(page.locator(".js-plotly-plot")).to_have_count(2)
    settled(page)
    expect(page.get_by_text(re.compile("goes on with la"))).to_be_visible()
    encoder = page.locator(".js-plotly-plot").first
    encoder.locator(".nsewdrag").hover()
    expect(encoder.locator(".hoverlayer .hovertext")).to_contain_text("brought back")
    page.get_by_role("radio", name="Heads", exact=True).click()
    expect(page.locator(".js-plotly-plot")).to_have_count(3)
    settled(page)
    assert "swept=heads" in page.url
    with page.expect_download() as file:
        page.get_by_role("button", name="All patches (.csv)").click()
    assert file.value.suggested_filename.endswith(".csv")


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
