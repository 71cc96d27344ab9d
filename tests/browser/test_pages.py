"""From page to page: each keeps its own fields, and an address holds those of its own page."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from benchmarks.browser import settled
from tests.browser.test_app import wait_for_address

pytestmark = pytest.mark.browser

TEXT = "She hides the lamp."


def go(page: Page, name: str) -> None:
    page.get_by_role("link", name=name, exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name)


def test_a_page_remembers_its_own_fields_and_no_other_page_carries_them(
    app: str, page: Page
) -> None:
    page.goto(f"{app}/positions?text={TEXT}&topic=shift&shift=3")
    go(page, "Why self-attention")
    wait_for_address(page, "/why", text=TEXT)
    settled(page)
    page.get_by_role("radio", name="Paths").click()
    wait_for_address(page, "/why", text=TEXT, part="paths")
    go(page, "Positions")
    wait_for_address(page, "/positions", text=TEXT, topic="shift", shift="3")
    settled(page)
    page.go_back()
    wait_for_address(page, "/why", text=TEXT, part="paths")


def test_a_link_to_another_page_sets_what_it_says_of_that_page(app: str, page: Page) -> None:
    page.goto(f"{app}/inside?section=lens")
    go(page, "Why self-attention")
    page.get_by_role("radio", name="Results").click()
    page.get_by_role("link", name="What is BLEU?").click()
    wait_for_address(page, "/inside", section="bleu")
    expect(page.get_by_role("radio", name="BLEU")).to_be_checked()


def test_an_old_address_with_the_fields_of_all_pages_still_reaches_them(
    app: str, page: Page
) -> None:
    # 7 sentences: of as many as another test has measured, the lab would choose the clearest head.
    page.goto(f"{app}/attention?text={TEXT}&view=heatmap&lab=cards&sentences=7&off=c1&part=time")
    wait_for_address(page, "/attention", text=TEXT, view="heatmap", sentences="7")
    go(page, "Heads lab")
    wait_for_address(page, "/lab", text=TEXT, lab="cards", sentences="7", off="c1")
