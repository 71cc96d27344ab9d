"""Research in a browser: to an experiment and back, with its picture near the top."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.explorer_file import bounding_box
from tests.live_app import wait_for_script_run
from transformer.ui.pages.research import EXPERIMENTS, QUESTIONS

pytestmark = pytest.mark.browser
PICTURES = ".js-plotly-plot, .hu-contributions, .hu-headgrid, .st-key-findings"
MAX_TOP = {(1366, 768): 300, (390, 844): 420}
"""Greatest distance of the first picture from the top of the window, in pixels."""


def test_a_card_opens_its_experiment_and_the_breadcrumb_leads_back(app: str, page: Page) -> None:
    page.goto(f"{app}/research?text=She paints.&sentences=4")
    page.get_by_role("link", name="Head roles").click()
    expect(page).to_have_url(re.compile(r"experiment=roles"))
    expect(page.get_by_role("heading", name="Head roles")).to_be_visible()
    wait_for_script_run(page)
    page.locator(".st-key-breadcrumb").get_by_role("link", name="Research").click()
    expect(page.get_by_text(QUESTIONS["findings"])).to_be_visible()
    wait_for_script_run(page)
    expect(page).not_to_have_url(re.compile("experiment"))
    assert "text=She+paints" in page.url.replace("%20", "+")


@pytest.mark.slow
def test_the_picture_of_every_experiment_is_near_the_top(bundled_app: str, page: Page) -> None:
    for name in EXPERIMENTS:
        for (width, height), top in MAX_TOP.items():
            page.set_viewport_size({"width": width, "height": height})
            page.goto(f"{bundled_app}/research?experiment={name}")
            picture = page.locator(PICTURES).first
            expect(picture).to_be_visible(timeout=60_000)
            wait_for_script_run(page)
            assert bounding_box(picture)["y"] <= top, (name, width)
