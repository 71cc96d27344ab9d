"""A new visitor's first minute: translate an own sentence, find a word in every head, and open the
strongest head."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from benchmarks.browser import wait_for_script_run, wait_until
from tests.browser.home_page import expected_words, open_home, show_all_words, tile, words
from transformer import Translator
from transformer.figures.glossary import TERMS
from transformer.measures.naming import head_name

TEXT = "Where is my red umbrella?"
JARGON = r"▁|</?s>|<unk>|trace\.|\blogit|softmax|residual|d_model"
"""Notation and terms that a newcomer cannot know, on any page before they choose to see tokens."""
HOME_JARGON = rf"{JARGON}|\btoken|\btensor"
"""Also absent from the home page; other pages use these two terms and explain them in tooltips."""

LABELS = """() => {
  const within = [...document.querySelectorAll("*")].map((one) => one.shadowRoot);
  const tips = "[title], [data-testid=stTooltipIcon]";
  const explained = (node) => Boolean(node.closest(tips) || node.querySelector(tips));
  return [document, ...within.filter(Boolean)]
    .flatMap((root) => [...root.querySelectorAll("button:not([role=tab]), label, h3")])
    .filter((one) => one.checkVisibility())
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
    return [
        text for text, explanation in page.evaluate(LABELS) if text in terms and not explanation
    ]


def test_a_newcomers_first_minute(shipped: str, page: Page, en_fr: Translator) -> None:
    """In three clicks, and without a token or an unexplained term."""
    open_home(page, shipped)
    expect(page.get_by_role("heading", level=1)).to_contain_text("Heads Up")
    page.get_by_label("English").fill(TEXT)  # typing, no click
    expect(page.locator(".hu-glance-row").first.locator("button")).to_have_text(TEXT.split())
    show_all_words(page)
    assert words(page) == expected_words(en_fr, TEXT)
    assert not re.search(HOME_JARGON, visible_text(page), re.I)
    page.get_by_role("button", name="Open this head").click()  # 1: all heads
    wait_until(page, "location.pathname === '/attention'")
    expect(page.get_by_label("English")).to_have_value(TEXT)
    wait_for_script_run(page)
    assert not re.search(JARGON, visible_text(page), re.I)
    page.locator(".hu-pinwords").get_by_role("button", name="umbrella", exact=True).click()  # 2
    first = page.locator(".hu-clearest button").first
    expect(first).to_be_visible()
    _, layer, head = clearest(en_fr)
    expect(first).to_contain_text(re.compile(head_name(layer, head), re.I))
    first.click()  # 3: the strongest of all
    expect(page.locator(".hu-title")).to_contain_text(re.compile(head_name(layer, head), re.I))
    wait_until(page, "new URLSearchParams(location.search).get('pin') === 's4'")
    assert not re.search(JARGON, visible_text(page), re.I)
    assert unexplained_terms(page) == []


def clearest(translator: Translator) -> tuple[str, int, int]:
    """Return the head, of all that read the source, with the greatest weight from any word to
    "umbrella" or back, computed here over words of one or more tokens."""
    trace = translator.trace(TEXT)
    collected = []
    for kind, across in (("encoder", trace.src_tokens), ("cross", trace.predicted_tokens)):
        read_as, written_as = parts(trace.src_tokens), parts(across)
        umbrella_positions = next(positions for name, positions in read_as if name == "umbrella")
        for layer in range(translator.model.config.n_layers):
            for head, weights in enumerate(trace.weights(kind, layer)):
                weights_to_umbrella = [
                    weights[rows][:, umbrella_positions].sum(1).mean()
                    for _, rows in written_as
                    if kind == "cross" or rows != umbrella_positions
                ]
                weights_from_umbrella = [
                    weights[umbrella_positions][:, positions].sum(1).mean()
                    for _, positions in read_as
                    if kind == "encoder" and positions != umbrella_positions
                ]
                collected.append(
                    (max(weights_to_umbrella + weights_from_umbrella), kind, layer, head)
                )
    return max(collected)[1:]


def parts(tokens: tuple[str, ...]) -> list[tuple[str, list[int]]]:
    """Return the words with the positions of their tokens, without punctuation and special
    tokens."""
    collected: list[tuple[str, list[int]]] = []
    for index, token in enumerate(tokens):
        if token.startswith("▁") or not collected:
            collected.append((token.strip("▁"), [index]))
        elif token.isalpha():
            collected[-1] = (collected[-1][0] + token, [*collected[-1][1], index])
    return collected


def test_the_home_page_starts_the_first_lesson(shipped: str, page: Page) -> None:
    open_home(page, shipped, f"?text={TEXT}")
    assert words(page, "first") == TEXT.split()
    expect(tile(page, 0)).to_be_attached()
    page.get_by_role("button", name="Begin here").click()
    expect(page.get_by_text(re.compile("1 of"))).to_be_visible()
