"""The app from a user's point of view."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.app_pages import TEXT, address, open_depth, wait_for_address
from tests.browser.conftest import NewPage
from tests.live_app import app_server, wait_for_script_run, wait_until
from transformer import Translator

pytestmark = pytest.mark.browser


def translation_tokens(page: Page) -> list[str]:
    """Return the displayed tokens of the translation."""
    return page.locator(".hu-pieces").nth(1).locator(".hu-chip").all_inner_texts()


@pytest.mark.journey
def test_a_typed_sentence_is_translated_word_by_word_and_token_by_token(
    app: str, page: Page, translator: Translator
) -> None:
    page.goto(f"{app}/?depth=steps")
    page.get_by_label("English").fill(TEXT)  # without Enter: a pause in typing is enough
    expected = translator.translate(TEXT)
    expect(page.locator(".hu-text")).to_have_text(expected.text.strip())
    chosen = page.locator(".hu-chosen .hu-chip")
    expect(chosen).to_have_text(expected.text.split())
    expect(page.locator(".hu-pieces")).to_have_count(0)
    wait_for_script_run(page)
    page.get_by_test_id("stCheckbox").filter(has_text="Show tokens").locator("label").click()
    expect(chosen).to_have_text(list(expected.tokens))
    assert translation_tokens(page) == list(expected.tokens)
    rows = page.locator(".hu-steps tbody tr")
    expect(rows).to_have_count(len(expected.tokens))
    first = rows.first
    expect(first.locator(".hu-input")).to_have_text("<s>")
    expect(first.locator(".hu-candidate")).to_have_count(3)
    best = expected.steps[0].candidates[0]
    expect(first.locator(".hu-candidate").first).to_contain_text(best.token)
    expect(first.locator(".hu-number").first).to_have_text(f"{100 * best.probability:.1f}%")
    expect(rows.nth(1).locator(".hu-input")).to_have_text(f"<s>{expected.tokens[0]}")
    page.get_by_role("button", name="all 8 candidates").click()
    expect(first.locator(".hu-candidate")).to_have_count(8)
    wait_for_address(page, "/", depth="steps", text=TEXT, exact="1")
    wait_for_script_run(page)
    open_depth(page, "All heads")
    expect(page.locator(".hu-code")).to_contain_text("trace.weights")
    assert "exact=1" in page.url


def test_each_page_adds_one_history_entry_and_a_selection_none(
    bundled_app: str, new_page: NewPage
) -> None:
    page = new_page(alone=True)  # the browser counts at most 50 entries of one tab
    for path in ("/?depth=off", "/?depth=heads", "/?text=I+sleep.", "/inside"):
        page.goto(bundled_app + path, wait_until="commit")
        entries = page.evaluate("history.length")
        wait_for_script_run(page)
        page.wait_for_timeout(500)
        # The page fills in the model, and the layer and head of a depth.
        assert page.evaluate("history.length") == entries, path
        assert page.url == bundled_app + path
    page.goto(bundled_app)
    wait_for_script_run(page)
    page.locator(".hu-glance textarea").fill("I sleep.")
    fields = {"model": "en-fr", "text": "I sleep."}
    wait_for_address(page, "/", **fields)  # the links of the page were drawn before this
    entries = page.evaluate("history.length")
    for name, path in (("Look inside", "/inside"), ("Research", "/research")):
        page.get_by_role("link", name=name, exact=True).click()
        wait_for_address(page, path, **fields)
        wait_for_script_run(page)
        entries += 1
        assert page.evaluate("history.length") == entries
    for path in ("/inside", "/"):
        page.go_back()
        wait_for_address(page, path, **fields)
        wait_for_script_run(page)
    expect(page.locator(".hu-glance textarea")).to_have_value("I sleep.")


def test_going_back_over_lessons_restores_each_page(bundled_app: str, new_page: NewPage) -> None:
    page = new_page(alone=True)
    page.goto(f"{bundled_app}/learn?lesson=meeting")
    wait_for_script_run(page)
    entries = page.evaluate("history.length")
    for number, button in enumerate(("lesson-next", "lesson-before"), start=1):
        path = page.url
        page.locator(f".st-key-{button} button").click()
        wait_until(page, "(url) => location.href !== url", path)
        wait_for_script_run(page)
        expect(page.locator(".st-key-lesson-navigation")).to_be_visible()
        assert page.evaluate("history.length") == entries + number
    page.go_back()
    expect(page.get_by_label("English")).to_have_value("She has never seen the sea.")
    expect(page.locator(".st-key-lesson")).to_contain_text("Lesson 5")
    wait_for_script_run(page)
    page.go_back()
    expect(page.locator(".st-key-lesson")).to_contain_text("Lesson 4")


def test_an_address_opens_the_same_view_in_another_browser(app: str, new_page: NewPage) -> None:
    first, second = new_page(), new_page()
    for state in (
        "view=heads&kind=decoder&layer=1&head=3&heads=1.3,0.2&tokens=q2,k1",
        "view=model&measure=entropy&order=measure",
        "view=heatmap&kind=encoder&layer=1&head=0&combine=mean&exact=1&special=hidden&scale=row",
        "view=query-key&layer=0&head=1&row=2&column=1",
        "view=decoding&layer=0&head=1&step=2&method=beam",
        "view=compare&layer=0&head=1&other=A pilot finds bread.",
    ):
        expected = dict(part.split("=") for part in state.split("&")) | {"text": TEXT}
        first.goto(f"{app}/?depth=heads&text={TEXT}&{state}")
        expect(first.get_by_role("tab", selected=True)).to_be_visible()
        wait_for_script_run(first)
        # Select another tab and return, so that the browser itself writes the address.
        first.get_by_role("tab", selected=True).focus()
        first.keyboard.press("ArrowRight")
        first.wait_for_timeout(400)
        wait_for_script_run(first)
        first.get_by_role("tab", selected=True).focus()
        first.keyboard.press("ArrowLeft")
        first.wait_for_timeout(400)
        wait_for_script_run(first)
        assert address(first)[1].items() >= expected.items() - {("view", "heads")}
        second.goto(first.url)
        expect(second.get_by_role("tab", selected=True)).to_be_visible()
        wait_for_script_run(second)
        assert address(second) == address(first)
        displayed = [page.locator(".hu-explorer").inner_text() for page in (first, second)]
        assert displayed[0] == displayed[1]


def test_a_second_sentence_and_a_forced_token_are_compared(
    app: str, page: Page, translator: Translator
) -> None:
    page.goto(f"{app}/?depth=heads&text={TEXT}&view=compare")
    expect(page.locator(".hu-view canvas").first).to_be_visible()  # the default second sentence
    page.get_by_test_id("stPopover").get_by_role("button", name="Compare").click()
    page.get_by_role("textbox", name="Another sentence").fill("A pilot finds bread.")
    page.keyboard.press("Enter")
    expect(page.locator(".hu-view canvas").first).to_be_visible()
    expect(page.locator(".hu-view")).to_contain_text("A pilot finds bread.")

    page.goto(f"{app}/?depth=heads&text={TEXT}&view=decoding&step=1&exact=1")
    expected = translator.translate(TEXT)
    candidate = next(c for c in expected.steps[1].candidates if c.id != expected.ids[1])
    forced = translator.translate(TEXT, prefix=[expected.ids[0], candidate.id])
    row = page.locator(".hu-steps tbody tr").nth(1)
    row.get_by_role("button", name=re.compile(re.escape(candidate.token))).first.click()
    for token in forced.tokens:
        expect(page.locator(".hu-view")).to_contain_text(token.lstrip("▁"))
    assert address(page)[1]["force"] == f"1:{candidate.id}"


def test_a_deep_link_opens_on_a_server_that_has_just_started(checkpoints: Path, page: Page) -> None:
    with app_server(checkpoints) as (new_server, _):
        fields = "view=heatmap&kind=decoder&layer=1&head=1&exact=1"
        page.goto(f"{new_server}/?depth=heads&text=A+pilot+sells+bread.&{fields}")
        expect(page.locator(".hu-code")).to_have_text('trace.weights("decoder", layer=1)[1]')
        expect(page.get_by_label("English")).to_have_value("A pilot sells bread.")
        expect(page.get_by_role("link", name="Try", exact=True)).to_be_visible()
        assert page.get_by_test_id("stSidebarNav").count() == 0
        assert page.get_by_test_id("stSidebar").count() == 0
        page.locator(".hu-canvas").focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowRight")
        expect(page.locator(".hu-tip strong")).to_have_text("masked")
        page.close()  # or the end of the server would be recorded as an error
