"""The tab Why self-attention in a browser: sliders and addresses."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.live_app import wait_for_script_run, wait_until

pytestmark = pytest.mark.browser


def table_rows(page: Page, caption: str) -> list[list[str]]:
    """Return the header and the rows of the table whose caption starts with this."""
    table = page.locator("table", has=page.locator("caption", has_text=re.compile(f"^{caption}")))
    expect(table).to_be_visible()
    values: list[list[str]] = table.evaluate(
        "(node) => [...node.rows].map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    return values


@pytest.mark.journey
def test_sections_and_sliders_change_the_tables_and_the_address(
    app: str, page: Page, new_page: NewPage
) -> None:
    page.goto(f"{app}/inside?tab=why&n=24&d=48")
    rows = table_rows(page, "n = 24, k = 3")
    assert [row[4] for row in rows[1:]] == ["1", "1, 23 steps", "23", "4", "5"]
    expect(page.locator(".js-plotly-plot")).to_have_count(7)
    page.get_by_role("radio", name="Table 1").click()
    table_rows(page, "Table 1 at n = 24")
    page.wait_for_url(re.compile("part=table"))
    wait_for_script_run(page)
    page.get_by_role("slider", name=re.compile("^n, sequence length")).press("ArrowRight")
    rows = table_rows(page, "Table 1 at n = 32, d = 48")
    assert rows[1][:3] == ["Self-attention", "O(n² · d)", "49,152"]
    page.wait_for_url(re.compile("n=32"))
    second_page = new_page()
    second_page.goto(page.url)
    assert table_rows(second_page, "Table 1 at n = 32, d = 48") == rows

    page.goto(f"{app}/inside?tab=why&part=scores&dk=256")
    table = page.locator("table", has_text="256 random queries over 32 keys each, d_k 256")
    expect(table.locator("tbody tr")).to_have_count(3)
    page.get_by_role("slider", name="d_k, dimension of a query").press("ArrowRight")
    wait_until(page, "location.search.includes('dk=512')")
    expect(page.locator("table", has_text="d_k 512").locator("tbody tr")).to_have_count(3)
    expect(page.locator(".js-plotly-plot")).to_have_count(6)
