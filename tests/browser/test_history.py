"""The history of the browser: one entry for each page and depth, restored by going back."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.app_pages import navigation, open_depth, wait_for_address
from tests.browser.conftest import NewPage
from tests.browser.home_page import open_home, tile
from tests.browser.test_depths import wait_for_depth
from tests.live_app import wait_for_script_run, wait_until

TEXT = "I sleep."
RECORD_ADDRESSES = """() => {
  window.addresses = new Set();
  document.addEventListener("heads-up-moved", () => window.addresses.add(location.href));
}"""


def check_addresses_on_the_way(page: Page, app: str) -> None:
    """The address is that of a page with its own fields at any time, so that a reload opens it."""
    page.evaluate(RECORD_ADDRESSES)
    navigation(page).get_by_role("link", name="Try", exact=True).click()
    fields = {"model": "en-fr", "text": TEXT}
    wait_for_address(page, "/", **fields)
    open_depth(page, "Switch off")
    wait_for_depth(page, "Switch off", TEXT)
    navigation(page).get_by_role("link", name="Research", exact=True).click()
    wait_for_address(page, "/research", **fields)
    with_depth = [url for url in page.evaluate("[...addresses]") if "depth=" in url]
    assert with_depth
    assert all(url.startswith(f"{app}/?") for url in with_depth)
    page.go_back()
    wait_for_depth(page, "Switch off", TEXT)
    for path in ("/", "/research"):
        page.go_back()
        wait_for_address(page, path, **fields)


def test_going_back_restores_depths_and_pages(bundled_app: str, new_page: NewPage) -> None:
    page = new_page(alone=True)
    for path in ("/?depth=off", "/?depth=heads", "/?text=I+sleep.", "/inside"):
        page.goto(bundled_app + path, wait_until="commit")
        entries = page.evaluate("history.length")
        wait_for_script_run(page)
        page.wait_for_timeout(500)
        # The page fills in the model, and the layer and head of a depth.
        assert page.evaluate("history.length") == entries, path
        assert page.url == bundled_app + path

    page = new_page(alone=True)  # the browser counts at most 50 entries of one tab
    for query in ("", f"?text={TEXT}"):
        open_home(page, bundled_app, query)
        text = page.get_by_label("Your sentence").input_value()
        entries = page.evaluate("history.length")
        for number, label in enumerate(("Step by step", "Switch off"), start=1):
            open_depth(page, label)
            wait_for_depth(page, label, text)
            wait_until(page, f"history.length === {entries + number}")
        page.go_back()
        wait_for_depth(page, "Step by step", text)
        page.go_back()
        wait_for_depth(page, "Bands", text)
        page.go_forward()
        wait_for_depth(page, "Step by step", text)
        assert page.evaluate("history.length") == entries + 2

    open_home(page, bundled_app)
    page.get_by_label("Your sentence").fill(TEXT)
    expect(tile(page, 1, "first")).to_have_text("sleep.")  # typed text is reported after a moment
    wait_for_address(page, "/", text=TEXT)
    fields = {"model": "en-fr", "text": TEXT}
    entries = page.evaluate("history.length")
    for number, (name, path) in enumerate(
        (("Look inside", "/inside"), ("Research", "/research")), start=1
    ):
        navigation(page).get_by_role("link", name=name, exact=True).click()
        wait_for_address(page, path, **fields)
        assert page.evaluate("history.length") == entries + number
    check_addresses_on_the_way(page, bundled_app)
    page.go_back()
    wait_for_address(page, "/inside", **fields)
    page.go_back()
    wait_for_address(page, "/", text=TEXT)
    expect(page.locator(".hu-glance textarea")).to_have_value(TEXT)

    page.goto(f"{bundled_app}/learn?lesson=meeting")
    card = page.locator(".hu-lesson")
    expect(card).to_contain_text("Lesson 4")
    wait_for_script_run(page)
    entries = page.evaluate("history.length")
    for number, (button, lesson) in enumerate(
        (("Skip", "Lesson 5"), ("Previous", "Lesson 4")), start=1
    ):
        card.get_by_role("button", name=button).click()
        expect(card).to_contain_text(lesson)
        wait_until(page, f"history.length === {entries + number}")
        wait_for_script_run(page)
        assert page.evaluate("history.length") == entries + number
    page.go_back()
    expect(page.get_by_label("Your sentence")).to_have_value("She has never seen the sea.")
    expect(card).to_contain_text("Lesson 5")
    wait_for_script_run(page)
    page.go_back()
    expect(card).to_contain_text("Lesson 4")
