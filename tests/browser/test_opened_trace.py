"""A trace file opened on the Attention page: drawn in every view, kept for a reload, left again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from transformer import Translator
from transformer.figures.views import EXPLORER

pytestmark = pytest.mark.browser
TEXT = "A pilot finds bread."


def test_a_trace_is_looked_at_in_every_view_and_found_again_after_a_reload(
    page: Page, app: str, checkpoints: Path, tmp_path: Path
) -> None:
    Translator.load(checkpoints / "tiny", device="cpu").trace(TEXT).save_npz(tmp_path / "mine.npz")
    page.goto(f"{app}/attention?text=She+hides+books.")
    page.get_by_role("button", name="Open a trace").click()
    page.locator("input[type=file]").first.set_input_files(tmp_path / "mine.npz")
    words = page.get_by_role("button", name="pilot", exact=True).first
    expect(words).to_be_visible()
    expect(page.get_by_text("mine.npz · 2 layers of 4 heads")).to_be_visible()
    expect(page).to_have_url(re.compile("trace=[0-9a-f]{16}"))
    for view in EXPLORER:
        name = {"query-key": "Query–key"}.get(view, view.capitalize())
        page.get_by_role("tab", name=name, exact=True).click()
        missing = "Choose something to compare with above"
        if view == "compare":
            expect(page.locator("body")).to_contain_text(missing)
        else:
            expect(page.locator("body")).not_to_contain_text("not in this")
    page.reload()
    expect(page.get_by_text("mine.npz · 2 layers of 4 heads")).to_be_visible()
    page.get_by_role("button", name="Back to the checkpoint").click()
    expect(page.get_by_role("button", name="books", exact=True).first).to_be_visible()
    expect(page).not_to_have_url(re.compile("trace="))
