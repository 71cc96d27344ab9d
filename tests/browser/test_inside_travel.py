"""Inside's map in a browser: vectors come along the arrows when one walks, and then are gone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from benchmarks.browser import settled, wait_until
from tests.browser.conftest import NewPage
from tests.browser.test_inside import opened
from transformer.figures.places import STOPS

pytestmark = pytest.mark.browser

# Every vector that is made since the page opened is counted; they live in a shadow root.
COUNT = """
window.travelled = 0;
const set = Element.prototype.setAttribute;
Element.prototype.setAttribute = function (name, value) {
  if (value === "hu-vector") window.travelled += 1;
  return set.call(this, name, value);
};
"""


def next_box(page: Page) -> None:
    page.get_by_role("button", name="Next →").click()
    settled(page)


def test_vectors_come_along_the_arrows_when_one_walks(app: str, new_page: NewPage) -> None:
    page = new_page(alone=True)
    page.add_init_script(COUNT)
    opened(app, page, box="encoder.embed.positions")
    assert page.evaluate("window.travelled") == 0  # on arrival nothing moves
    next_box(page)
    wait_until(page, "() => window.travelled > 0")
    # Words from below and positions from the left, three on each arrow.
    assert page.evaluate("window.travelled") == 6
    expect(page.locator(".hu-vector")).to_have_count(0)


def test_who_wants_no_motion_sees_none(app: str, new_page: NewPage) -> None:
    page = new_page(alone=True, reduced_motion="reduce")
    page.add_init_script(COUNT)
    opened(app, page, box="encoder.embed.positions")
    next_box(page)
    page.wait_for_timeout(500)
    assert page.evaluate("window.travelled") == 0


def test_the_walk_ends_with_the_word_that_wins(app: str, page: Page) -> None:
    opened(app, page, box=STOPS[-2])
    next_box(page)
    expect(page.get_by_text("The word that wins, and its rivals")).to_be_visible()
    expect(page.get_by_role("button", name="Next →")).to_be_disabled()
