"""Research: an experiment is opened from its card; its computation survives a reload."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.app_pages import wait_for_address
from tests.live_app import wait_for_script_run
from transformer.ui.pages.research import EXPERIMENTS

FIELDS = {"experiment": "roles", "sentences": "3", "exact": "1"}


def experiment_address(app: str, **params: str) -> str:
    return f"{app}/research?" + "&".join(f"{k}={v}" for k, v in {**FIELDS, **params}.items())


@pytest.mark.journey
def test_an_experiment_is_opened_computed_and_found_again_after_a_reload(
    app: str, page: Page
) -> None:
    page.goto(f"{app}/research?text=She paints.&sentences=4")
    page.get_by_role("link", name="What does each head do over many sentences?").click()
    expect(page).to_have_url(re.compile(r"experiment=roles"))
    expect(page.get_by_role("heading", name="Head roles")).to_be_visible()
    wait_for_script_run(page)
    page.locator(".st-key-breadcrumb").get_by_role("link", name="Research").click()
    expect(page.get_by_text(EXPERIMENTS["findings"].question)).to_be_visible()
    wait_for_script_run(page)
    expect(page).not_to_have_url(re.compile("experiment"))
    assert "text=She+paints" in page.url.replace("%20", "+")

    page.goto(experiment_address(app))
    page.get_by_role("button", name="Measure", exact=True).click()
    progress = page.get_by_role("progressbar")
    expect(progress.or_(page.locator(".hu-thumb")).first).to_be_visible()  # it may have ended
    page.reload()
    expect(page.locator(".hu-thumb")).to_have_count(24)
    wait_for_script_run(page)
    page.locator('[data-head="e1.2"]').click()
    expect(
        page.get_by_role("heading", name="Encoder self-attention, layer 2, head 3")
    ).to_be_visible()
    wait_for_address(page, "/research", **FIELDS, kind="encoder", layer="1", head="2")
    expect(page.locator('[data-head="e1.2"]')).to_have_attribute("aria-checked", "true")
    wait_for_script_run(page)
    page.reload()
    expect(
        page.get_by_role("heading", name="Encoder self-attention, layer 2, head 3")
    ).to_be_visible()
    page.get_by_role("button", name="· ").first.click()
    expect(page.locator(".hu-view .hu-canvas").first).to_be_visible()
    assert "kind=encoder" in page.url
    assert "method=forced" in page.url
