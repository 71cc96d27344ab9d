"""A new visitor's first minute: translate a sentence, pin a word in all heads, open the strongest
head; `tests/figures/test_drawn.py` checks which head that is."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.app_pages import open_depth
from tests.browser.home_page import expected_words, open_home, tile, wait_for_all_words, words
from tests.live_app import wait_for_script_run, wait_until
from transformer import Translator
from transformer.figures.glossary import TERMS

TEXT = "Where is my red umbrella?"
JARGON = r"▁|</?s>|<unk>|trace\.|\blogit|softmax|residual|d_model"
"""Notation and terms that a newcomer cannot know, on any page before they choose to see tokens."""
HOME_JARGON = rf"{JARGON}|\btoken|\btensor"
"""Two more terms that the home page avoids; other pages explain them in tooltips."""

LABELS = """() => {
  const shadowRoots = [...document.querySelectorAll("*")].map((node) => node.shadowRoot);
  const tooltips = "[title], [data-testid=stTooltipIcon]";
  const explained = (node) => Boolean(node.closest(tooltips) || node.querySelector(tooltips));
  return [document, ...shadowRoots.filter(Boolean)]
    .flatMap((root) => [...root.querySelectorAll("button:not([role=tab]), label, h3")])
    .filter((node) => node.checkVisibility())
    .map((node) => [node.textContent.trim(), explained(node)]);
}"""
"""Text of every visible control and small heading except tabs, and whether it has a tooltip."""


def visible_text(page: Page) -> str:
    """Return all visible text of the page, including the views."""
    views = page.locator(".hu").filter(visible=True)
    return "\n".join([page.locator(".stMain").inner_text(), *views.all_inner_texts()])


def unexplained_terms(page: Page) -> list[str]:
    """Return the labels of controls that are glossary terms without a tooltip."""
    terms = {name for term in TERMS for name in (term.name, *term.also)}
    return [text for text, explained in page.evaluate(LABELS) if text in terms and not explained]


@pytest.mark.journey
def test_a_newcomers_first_minute(bundled_app: str, page: Page, en_fr: Translator) -> None:
    """It takes three clicks, and no page shows a token or an unexplained term."""
    open_home(page, bundled_app)
    page.locator(".hu-place-card", has_text="Look inside").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Look inside")
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_contain_text("see which words")
    expect(tile(page, 0)).to_be_attached()
    wait_for_script_run(page)
    page.get_by_label("Your sentence").fill(TEXT)  # typing, no click
    expect(page.locator(".hu-glance-row").first.locator("button")).to_have_text(TEXT.split())
    wait_for_all_words(page)
    assert words(page) == expected_words(en_fr, TEXT)
    assert not re.search(HOME_JARGON, visible_text(page), re.I)
    page.get_by_role("button", name="Open this head").click()  # first click: all heads
    wait_until(page, "location.search.includes('depth=heads')")
    expect(page.get_by_label("Your sentence")).to_have_value(TEXT)
    wait_for_script_run(page)
    assert not re.search(JARGON, visible_text(page), re.I)
    word = page.locator(".hu-pinwords").get_by_role("button", name="umbrella", exact=True)
    word.click()  # second click
    strongest = page.locator(".hu-clearest button").first
    expect(strongest).to_be_visible()
    name = re.search(r"layer \d, head \d", strongest.inner_text(), re.I)
    assert name, "the button does not name the strongest head"
    strongest.click()  # third click: the strongest head
    expect(page.locator(".hu-title")).to_contain_text(re.compile(name[0], re.I))
    wait_until(page, "new URLSearchParams(location.search).get('pin') === 's4'")
    assert not re.search(JARGON, visible_text(page), re.I)
    assert unexplained_terms(page) == []
    open_depth(page, "Bands")
    page.get_by_role("link", name="Begin with the first lesson").click()
    expect(page.get_by_text(re.compile("1 of"))).to_be_visible()
