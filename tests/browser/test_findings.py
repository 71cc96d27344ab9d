"""Findings in a browser: run, reload, cancel, open in the switchboard."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.live_app import wait_for_script_run
from transformer.analysis.findings import FINDINGS


def test_a_finding_is_run_survives_a_reload_and_can_be_cancelled(app: str, page: Page) -> None:
    page.goto(f"{app}/research?experiment=findings&sentences=11")
    measured_over = "measured over these sentences."
    expect(page.get_by_text(f"0 of {len(FINDINGS)} {measured_over}")).to_be_visible()
    wait_for_script_run(page)
    expect(page.get_by_text("not measured yet")).to_have_count(len(FINDINGS))
    page.get_by_role("button", name="Some encoder heads attend to one fixed offset").click()
    expect(page).to_have_url(re.compile("finding=positional"))
    page.get_by_role("button", name="Run", exact=True).click()
    does_not_hold = page.get_by_text(re.compile("Does not hold here$"))  # after an icon
    expect(does_not_hold.first).to_be_visible()
    wait_for_script_run(page)
    page.reload()
    expect(page.get_by_text(f"1 of {len(FINDINGS)} {measured_over}")).to_be_visible()
    expect(does_not_hold).to_have_count(2)  # in its row and on its card
    expect(page.locator(".js-plotly-plot")).to_have_count(1)
    wait_for_script_run(page)
    page.get_by_role("button", name=re.compile("^Run the remaining")).click()
    page.get_by_role("button", name="Cancel all").click()
    # The first of them may have finished before it could be cancelled.
    expect(
        page.get_by_role("button", name=re.compile(r"Run (the remaining \d+|all)$"))
    ).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("^close Cancel|^Cancel"))).to_have_count(0)
