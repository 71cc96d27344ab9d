"""Positions in a browser: two sentences before any formula, and clocks that turn or stand."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from benchmarks.browser import settled, wait_until
from tests.browser.conftest import NewPage

pytestmark = pytest.mark.browser

NAMES = """() => [...document.querySelectorAll('.hu-clocks .large i')].map((one) => ({
  name: getComputedStyle(one).animationName, turned: getComputedStyle(one).transform }))"""
TURNING = "() => document.querySelector('.hu-clocks')?.getAnimations({subtree: true}).length > 0"


def hands(page: Page) -> list[dict[str, Any]]:
    expect(page.locator(".hu-clocks .large i")).to_have_count(5)
    found: list[dict[str, Any]] = page.evaluate(NAMES)
    return found


def test_from_two_sentences_to_the_clocks_and_an_old_address(app: str, page: Page) -> None:
    page.goto(f"{app}/positions")
    expect(page.get_by_role("rowheader", name="The man bites the dog.")).to_be_visible()
    expect(page.locator(".st-key-positions-order .js-plotly-plot")).to_be_visible()
    expect(page.locator(".katex-display")).to_have_count(0)
    page.get_by_role("radio", name="What they are").click()
    page.wait_for_url(re.compile("topic=clocks"))
    assert {hand["name"] for hand in hands(page)} == {"hu-turn"}
    settled(page)
    wait_until(page, f"() => !({TURNING})()")  # nothing moves for ever
    before = [hand["turned"] for hand in hands(page)]
    page.get_by_role("button", name="Turn them again").click()
    wait_until(page, TURNING)
    wait_until(page, f"() => !({TURNING})()")
    assert [hand["turned"] for hand in hands(page)] == before
    page.goto(f"{app}/positions?topic=distance")
    expect(page.get_by_role("radio", name="What they are")).to_be_checked()
    expect(page.get_by_role("radio", name="Distance")).to_be_checked()


def test_who_wants_no_motion_sees_the_last_place(app: str, new_page: NewPage) -> None:
    page = new_page(width=390, alone=True, reduced_motion="reduce")
    page.goto(f"{app}/positions?topic=clocks&text=She paints.")
    found = hands(page)
    assert {hand["name"] for hand in found} == {"none"}
    assert all(hand["turned"].startswith("matrix") for hand in found)
    settled(page)
    assert page.evaluate("document.querySelector('.stMain').scrollWidth") <= 390
