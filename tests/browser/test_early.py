"""The first picture while the app's own scripts are on their way, and how the app takes over."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from benchmarks.browser import settled, wait_until
from tests.browser.conftest import PATIENCE, NewPage
from tests.browser.glance import tile, wanted, whole, words
from tests.browser.visited import wait_for_address
from transformer import Translator
from transformer.ui.address import EXAMPLE

pytestmark = pytest.mark.browser

APP = "**/static/js/index.*"  # Streamlit's own scripts, with which the app begins
GONE = "!document.getElementById('hu-early')"
LETTERS = """[...document.fonts].some(
  (one) => one.family.includes("Source Sans") && one.status === "loaded")"""
TEXT = "She has never seen the sea."
# Where the letters are: a heading of Streamlit's has a link to itself at its end.
PLACES = """() => {
  const early = document.getElementById("hu-early")?.shadowRoot;
  const views = [...document.querySelectorAll("#root *")].map((one) => one.shadowRoot);
  const root = early || views.find((one) => one?.querySelector(".hu-glance"));
  const box = (one) => {
    const range = document.createRange();
    one.matches("textarea") ? range.selectNode(one) : range.selectNodeContents(one);
    const { left, top, bottom } = range.getBoundingClientRect();
    return [left, top, bottom];
  };
  const of = (early || document).querySelector.bind(early || document);
  return [of("h1"), of(early ? "p" : ".st-key-lead p"),
    ...root.querySelectorAll("textarea, .hu-glance-examples button, .hu-glance-words")].map(box);
}"""


@pytest.fixture(scope="module")
def ready(shipped: str) -> str:
    """The address of the app once its first picture is prepared."""
    deadline = time.monotonic() + PATIENCE / 1000
    while time.monotonic() < deadline:
        with urllib.request.urlopen(shipped) as answer:
            if b"hu-early" in answer.read():
                return shipped
        time.sleep(0.05)
    raise AssertionError("the server prepared no first picture")


def early(page: Page, address: str) -> Callable[[], None]:
    """The first picture; what the app begins with does not come until this is called."""
    held: list[Route] = []
    page.route(APP, lambda route: held.append(route))
    page.goto(address, wait_until="commit")
    expect(page.locator("#hu-early .hu-glance-word").first).to_be_visible()

    def go_on() -> None:
        for route in held:
            route.continue_()
        page.unroute(APP)
        wait_until(page, GONE)

    return go_on


@pytest.mark.parametrize(
    ("width", "scheme"), [(1400, "light"), (1000, "dark"), (390, "light"), (390, "dark")]
)
def test_it_stands_where_the_apps_own_will(
    ready: str, new_page: NewPage, width: int, scheme: str
) -> None:
    page = new_page(width, scheme, alone=True, reduced_motion="reduce")
    go_on = early(page, ready)
    wait_until(page, LETTERS)
    colours = "(one) => [getComputedStyle(one).color, getComputedStyle(one).fontFamily]"
    place = page.locator("#hu-early h1")
    before, drawn = page.evaluate(PLACES), place.evaluate(colours)
    ground = page.locator("#hu-early").evaluate("(one) => getComputedStyle(one).backgroundColor")
    go_on()
    settled(page)
    after = page.evaluate(PLACES)
    heading = page.get_by_role("heading", level=1)
    assert drawn[0] == heading.evaluate(colours)[0]
    assert drawn[1].split(",")[0] == heading.evaluate(colours)[1].split(",")[0]
    app = page.get_by_test_id("stApp")
    assert ground == app.evaluate("(one) => getComputedStyle(one).backgroundColor")
    # Where the way around takes more than a line, all below it stands as much lower.
    lower = after[0][1] - before[0][1]
    assert lower == pytest.approx(0, abs=1) or width == 1000
    for one, other in zip(before, after, strict=True):
        assert one == pytest.approx([other[0], other[1] - lower, other[2] - lower], abs=2)


def test_it_moves_and_the_app_goes_on_from_where_it_was(
    ready: str, page: Page, en_fr: Translator
) -> None:
    go_on = early(page, ready)
    assert words(page, "first") == EXAMPLE.split()
    assert words(page) == wanted(en_fr, EXAMPLE)
    whole(page)
    go_on()
    expect(page.get_by_role("button", name="Play again")).to_be_visible()  # it does not begin anew


def test_what_is_typed_into_it_is_not_lost(ready: str, page: Page, en_fr: Translator) -> None:
    go_on = early(page, ready)
    page.get_by_label("English").fill("")
    page.get_by_label("English").press_sequentially(TEXT)
    go_on()
    box = page.get_by_label("English")
    expect(box).to_have_value(TEXT)
    expect(box).to_be_focused()
    expect(page.locator(".hu-glance-row").first.locator("button")).to_have_text(TEXT.split())
    assert words(page) == wanted(en_fr, TEXT)
    wait_for_address(page, "/", model="en-fr", text=TEXT)


def test_typed_while_the_app_is_about_to_draw_it_is_not_lost_either(
    ready: str, page: Page, en_fr: Translator
) -> None:
    """The app has read its address by then: the field alone knows."""
    page.goto(ready, wait_until="commit")
    expect(page.locator("#hu-early textarea")).to_be_visible()
    page.locator("#hu-early textarea").evaluate("(area, text) => { area.value = text; }", TEXT)
    wait_until(page, GONE)
    expect(page.locator(".hu-glance-row").first.locator("button")).to_have_text(TEXT.split())
    expect(page.get_by_label("English")).to_have_value(TEXT)
    assert words(page) == wanted(en_fr, TEXT)


def test_the_theme_is_the_one_that_the_visitor_has_chosen(ready: str, new_page: NewPage) -> None:
    page = new_page(scheme="light", alone=True)
    page.add_init_script("localStorage.setItem('stActiveTheme-/-v2', '\"Dark\"')")
    early(page, ready)
    found = page.locator("#hu-early").evaluate("(one) => getComputedStyle(one).backgroundColor")
    assert found == "rgb(18, 22, 28)"


def test_without_its_script_the_app_is_there_as_ever(ready: str, page: Page) -> None:
    page.route("**/_views/early-*", lambda route: route.fulfill(content_type="text/javascript"))
    page.goto(ready)
    expect(page.locator("#hu-early")).to_be_hidden()
    expect(tile(page, 0)).to_be_visible()
    settled(page)
    page.get_by_role("link", name="Translate", exact=True).click()
    expect(page.locator(".hu-text")).to_be_visible()
    page.unroute("**/_views/early-*")


@pytest.mark.parametrize("query", ["?text=Hello.", "?model=en-de"])
def test_an_address_with_a_view_of_its_own_has_none(ready: str, page: Page, query: str) -> None:
    page.goto(f"{ready}/{query}", wait_until="commit")
    expect(tile(page, 0)).to_be_attached()
    assert page.locator("#hu-early").count() == 0
