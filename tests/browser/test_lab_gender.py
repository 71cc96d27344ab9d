"""A minimal pair in the browser, with the shipped model: typed, switched off, on a phone."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from benchmarks.browser import settled
from tests.browser.app_pages import wait_for_address
from tests.browser.conftest import NewPage
from transformer import Translator
from transformer.analysis.gender.sentences import WORD

pytestmark = pytest.mark.browser

TEXT = "The baker met the teacher because he was early."


def test_a_typed_pair_is_translated_and_its_heads_are_switched_off(
    shipped: str, page: Page, en_fr: Translator
) -> None:
    page.goto(f"{shipped}/lab?lab=job")
    field = page.get_by_label("Sentence with he or she")
    expect(field).to_have_value("The doctor thanked the nurse because she was kind.")
    field.fill(TEXT)
    for pronoun in ("he", "she"):
        written = TEXT.replace(" he ", f" {pronoun} ")
        expect(page.get_by_text(written, exact=True)).to_be_visible()
        words = WORD.findall(en_fr.translate(written, candidates=1).text)
        pattern = r"[\s\S]*?".join(map(re.escape, words))  # labels of genders between the words
        html = page.locator("[data-testid=stHtml]").filter(has_text=re.compile(pattern))
        expect(html.first).to_be_visible()
    page.get_by_role("button", name="Switch these heads off").click()
    expect(page.get_by_role("heading", name="Without these heads")).to_be_visible()
    wait_for_address(page, "/lab", lab="job", pair=TEXT, silent="1")
    page.reload()
    expect(page.get_by_role("heading", name="Without these heads")).to_be_visible()
    page.get_by_role("button", name="Switch these heads on").click()
    expect(page.get_by_role("heading", name="Without these heads")).to_have_count(0)
    field.fill("The baker met the teacher.")
    expect(page.get_by_text("The sentence has no pronoun")).to_be_visible()


def test_it_fits_a_phone_in_dark_mode(shipped: str, new_page: NewPage) -> None:
    page = new_page(390, "dark")
    page.goto(f"{shipped}/lab?lab=job&silent=1")
    expect(page.get_by_role("heading", name="Without these heads")).to_be_visible()
    page.get_by_text("What the data is, and what it cannot show").click()
    expect(page.get_by_text("Two genders, because the data has two")).to_be_visible()
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
