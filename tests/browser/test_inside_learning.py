"""Inside in a browser: vectors that come along the arrows, and its pages on learning and BLEU."""

from __future__ import annotations

import re

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


@pytest.mark.parametrize("width", [1400, 390])
def test_nothing_is_wider_than_the_window(app: str, new_page: NewPage, width: int) -> None:
    page = new_page(width)
    for path in (
        "inside?section=learning",
        "inside?section=bleu&target=Elle cache un bateau, la nuit.",
        "why?part=results",
    ):
        page.goto(f"{app}/{path}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        settled(page)
        expect(page.locator(".katex").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_another_step_of_training_draws_another_mask(app: str, page: Page) -> None:
    page.goto(f"{app}/inside?section=learning&dropout=0.5")
    line = page.get_by_text("numbers are gone")
    first = line.inner_text()
    page.get_by_role("button", name="Another step of training").click()
    expect(line).not_to_have_text(first)
    expect(page).to_have_url(re.compile("seed=2"))


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
