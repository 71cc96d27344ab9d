"""Whole words by default, tokens and code by a toggle; a sentence too long for its field."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.app_pages import TEXT, open_depth
from tests.browser.conftest import NewPage
from tests.browser.explorer_file import open_explorer
from tests.figures.fake_traces import fake_trace
from tests.live_app import wait_for_script_run
from transformer import Translator

pytestmark = pytest.mark.browser

TRACE = fake_trace(
    ["▁a", "▁red", "▁umbr", "ella", "</s>"], ["<s>", "▁un", "▁para", "pluie", "▁rouge"]
)
SHORT, MEDIUM = "She paints.", "She paints a boat and the baker sells bread."
LONG = f"{MEDIUM} {MEDIUM}"


def test_the_toggle_is_kept_from_page_to_page(app: str, page: Page, translator: Translator) -> None:
    page.goto(f"{app}/?depth=steps&text={TEXT}")
    output = page.locator(".hu-chosen .hu-chip")
    expect(output).to_have_text(translator.translate(TEXT).text.split())
    expect(page.locator(".hu-pieces")).to_have_count(0)
    wait_for_script_run(page)
    page.get_by_test_id("stCheckbox").filter(has_text="Show tokens").locator("label").click()
    expect(output).to_have_text(list(translator.translate(TEXT).tokens))
    wait_for_script_run(page)
    open_depth(page, "All heads")
    expect(page.locator(".hu-code")).to_contain_text("trace.weights")
    assert "exact=1" in page.url


def test_a_picture_has_words_and_counts_from_1(page: Page, tmp_path: Path) -> None:
    open_explorer(page, tmp_path, TRACE, view="heads", kind="cross", layer=1, head=2, exact=0)
    expect(page.locator(".hu-title")).to_have_text("Layer 2, head 3")
    expect(page.locator(".hu-code")).to_be_hidden()
    assert not {"▁", "<s>", "</s>"} & set(page.locator(".hu-explorer").inner_text().split())


def test_a_click_on_a_word_pins_it_in_every_head(page: Page, tmp_path: Path) -> None:
    open_explorer(page, tmp_path, TRACE, view="heads", kind="cross", layer=1, head=2, exact=0)
    canvas = page.locator(".hu-view .hu-canvas:not(.hu-lines)").last
    canvas.focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowDown"):  # a, red, umbrella
        page.keyboard.press(key)
    page.set_viewport_size({"width": 1400, "height": 500})  # so short that the page can scroll
    before = canvas.bounding_box()
    page.keyboard.press("Enter")
    expect(page.locator(".hu-pinword[aria-pressed=true]")).to_have_text("umbrella")
    expect(page.locator(".hu-pinned")).to_be_visible()
    expect(page.locator(".hu-directions [aria-pressed=true]")).to_have_text("Attention to it")
    expect(page.locator(".hu-reading")).to_contain_text("umbrella gets most attention from")
    after = canvas.bounding_box()
    assert before
    assert after
    assert after["y"] == pytest.approx(before["y"], abs=2)  # the page must not scroll
    page.keyboard.press("Enter")
    expect(page.locator(".hu-pinned")).to_be_hidden()


@pytest.mark.parametrize(("width", "below"), [(1400, [LONG]), (390, [MEDIUM, LONG])])
def test_text_too_long_for_its_field_is_shown_below_it(
    app: str, new_page: NewPage, width: int, below: list[str]
) -> None:
    page = new_page(width)
    for text in (SHORT, MEDIUM, LONG):
        page.goto(f"{app}/research?experiment=attribution&text={text.replace(' ', '+')}")
        field = page.get_by_role("textbox", name="English").first
        expect(field).to_have_value(text)
        wait_for_script_run(page)
        is_cut_off = field.evaluate("(node) => node.scrollWidth > node.clientWidth")
        full_text = page.get_by_test_id("stCaptionContainer").get_by_text(text, exact=True)
        assert full_text.filter(visible=True).count() == (text in below)
        assert not is_cut_off or text in below
