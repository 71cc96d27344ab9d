"""The app from a user's point of view."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.app_pages import TEXT, address, open_depth, wait_for_address
from tests.browser.conftest import NewPage
from tests.live_app import wait_for_script_run
from transformer import Translator


def translation_tokens(page: Page) -> list[str]:
    """Return the displayed tokens of the translation."""
    return page.locator(".hu-pieces").nth(1).locator(".hu-chip").all_inner_texts()


def test_a_student_reads_the_steps_and_compares_two_sentences(
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
    wait_for_address(page, "/", depth="steps", text=TEXT, exact="1")
    wait_for_script_run(page)
    open_depth(page, "All heads")
    expect(page.locator(".hu-code")).to_contain_text("trace.weights")
    assert "exact=1" in page.url

    page.goto(f"{app}/?depth=heads&text={TEXT}&view=compare")
    expect(page.locator(".hu-view canvas").first).to_be_visible()  # the default second sentence
    page.get_by_test_id("stPopover").get_by_role("button", name="Compare").click()
    page.get_by_role("textbox", name="Another sentence").fill("A pilot finds bread.")
    page.keyboard.press("Enter")
    expect(page.locator(".hu-view canvas").first).to_be_visible()
    expect(page.locator(".hu-view")).to_contain_text("A pilot finds bread.")

    page.goto(f"{app}/?depth=heads&text={TEXT}&view=decoding&step=1&exact=1")
    candidate = next(c for c in expected.steps[1].candidates if c.id != expected.ids[1])
    forced = translator.translate(TEXT, prefix=[expected.ids[0], candidate.id])
    row = page.locator(".hu-steps tbody tr").nth(1)
    row.get_by_role("button", name=re.compile(re.escape(candidate.token))).first.click()
    for token in forced.tokens:
        expect(page.locator(".hu-view")).to_contain_text(token.lstrip("▁"))
    assert address(page)[1]["force"] == f"1:{candidate.id}"


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
