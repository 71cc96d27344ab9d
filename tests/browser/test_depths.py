"""The depths of the page Try: one sentence, one head and one address at each of them."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.app_pages import address, open_depth
from tests.browser.home_page import open_home, wait_for_all_words
from tests.live_app import wait_for_script_run, wait_until
from transformer import Translator

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
    expect(page.get_by_label("Your sentence")).to_have_value(text)
    wait_for_script_run(page)


def translation(page: Page, depth: str) -> Locator:
    return page.locator(
        {"heads": ".hu-pinwords", "steps": ".hu-steps tbody", "off": ".hu-live-results"}[depth]
    )


def test_a_sentence_is_typed_at_every_depth_read_token_by_token_and_changed(
    bundled_app: str, page: Page, en_fr: Translator
) -> None:
    expected = en_fr.translate(SECOND)
    words = expected.text.rstrip(" ?").split()
    for depth in ("heads", "off", "steps"):
        page.goto(f"{bundled_app}/?depth={depth}&text={FIRST}")
        field = page.get_by_label("Your sentence")
        expect(translation(page, depth)).to_contain_text(en_fr.translate(FIRST).text.split()[-2])
        field.fill("")
        field.press_sequentially(SECOND, delay=30)  # without Enter: a pause in typing is enough
        for word in words:
            expect(translation(page, depth)).to_contain_text(word)
        assert address(page) == ("/", {"depth": depth, "text": SECOND})
        expect(field).to_have_value(SECOND)
        expect(field).to_be_focused()
        page.reload()
        for word in words:
            expect(translation(page, depth)).to_contain_text(word)
        expect(field).to_have_value(SECOND)

    page.get_by_role("button", name="Show tokens").click()
    expect(page.locator(".hu-chosen .hu-chip")).to_have_text(list(expected.tokens))
    expect(page.locator(".hu-steps tbody tr")).to_have_count(len(expected.tokens))
    wait_until(page, "location.search.includes('exact=1')")
    assert {"depth": "steps", "text": SECOND}.items() <= address(page)[1].items()
    open_depth(page, "All heads")
    expect(page.locator(".hu-code").first).to_contain_text("trace.weights")
    assert "exact=1" in page.url

    page.goto(f"{bundled_app}/?depth=heads&text={SECOND}&view=decoding&step=1&exact=1")
    candidate = next(c for c in expected.steps[1].candidates if c.id != expected.ids[1])
    forced = en_fr.translate(SECOND, prefix=[expected.ids[0], candidate.id])
    row = page.locator(".hu-steps tbody tr").nth(1)
    row.get_by_role("button", name=re.compile(re.escape(candidate.token))).first.click()
    force = "(force) => new URLSearchParams(location.search).get('force') === force"
    wait_until(page, force, f"1:{candidate.id}")
    chosen = page.locator(".hu-steps tbody .hu-chosen .hu-chip")
    expect(chosen).to_have_text(list(forced.tokens))


@pytest.mark.journey
def test_a_head_is_switched_off_at_one_depth_and_on_at_another(
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

    open_home(page, bundled_app, f"?text={FIRST}")
    wait_for_all_words(page)
    page.locator(".hu-strip .hu-thumb").nth(11).click()
    wait_until(page, "location.search.includes('off=c1.3')")
    wait_for_script_run(page)
    open_depth(page, "Switch off")
    wait_for_depth(page, "Switch off", FIRST)
    switches = page.locator(".hu-switchboard [role=switch][data-head][aria-checked=false]")
    expect(switches).to_have_count(1)
    expect(switches).to_have_attribute("data-head", "c1.3")
    expect(page.get_by_role("heading", name="After the change")).to_be_visible()
    switches.click()
    wait_until(page, "!location.search.includes('off=')")
    wait_for_script_run(page)
    open_depth(page, "Bands")
    wait_for_depth(page, "Bands", FIRST)
    expect(page.locator(".hu-strip .hu-thumb[aria-checked=false]")).to_have_count(0)
