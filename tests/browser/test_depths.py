"""The depths of the page Try: one sentence, one head and one address at each of them."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.app_pages import address, open_depth
from tests.browser.conftest import NewPage
from tests.browser.explorer_file import bounding_box
from tests.browser.home_page import open_home, wait_for_all_words
from tests.live_app import wait_for_script_run, wait_until
from transformer import Translator

pytestmark = pytest.mark.browser

FIRST, SECOND = "She hides books.", "Who gave you that red umbrella?"
CONTENT = {
    "Bands": ".hu-glance-row",
    "All heads": ".hu-tabs",
    "Step by step": ".hu-steps",
    "Switch off": ".hu-switchboard",
}
"""What only this depth shows."""


def wait_for_depth(page: Page, label: str, text: str) -> None:
    """Wait until the page is at this depth, and check that it has the sentence."""
    expect(page.locator(CONTENT[label]).first).to_be_visible()
    for other, content in CONTENT.items():
        if other != label:
            expect(page.locator(content).first).to_be_hidden()
    pressed = page.get_by_role("group", name="How much to show").get_by_role("button", pressed=True)
    expect(pressed).to_have_text(label)
    expect(page.get_by_label("English")).to_have_value(text)
    wait_for_script_run(page)


def translation(page: Page, depth: str) -> Locator:
    if depth == "steps":
        return page.locator(".hu-text")
    if depth == "off":
        return page.get_by_text("With all heads:")
    return page.get_by_text(re.compile("^French:"))


def test_typed_text_is_translated_below_and_the_field_keeps_the_focus(
    bundled_app: str, page: Page, en_fr: Translator
) -> None:
    for depth in ("heads", "steps", "off"):
        page.goto(f"{bundled_app}/?depth={depth}&text={FIRST}")
        field = page.get_by_label("English")
        expect(translation(page, depth)).to_contain_text(en_fr.translate(FIRST).text.split()[-2])
        wait_for_script_run(page)
        field.fill("")
        field.press_sequentially(SECOND, delay=30)
        for word in en_fr.translate(SECOND).text.rstrip(" ?").split():
            expect(translation(page, depth)).to_contain_text(word)
        wait_for_script_run(page)
        assert {"depth": depth, "text": SECOND}.items() <= address(page)[1].items()
        expect(field).to_have_value(SECOND)
        expect(field).to_be_focused()
        page.reload()
        for word in en_fr.translate(SECOND).text.rstrip(" ?").split():
            expect(translation(page, depth)).to_contain_text(word)
        expect(field).to_have_value(SECOND)


@pytest.mark.journey
def test_another_depth_keeps_the_sentence_the_head_and_the_focus(
    bundled_app: str, page: Page
) -> None:
    head = {"kind": "decoder", "layer": "2", "head": "5"}
    shared = "&".join(f"{name}={value}" for name, value in head.items())
    page.goto(f"{bundled_app}/?depth=heads&view=heatmap&text={FIRST}&{shared}")
    wait_for_depth(page, "All heads", FIRST)
    expect(page.locator(".hu-title")).to_have_text("Layer 3, head 6")
    for label in ("Step by step", "Switch off", "Bands"):
        button = page.get_by_role("button", name=label, exact=True)
        button.focus()
        page.keyboard.press("Enter")
        wait_for_depth(page, label, FIRST)
        expect(button).to_be_focused()
        assert head.items() <= address(page)[1].items()
    open_depth(page, "All heads")
    wait_for_depth(page, "All heads", FIRST)
    expect(page.locator(".hu-title")).to_have_text("Layer 3, head 6")


def test_each_depth_is_one_entry_of_the_history(bundled_app: str, new_page: NewPage) -> None:
    page = new_page(alone=True)  # the browser counts at most 50 entries of one tab
    for query in ("", f"?text={FIRST}"):
        open_home(page, bundled_app, query)
        text = page.get_by_label("English").input_value()
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
        assert address(page)[1]["depth"] == "steps"


@pytest.mark.journey
def test_a_head_that_is_off_in_the_bands_is_off_in_the_switchboard(
    bundled_app: str, page: Page
) -> None:
    open_home(page, bundled_app, f"?text={FIRST}")
    wait_for_all_words(page)
    page.locator(".hu-strip-head").nth(11).click()
    wait_until(page, "location.search.includes('off=c1.3')")
    wait_for_script_run(page)
    open_depth(page, "Switch off")
    wait_for_depth(page, "Switch off", FIRST)
    switches = page.locator(".hu-switchboard [role=switch][data-head][aria-checked=false]")
    expect(switches).to_have_count(1)
    expect(switches).to_have_attribute("data-head", "c1.3")
    expect(page.get_by_text(re.compile("^After the change:"))).to_be_visible()
    switches.click()
    wait_until(page, "!location.search.includes('off=')")
    wait_for_script_run(page)
    open_depth(page, "Bands")
    wait_for_depth(page, "Bands", FIRST)
    expect(page.locator(".hu-strip-head[aria-checked=false]")).to_have_count(0)


@pytest.mark.parametrize(("width", "most"), [(1366, 300), (390, 420)])
def test_the_first_heads_are_on_the_first_screen(
    bundled_app: str, new_page: NewPage, width: int, most: int
) -> None:
    page = new_page(width)
    page.goto(f"{bundled_app}/?depth=heads")
    wait_for_script_run(page)
    assert bounding_box(page.locator(".hu-mosaic [role=radio]").first)["y"] <= most
    page.goto(f"{bundled_app}/?depth=off")
    expect(page.locator(CONTENT["Switch off"])).to_be_visible()
    wait_for_script_run(page)
    assert bounding_box(page.locator(".hu-switchboard h2").first)["y"] <= most
    assert bounding_box(page.locator(".hu-switchboard [data-head]").first)["y"] <= most + 60


def test_on_a_phone_the_pictures_of_all_heads_come_before_the_tools(
    bundled_app: str, new_page: NewPage
) -> None:
    page = new_page(390)
    page.goto(f"{bundled_app}/?depth=heads&more=1")
    wait_for_script_run(page)
    top = bounding_box(page.locator(".hu-mosaic [role=radio]").first)["y"]
    assert top <= 420
    chosen = bounding_box(page.locator(".hu-kinds [aria-pressed=true]"))  # its row scrolls
    assert 0 <= chosen["x"] <= 390 - chosen["width"] / 2
    tools = page.get_by_role("button", name="Compare", exact=True)
    assert bounding_box(tools)["y"] > top
