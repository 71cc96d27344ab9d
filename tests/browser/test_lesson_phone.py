"""A lesson on a phone: its card above, and a button that brings what it speaks of into view."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from benchmarks.browser import served, settled, wait_until
from tests.browser.conftest import NewPage

pytestmark = pytest.mark.browser
ROOT = Path(__file__).resolve().parents[2]
# Where the card ends, and where the first stage or drawing of a view begins.
ENDS = (
    "document.querySelector('[data-testid=\"stLayoutWrapper\"]:has(> .st-key-lesson)')"
    ".getBoundingClientRect().bottom"
)
BEGINS = """[...document.querySelectorAll('*')].map((one) => one.shadowRoot)
  .map((root) => root && root.querySelector('.hu-stage, .hu-view, svg'))
  .filter((one) => one && one.getBoundingClientRect().height > 0)
  .map((one) => one.getBoundingClientRect().top)[0]"""


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the app with the checkpoints that come with it."""
    runs = tmp_path_factory.mktemp("phone")
    with served(ROOT / "checkpoints", HEADS_UP_RUNS=str(runs)) as (address, _):
        yield address


def answered(page: Page) -> None:
    settled(page)
    card = page.locator(".st-key-lesson")
    options = card.locator(".st-key-lesson-options button")
    options.or_(card.get_by_role("button", name="Show me")).first.click()
    expect(card.get_by_test_id("stAlert")).to_have_count(1)
    settled(page)


def test_see_it_brings_the_picture_below_the_card(course: str, new_page: NewPage) -> None:
    page = new_page(390)
    page.goto(f"{course}/attention?lesson=back")
    answered(page)
    wait_until(page, f"({BEGINS}) > ({ENDS}) + 40")  # below other things
    page.get_by_role("button", name="See it").click()
    wait_until(page, f"Math.abs(({BEGINS}) - ({ENDS}) - 8) < 2")
    assert page.evaluate(ENDS) < 0.6 * page.evaluate("innerHeight")  # and there is room for it


def test_what_is_lit_up_is_brought_along(course: str, new_page: NewPage) -> None:
    page = new_page(390)
    page.goto(f"{course}/lessons?lesson=keys")
    answered(page)
    page.get_by_role("button", name="See it").click()
    lit = page.locator(".hu-box[aria-current]").first
    expect(lit).to_be_in_viewport(ratio=1)
    found = lit.bounding_box()
    assert found is not None
    assert found["y"] >= page.evaluate(ENDS)


def test_beside_a_wide_page_all_is_in_view(course: str, page: Page) -> None:
    page.goto(f"{course}/attention?lesson=back")
    expect(page.locator(".st-key-lesson")).to_be_visible()
    settled(page)
    expect(page.get_by_role("button", name="See it")).to_have_count(0)
