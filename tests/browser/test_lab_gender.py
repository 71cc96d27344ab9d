"""A minimal pair in the browser with a bundled model: typed, heads switched off, on a phone."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.app_pages import wait_for_address
from tests.browser.conftest import NewPage
from tests.live_app import wait_for_script_run

pytestmark = pytest.mark.browser


PAIR = "The farmer helped the doctor because he was tired."


@pytest.mark.slow
def test_a_typed_pair_and_the_intervention_survive_a_reload(
    bundled_app: str, new_page: NewPage
) -> None:
    page = new_page(1400, "light")
    page.goto(f"{bundled_app}/lab?lab=gender")
    field = page.get_by_label("Sentence with he or she")
    field.fill(PAIR)
    field.press("Enter")
    expect(page.get_by_text(PAIR.replace(" he ", " she "))).to_be_visible()
    page.get_by_role("button", name="Switch these heads off").click()
    expect(page.get_by_role("heading", name="Without these heads")).to_be_visible()
    wait_for_address(
        page, "/lab", model="en-fr", lab="gender", pair=PAIR, without_pronoun_heads="1"
    )
    page.reload()
    expect(page.get_by_role("heading", name="Without these heads")).to_be_visible()
    expect(field).to_have_value(PAIR)
    expect(page.get_by_role("button", name="Switch these heads on")).to_be_visible()
    field.fill("Good evening.")
    field.press("Enter")
    expect(page.get_by_text("The sentence has no pronoun; it needs he, she")).to_be_visible()


def test_it_fits_a_phone_in_dark_mode(bundled_app: str, new_page: NewPage) -> None:
    page = new_page(390, "dark")
    page.goto(f"{bundled_app}/lab?lab=gender&without_pronoun_heads=1")
    expect(page.get_by_role("heading", name="Without these heads")).to_be_visible()
    page.get_by_text("What the data is, and what it cannot show").click()
    expect(page.get_by_text("Two genders, because the data has two")).to_be_visible()
    wait_for_script_run(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
