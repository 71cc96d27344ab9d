"""The page Try in a notebook: the kernel answers, and both sides see the same state."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.browser.home_page import expected_words, tile, words
from tests.notebook import connection, display, notebook_comms
from transformer import Translator
from transformer.analysis.interventions.switching import switched_off
from transformer.api.notebook import TryWidget

TEXT, OTHER = "I am a student.", "She has never seen the sea."


def open_widget(new_page: NewPage, translator: Translator, **fields: Any) -> tuple[Page, TryWidget]:
    with notebook_comms():
        widget = translator.explore(**fields)
    page = new_page(1000, alone=True)
    display(page, widget)
    return page, widget


def wait_for_words(page: Page, expected: list[str]) -> None:
    for number, word in enumerate(expected):
        expect(tile(page, number)).to_have_text(word)
    assert words(page) == expected


@pytest.mark.journey
def test_the_kernel_answers_and_both_sides_see_the_same_state(
    new_page: NewPage, en_fr: Translator
) -> None:
    page, widget = open_widget(new_page, en_fr, text=TEXT)
    wait_for_words(page, expected_words(en_fr, TEXT))
    address = page.url
    page.get_by_role("textbox").first.fill(OTHER)
    wait_for_words(page, expected_words(en_fr, OTHER))
    assert widget.state["text"] == OTHER

    page.get_by_role("button", name="Switch off").click()
    page.locator('.hu-switchboard [data-head="c1.6"]').click()
    hooks = switched_off(en_fr.model.config, [("cross", 1, 6)])
    changed = en_fr.translate(OTHER, hooks=hooks).text
    expect(page.locator(".hu-live-results")).to_contain_text(changed)
    assert (widget.state["depth"], widget.state["off"]) == ("off", "c1.6")

    connection(widget).sent.clear()
    widget.address = {"depth": "heads", "kind": "encoder", "layer": 2, "head": 3}
    page.evaluate("(address) => notebook.update({ address })", widget.address)
    expect(page.get_by_text("Layer 3, head 4")).to_be_visible()
    expect(page.get_by_role("textbox").first).to_have_value(TEXT)
    assert page.url == address  # the address belongs to the notebook


def test_a_busy_kernel_answers_the_last_text_later(new_page: NewPage, en_fr: Translator) -> None:
    page, _ = open_widget(new_page, en_fr, text=TEXT)
    wait_for_words(page, expected_words(en_fr, TEXT))
    page.evaluate("notebook.pause()")
    page.get_by_role("textbox").first.press_sequentially(" No", delay=120)
    expect(page.locator(".hu-live-status")).to_have_text(re.compile("kernel does not answer"))
    expect(page.get_by_role("textbox").first).to_have_value(f"{TEXT} No")
    page.evaluate("notebook.resume()")
    wait_for_words(page, expected_words(en_fr, f"{TEXT} No"))
    expect(page.locator(".hu-live-status")).to_be_empty()
    page.evaluate("notebook.remove()")
