"""No page translator of a browser may touch the words of the model and the visitor.

A walk through the nodes of a page, those in shadow roots too, finds words of the sentence and of
its translation that are in no element with `translate="no"`, and the language of those that are.
"""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NewPage
from tests.browser.site_page import translation_when_finished, wait_until_ready
from tests.live_app import wait_for_script_run
from transformer import Translator

TEXT = "The doctor buys bread and cheese."
SOURCE_WORDS, TARGET_WORDS = ["bread", "cheese"], ["fromage"]
"""Words that are in no text of the pages."""
ADDRESS = f"text={TEXT.replace(' ', '+')}"
OPEN = "nodes => nodes.forEach((node) => { node.open = true; })"
WALK = """
(words) => {
  const found = [];
  const parentOf = (node) => node.parentNode ?? node.host;
  const inherited = (node, name) => {
    for (let at = node; at; at = parentOf(at)) {
      if (at.getAttribute?.(name)) return at.getAttribute(name);
    }
    return "";
  };
  const check = (node, text, isAttribute = false) => {
    const word = words.find((each) => text.toLowerCase().includes(each));
    const [translate, lang] = ["translate", "lang"].map((name) => inherited(node, name));
    const isUnknown = isAttribute || node.parentElement?.closest(".hu-data-table");
    if (word) found.push([word, translate, isUnknown ? null : lang, text.trim()]);
  };
  const walk = (node) => {
    if (node.nodeType === Node.TEXT_NODE) check(node, node.data);
    for (const name of ["title", "placeholder", "alt"]) {
      if (node.getAttribute?.(name)) check(node, node.getAttribute(name), true);
    }
    if (/^(SCRIPT|STYLE)$/.test(node.nodeName)) return;
    for (const child of node.childNodes) walk(child);
    if (node.shadowRoot) walk(node.shadowRoot);
  };
  walk(document.body);
  return found;
}
"""


def walk(page: Page, words: list[str]) -> list[tuple[str, str, str | None, str]]:
    """Return a word, the value of `translate`, the language and the text of each node or attribute
    that has one of these words. An attribute, which may also have other words, has no language,
    nor has a table of numbers."""
    found: list[Any] = page.evaluate(WALK, words)
    return [tuple(each) for each in found]


def check(page: Page, *, languages: bool = False) -> None:
    """Check that no word of the sentence or the translation can be translated. With `languages`
    the page shows words of the translation, and says their language."""
    found = walk(page, SOURCE_WORDS + TARGET_WORDS)
    assert not [text for _, translate, _, text in found if translate != "no"], page.url
    target = {language for word, _, language, _ in found if word in TARGET_WORDS} - {None}
    assert not languages or target == {"fr"}, page.url


def check_all(page: Page) -> None:
    """Check what is folded, too."""
    page.eval_on_selector_all("details", OPEN)
    check(page, languages=True)


def test_the_words_of_try_are_kept_and_have_their_language(
    site_address: str, new_page: NewPage, en_fr: Translator
) -> None:
    assert TARGET_WORDS[0] in en_fr.translate(TEXT, method="greedy").text
    page = new_page(alone=True)
    page.goto(f"{site_address}?{ADDRESS}")
    wait_until_ready(page)
    translation_when_finished(page)
    check(page, languages=True)
    page.get_by_role("switch", name="layer 6, head 8", exact=True).click()
    expect(page.get_by_text("Without L6·H8")).to_be_visible()
    check(page, languages=True)

    page.goto(f"{site_address}?{ADDRESS}&depth=heads&view=heads&more=1&pin=t1")
    expect(page.get_by_text("Pin a word")).to_be_visible()
    for tab in ("Heads", "Heatmap", "Query–key", "Model", "Decoding", "Compare"):
        page.get_by_role("tab", name=tab, exact=True).click()
        expect(page.get_by_text("Loading the").locator("visible=true")).to_have_count(0)
        if tab == "Compare":
            expect(page.get_by_text("heads differ")).to_be_visible()
        check_all(page)

    page.goto(f"{site_address}?{ADDRESS}&depth=steps&method=beam")
    expect(page.get_by_role("table", name="The translation, step by step")).to_be_visible()
    check_all(page)

    page.goto(f"{site_address}?{ADDRESS}&depth=off&off=c5.0,c0")
    expect(page.get_by_text("After the change")).to_be_visible()
    page.eval_on_selector_all("details", OPEN)
    check(page)


def test_the_words_of_a_model_that_trains_in_the_tab_are_kept(
    site_address: str, new_page: NewPage
) -> None:
    page = new_page(alone=True)
    page.goto(f"{site_address}train.html?here=task%3Dpairs%3Bsteps%3D30%3Bn_layers%3D1")
    pairs = [f"cheese{i} bread\tfromage pain{i}" for i in range(20)]
    page.get_by_label("Sentence pairs").fill("\n".join(pairs))
    page.get_by_role("button", name="Train on these pairs").click()
    expect(page.get_by_text("finished after")).to_be_visible()
    assert walk(page, SOURCE_WORDS)
    check(page)


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("inside?box=decoder.cross_attn.softmax", ".hu-figure1"),
        ("inside?section=learning", "table"),
        ("inside?tab=positions&topic=parts", ".js-plotly-plot"),
        ("research?experiment=alignment", ".js-plotly-plot"),
        ("research?experiment=attribution", ".js-plotly-plot, .hu-headgrid"),
    ],
)
def test_the_words_on_pages_of_the_app_are_kept(
    bundled_app: str, page: Page, path: str, shown: str
) -> None:
    page.goto(f"{bundled_app}/{path}&{ADDRESS}")
    page.locator(shown).first.wait_for()
    wait_for_script_run(page)
    check(page)


def test_the_words_of_a_lesson_are_kept(bundled_app: str, page: Page) -> None:
    page.goto(f"{bundled_app}/learn?lesson=umbrella")
    page.locator(".hu-lesson-picture").wait_for()
    found = walk(page, ["parapluie"])
    assert len(found) >= 2  # in the picture and in the sentence
    assert {translate for _, translate, _, _ in found} == {"no"}
