"""A sentence that does not fit its field stands below it, whole, and only there."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from benchmarks.browser import settled
from tests.browser.conftest import NewPage

pytestmark = pytest.mark.browser
SHORT, MIDDLE = "She paints.", "She paints a boat and the baker sells bread."
LONG = f"{MIDDLE} {MIDDLE}"


@pytest.mark.parametrize(("width", "below"), [(1400, [LONG]), (390, [MIDDLE, LONG])])
def test_what_a_field_cuts_stands_below_it(
    app: str, new_page: NewPage, width: int, below: list[str]
) -> None:
    page = new_page(width)
    for text in (SHORT, MIDDLE, LONG):
        page.goto(f"{app}/translate?text={text.replace(' ', '+')}")
        field = page.get_by_role("textbox", name="English").first
        expect(field).to_have_value(text)
        settled(page)
        cut = field.evaluate("(node) => node.scrollWidth > node.clientWidth")
        whole = page.get_by_test_id("stCaptionContainer").get_by_text(text, exact=True)
        assert whole.filter(visible=True).count() == (text in below)
        assert not cut or text in below
