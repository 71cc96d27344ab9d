"""The first screen of every place shows what the place is about, on a laptop and on a phone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.app_pages import violations_of
from tests.browser.conftest import NewPage
from tests.browser.explorer_file import bounding_box
from tests.browser.home_page import open_home
from tests.browser.test_lessons import answer_if_asked
from tests.live_app import wait_for_script_run, wait_until
from transformer.lessons.course import LESSONS

PHONE_WIDTH = 390
LOWEST = {1366: 300, PHONE_WIDTH: 420}
"""Greatest distance in pixels of a place's picture from the top of the window, by its width."""

# Return the distance in pixels of each band's two ends from the nearest word's button.
END_DISTANCES = """() => {
  const views = [...document.querySelectorAll("*")].map((node) => node.shadowRoot);
  const root = views.find((view) => view && view.querySelector(".hu-glance"));
  const boxes = (row) => [...row.children].map((node) => node.getBoundingClientRect());
  const rows = [...root.querySelectorAll(".hu-glance-words")].map(boxes);
  const frame = root.querySelector(".hu-glance-lines").getBoundingClientRect();
  const distance = (path, end) => {
    const { x, y } = path.getPointAtLength(end * path.getTotalLength());
    return Math.min(...rows[end].map((box) => {
      const outside = Math.max(box.left - frame.left - x, x - (box.right - frame.left), 0);
      return outside + Math.abs((end ? box.top : box.bottom) - frame.top - y);
    }));
  };
  const paths = [...root.querySelectorAll(".hu-glance-lines path")];
  return paths.flatMap((path) => [distance(path, 0), distance(path, 1)]);
}"""


def page_width(page: Page) -> int:
    width: int = page.evaluate("document.scrollingElement.scrollWidth")
    return width


def check_home(page: Page, app: str, width: int, height: int) -> None:
    """Check that the bands are visible without scrolling and end at words."""
    open_home(page, app, "?text=She has never seen the sea.")
    all_end_at_words = "(distances) => distances.length > 0 && Math.max(...distances) < 6"
    wait_until(page, f"({all_end_at_words})(({END_DISTANCES})())", timeout=30)
    stage = bounding_box(page.locator(".hu-glance-stage"))
    assert stage["y"] + stage["height"] <= height
    assert bounding_box(page.locator(".hu-glance"))["width"] >= 0.85 * width
    assert page_width(page) <= width


def check_depths(page: Page, app: str, width: int) -> None:
    is_phone = width == PHONE_WIDTH
    page.goto(f"{app}/?depth=heads{'&more=1' * is_phone}")
    wait_for_script_run(page)
    top = bounding_box(page.locator(".hu-mosaic [role=radio]").first)["y"]
    assert top <= LOWEST[width]
    if is_phone:
        chosen = bounding_box(page.locator(".hu-kinds [aria-pressed=true]"))  # its row scrolls
        assert 0 <= chosen["x"] <= width - chosen["width"] / 2
        assert bounding_box(page.get_by_text("Decoding method, comparison"))["y"] > top
    page.goto(f"{app}/?depth=off")
    expect(page.locator(".hu-switchboard")).to_be_visible()
    wait_for_script_run(page)
    assert bounding_box(page.locator(".hu-switchboard h2").first)["y"] <= LOWEST[width]
    first_head = bounding_box(page.locator(".hu-switchboard [data-head]").first)
    assert first_head["y"] <= LOWEST[width] + 60


def check_sizes_for_a_finger(page: Page, app: str) -> None:
    """A finger needs 24 pixels (WCAG 2.5.8)."""
    page.goto(f"{app}/?depth=steps&exact=1")
    buttons = page.locator(".hu-steps :is(.hu-more, button.hu-candidate)")
    expect(buttons.nth(4)).to_be_visible()
    wait_for_script_run(page)
    heights = [bounding_box(button)["height"] for button in buttons.all()]
    assert min(heights) >= 24, f"a button of the steps is {min(heights)} px high"


