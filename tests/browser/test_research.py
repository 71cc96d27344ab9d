"""Research in a browser: to an experiment and back."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.live_app import wait_for_script_run
from transformer.ui.pages.research import QUESTIONS

pytestmark = pytest.mark.browser


@pytest.mark.journey
def test_a_card_opens_its_experiment_and_the_breadcrumb_leads_back(app: str, page: Page) -> None:
    page.goto(f"{app}/research?text=She paints.&sentences=4")
    page.get_by_role("link", name="What does each head do over many sentences?").click()
    expect(page).to_have_url(re.compile(r"experiment=roles"))
    expect(page.get_by_role("heading", name="Head roles")).to_be_visible()
    wait_for_script_run(page)
    page.locator(".st-key-breadcrumb").get_by_role("link", name="Research").click()
    expect(page.get_by_text(QUESTIONS["findings"])).to_be_visible()
    wait_for_script_run(page)
    expect(page).not_to_have_url(re.compile("experiment"))
    assert "text=She+paints" in page.url.replace("%20", "+")
