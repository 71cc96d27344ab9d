"""The tabs Positions and Why self-attention: selections are drawn and kept in the address."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import NewPage
from tests.browser.explorer_file import bounding_box
from tests.live_app import wait_for_script_run


def open_topic(page: Page, name: str) -> None:
    page.get_by_role("radio", name=name, exact=True).click()


def chart(page: Page, key: str) -> Locator:
    return page.locator(f".st-key-{key} .js-plotly-plot")


def test_a_student_compares_positions_and_layer_types(
    app: str, page: Page, new_page: NewPage
) -> None:
    page.goto(f"{app}/inside?tab=positions&topic=matrix&exact=1")
    expect(chart(page, "positions-matrix").get_by_text("</s>")).to_be_visible()
    open_topic(page, "Waves")
    page.wait_for_url(re.compile("topic=waves"))
    expect(chart(page, "positions-waves-drawn")).to_be_visible()
    page.reload()
    expect(chart(page, "positions-waves-drawn")).to_be_visible()
    page.go_back()
    expect(chart(page, "positions-matrix")).to_be_visible()
    wait_for_script_run(page)
    figure = chart(page, "positions-matrix")
    expect(figure).to_be_visible()
    wait_for_script_run(page)
    figure.scroll_into_view_if_needed()
    box = bounding_box(figure.locator(".nsewdrag"))
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 4)
    # At position 0 every sine is 0 and every cosine 1.
    expect(
        figure.locator(".hoverlayer").get_by_text(re.compile(r"added [01]\.0000"))
    ).to_be_visible()

    page.goto(f"{app}/inside?tab=positions&topic=parts&side=target&head=2&text=She hides the lamp.")
    expect(chart(page, "positions-shares").get_by_text("head 2")).to_be_visible()
    page.get_by_text("The terms of one head").click()
    page.get_by_role("radio", name="Attention from each term alone").click()
    wait_for_script_run(page)  # meanwhile the page can have the old figure beside the new one
    expect(page.get_by_text("sum of all four: the head itself").first).to_be_visible()
    page.get_by_role("button", name="Show this head").click()
    page.wait_for_url(re.compile("depth=heads"))
    for part in ("kind=decoder", "layer=0", "head=2", "view=heatmap"):
        assert part in page.url
    expect(page.locator(".hu-view")).to_be_visible()

    page.goto(f"{app}/inside?tab=why&n=24&d=48")
    page.get_by_text("Formulas and measured numbers").click()
    expect(page.locator("caption", has_text="n = 24, k = 3")).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_have_count(1)
    page.get_by_role("radio", name="Table 1").click()
    page.wait_for_url(re.compile("part=table"))
    expect(page.locator("caption", has_text="Table 1 at n = 24, d = 48")).to_be_visible()
    wait_for_script_run(page)
    page.get_by_role("slider", name=re.compile("^n, sequence length")).press("ArrowRight")
    page.wait_for_url(re.compile("n=32"))
    second_page = new_page()
    second_page.goto(page.url)
    for opened in (page, second_page):
        expect(opened.locator("caption", has_text="Table 1 at n = 32, d = 48")).to_be_visible()
    page.get_by_role("radio", name="Scores", exact=True).click()
    expect(page.locator("table", has_text="random queries").locator("tbody tr")).to_have_count(3)