def check_train(page: Page, app: str, width: int, height: int) -> None:
    page.goto(f"{app}/train")
    wait_for_script_run(page)
    cards, pictures = page.locator(".st-key-example-cards > *"), page.locator(".hu-head:has(i)")
    expect(cards).to_have_count(3)
    expect(pictures).to_have_count(3)
    expect(pictures.first).to_have_attribute("aria-label", re.compile("Attention of a trained"))
    assert bounding_box(pictures.first)["y"] <= LOWEST[width]
    # Cards become smaller when the font of the icons has loaded.
    end = "document.querySelector('.st-key-example-cards').lastElementChild.getBoundingClientRect()"
    wait_until(page, f"{end}.bottom <= {height}", timeout=30)
    assert page_width(page) <= width


def check_lessons(page: Page, app: str, width: int, height: int) -> None:
    page.goto(f"{app}/learn")
    expect(page.locator(".hu-station .hu-station-picture")).to_have_count(len(LESSONS))
    wait_for_script_run(page)
    for name in ("Start the course", "Train →", "Open the clinic"):
        door = bounding_box(page.locator(".hu-learn").get_by_role("button", name=name))
        assert door["y"] + door["height"] <= height, f"{name} is below the first screen"
    assert bounding_box(page.locator(".hu-station-picture").first)["y"] <= LOWEST[width]
    card = page.locator(".hu-lesson")
    for lesson in ("umbrella", "infinity"):  # asked by JavaScript, by Python
        page.goto(f"{app}/learn?lesson={lesson}")
        expect(card.locator(".hu-lesson-option").first).to_be_visible()
        expect(card.locator(".hu-hidden").first).to_be_visible()
        wait_for_script_run(page)
        assert bounding_box(card.locator(".hu-lesson-picture"))["y"] <= LOWEST[width]
        expect(card.locator(".hu-marked")).to_have_count(0)
        assert answer_if_asked(page), f"{lesson} asks nothing"
        expect(card.locator(".hu-lesson-picture")).to_be_visible()
        expect(card.locator(".hu-hidden")).to_have_count(0)
        if lesson == "umbrella":
            expect(card.locator(".hu-marked")).to_have_count(1)
        page.mouse.move(0, 0)
        assert not violations_of(page), f"after the answer of {lesson}"


def check_card_while_scrolling(page: Page, app: str, width: int, height: int) -> None:
    """Check that the card of an answered lesson stays visible and leaves space for the picture."""
    page.goto(f"{app}/learn?lesson=norm")
    assert answer_if_asked(page), "norm asks nothing"
    page.get_by_role("button", name="Open in Look inside").click()
    figure = page.locator(".st-key-inside-map")
    figure.wait_for()
    page.locator(".stMain").evaluate("(node) => node.scrollTo(0, 500)")
    card = page.locator(".st-key-lesson")
    wait_until(page, "document.querySelector('.stMain').scrollTop >= 400")
    card_box = bounding_box(card)
    assert 0 <= card_box["y"] <= 120
    assert page_width(page) <= width
    if width == PHONE_WIDTH:
        box = bounding_box(page.locator('[data-testid="stLayoutWrapper"]:has(> .st-key-lesson)'))
        assert box["y"] + box["height"] <= 0.55 * height
    else:
        map_box = bounding_box(figure)
        assert card_box["x"] + card_box["width"] <= map_box["x"]
        assert map_box["y"] < 300, "the map is no longer visible next to the box"
        top = bounding_box(page.locator(".st-key-inside-top"))
        assert map_box["x"] + map_box["width"] <= top["x"]


@pytest.mark.parametrize(
    ("width", "height"), [(1366, 768), pytest.param(PHONE_WIDTH, 844, marks=pytest.mark.journey)]
)
def test_the_first_screen_of_every_place_shows_what_it_is_about(
    bundled_app: str, new_page: NewPage, width: int, height: int
) -> None:
    is_phone = width == PHONE_WIDTH
    page = new_page(width, alone=True, reduced_motion="reduce")
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme="light" if is_phone else "dark")
    check_home(page, bundled_app, width, height)
    check_depths(page, bundled_app, width)
    check_train(page, bundled_app, width, height)
    check_lessons(page, bundled_app, width, height)
    check_card_while_scrolling(page, bundled_app, width, height)
    if is_phone:
        check_sizes_for_a_finger(new_page(width, alone=True, has_touch=True), bundled_app)
